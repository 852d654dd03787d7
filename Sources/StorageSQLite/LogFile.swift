import CSQLite

/// The write-ahead log's file. Its methods are SQLite's own except for a few
/// (sqlite.org/c3ref/io_methods.html; shim.h of CSQLite): the writes of one commit need few system
/// calls, and an observer can measure the duration of each sync, for which SQLite has no hook.
final class LogFile {
  private let log: UnsafeMutablePointer<lockstep_log>
  private var observer: ((Int64) -> Void)?

  /// Returns nil if the database has no log. The instance must outlive the connection.
  init?(of handle: OpaquePointer?) {
    guard let handle, let log = lockstep_take_log(handle) else { return nil }
    self.log = log
  }

  func observeSyncs(_ observer: @escaping (_ nanoseconds: Int64) -> Void) {
    self.observer = observer
    lockstep_observe_log(
      log,
      { context, nanoseconds in
        guard let context else { return }
        Unmanaged<LogFile>.fromOpaque(context).takeUnretainedValue().observer?(nanoseconds)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { lockstep_forget_log(log) }
}

import CSQLite

/// The file of a database's write-ahead log, whose methods are SQLite's own but for a few
/// (sqlite.org/c3ref/io_methods.html; shim.h of CSQLite): what one commit writes leaves in few
/// system calls, and somebody may be told how long each sync took, for which SQLite has no hook.
final class LogFile {
  private let log: UnsafeMutablePointer<lockstep_log>
  private var observer: ((Int64) -> Void)?

  /// nil where the database has no log. Must outlive the connection.
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

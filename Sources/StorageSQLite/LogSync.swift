import CSQLite

/// Has somebody told how long each sync of a database's write-ahead log took. SQLite has no hook
/// for it, so the log's file gets a table of methods that is SQLite's own but for `xSync`
/// (sqlite.org/c3ref/io_methods.html; shim.h of CSQLite).
final class LogSync {
  private let observer: (Int64) -> Void
  private var methods: UnsafeMutablePointer<lockstep_observed_log>?

  /// nil where the database has no log that could be observed. Must outlive the connection.
  init?(of handle: OpaquePointer?, _ observer: @escaping (_ nanoseconds: Int64) -> Void) {
    self.observer = observer
    methods = nil
    guard let handle else { return nil }
    let context = Unmanaged.passUnretained(self).toOpaque()
    methods = lockstep_observe_log(
      handle,
      { context, nanoseconds in
        guard let context else { return }
        Unmanaged<LogSync>.fromOpaque(context).takeUnretainedValue().observer(nanoseconds)
      }, context)
    if methods == nil { return nil }
  }

  deinit { lockstep_forget_log(methods) }
}

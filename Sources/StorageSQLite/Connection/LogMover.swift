import CSQLite
import LockstepStorage

/// Checkpoints a store's write-ahead log on a connection of its own, on another thread than the one
/// that commits. Commits continue meanwhile and append to the log. The appended part, which is
/// small, is checkpointed later by the thread that commits.
package final class LogMover {
  private let connection: SQLiteConnection

  /// Requires that the store at `path` is open already.
  init(path: String) throws(StorageError) {
    connection = try SQLiteConnection(path: path, role: .mover, schema: .zones)
  }

  deinit { close() }

  /// Moves the log's present pages into the database and returns their number. After an error the
  /// log is intact.
  package func move() throws(StorageError) -> Int { try connection.checkpoint(waits: false) }

  package func close() { connection.close() }
}

/// Runs a `LogMover` on another thread than the one that commits. Only the thread that commits
/// calls these methods.
package protocol LogFallback: AnyObject {
  /// Returns the state of the work. Each result is returned once.
  func takeProgress() -> LogProgress
  /// True while the log is being moved. Any thread that holds the commit log's lock may ask.
  var isMoving: Bool { get }
  /// Starts to move the log; must be idle when this is called. Returns false if it cannot be
  /// started.
  func start() -> Bool
  /// Waits until it is idle; `takeProgress` still returns the result afterwards. While it is not
  /// idle, nothing else may move the log.
  func wait()
  /// Waits until it is idle, and closes the mover.
  func close()
}

package enum LogProgress: Sendable {
  case idle
  case moving
  case moved(pages: Int)
  case failed(StorageError)

  package var isMoving: Bool {
    switch self {
    case .moving: true
    case .idle, .moved, .failed: false
    }
  }
}

#if os(Linux)
  /// The write-ahead log's file. Its methods are SQLite's own except for a few
  /// (sqlite.org/c3ref/io_methods.html; shim.h of CSQLite): the writes of one commit need few
  /// system calls, and an observer can measure the duration of each sync, for which SQLite has no
  /// hook.
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

    /// Makes the file longer than its content: see `SQLiteReplicaStore.reserveLog`.
    func reserve(_ bytes: Int, of handle: OpaquePointer?) {
      if let handle { _ = lockstep_reserve_log(handle, log, Int64(bytes)) }
    }

    deinit { lockstep_forget_log(log) }
  }
#else
  /// The write-ahead log's file with the methods of the system's SQLite, which may differ from the
  /// published one.
  final class LogFile {
    init?(of handle: OpaquePointer?) { return nil }

    func observeSyncs(_ observer: @escaping (_ nanoseconds: Int64) -> Void) {}

    func reserve(_ bytes: Int, of handle: OpaquePointer?) {}
  }
#endif

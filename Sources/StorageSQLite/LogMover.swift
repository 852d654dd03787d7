import LockstepStorage

/// Moves a store's write-ahead log into the database on a connection of its own, for another thread
/// than the one that commits: commits go on meanwhile and append to the log. What they append stays
/// for the thread that commits, which is little.
package final class LogMover {
  private let connection: SQLiteConnection

  /// The store at `path` is open already.
  init(path: String) throws(StorageError) {
    connection = try SQLiteConnection(path: path, role: .mover, schema: .zones)
  }

  deinit { close() }

  /// Moves what is in the log now: so many pages. After a fault the log is whole.
  package func move() throws(StorageError) -> Int { try connection.checkpoint(waits: false) }

  package func close() { connection.close() }
}

/// A runner of a `LogMover` beside the thread that commits, which alone calls what is here.
package protocol LogFallback: AnyObject {
  /// The state of its work; what came of it is told once.
  func take() -> LogProgress
  /// Begins to move the log; it rests when this is called. False where that cannot be done.
  func begin() -> Bool
  /// Waits until it rests; `take` still tells what came of it. While it does not rest, nobody else
  /// moves the log.
  func wait()
  /// Waits until it rests, and closes the mover.
  func close()
}

package enum LogProgress: Sendable {
  case resting
  case moving
  case moved(pages: Int)
  case failed(StorageError)

  package var isMoving: Bool {
    switch self {
    case .moving: true
    case .resting, .moved, .failed: false
    }
  }
}

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
  func take() -> LogProgress
  /// Starts to move the log; must be idle when this is called. Returns false if it cannot be
  /// started.
  func begin() -> Bool
  /// Waits until it is idle; `take` still returns the result afterwards. While it is not idle,
  /// nothing else may move the log.
  func wait()
  /// Waits until it is idle, and closes the mover.
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

import LockstepModel
import LockstepStorage

/// Reason that an edit was not made. Nothing was changed, except after a disk failure
/// (`StorageError.failed`): then the result is unknown until the home is opened again.
public enum EditFailure: Error, Hashable, Sendable {
  case refused(EditRefusal)
  /// The fields are larger than `Limits.recordBytes`.
  case tooLarge(bytes: Int)
  /// The outbox is full (`Limits.outboxRecords`, `outboxBytes`).
  case outboxFull
  /// The home has not joined an account.
  case notJoined
  /// `decide` named a record that needs no decision.
  case nothingToDecide
  /// The app first asks the user about `count` records that other devices have made
  /// (`AgentOrder.answerRestore`).
  case restoreFirst(app: String, count: Int)
  case storage(StorageError)
  /// The agent is stopping.
  case stopping
}

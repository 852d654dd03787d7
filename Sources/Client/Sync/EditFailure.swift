import LockstepModel
import LockstepStorage

/// Why an edit was not made. Nothing was changed; only where the disk failed
/// (`StorageError.failed`) nobody knows before the home was opened anew.
public enum EditFailure: Error, Hashable, Sendable {
  case refused(EditRefusal)
  /// The fields are larger than `Limits.recordBytes`.
  case tooLarge(bytes: Int)
  /// As much waits for the relay as a device keeps (`Limits.outboxRecords`, `outboxBytes`).
  case outboxFull
  /// The home has not joined an account.
  case notJoined
  /// `decide` named a record that waits for no decision.
  case nothingToDecide
  /// The app asks first what becomes of so many records that others have made
  /// (`AgentOrder.answerRestore`).
  case restoreFirst(app: String, count: Int)
  case storage(StorageError)
  /// The agent is stopping.
  case stopping
}

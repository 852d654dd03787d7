import LockstepModel
import LockstepStorage

/// Health of the store, as far as the last commits and reads show it.
struct StoreHealth: Sendable {
  private var commitFault: StorageError?
  private var readFault: StorageError?
  /// Chunks of files are stored separately: without them the relay still does most of its work, so
  /// this does not count as a fault of the store.
  private var filesFault: StorageError?

  /// nil if the store works.
  var fault: StorageError? { commitFault ?? readFault }

  /// Records a failed commit. Returns true if the store worked before.
  mutating func commitFailed(_ error: StorageError) -> Bool {
    let wasGood = fault == nil
    commitFault = error
    return wasGood
  }

  mutating func readFailed(_ error: StorageError) -> Bool {
    let wasGood = fault == nil
    readFault = error
    return wasGood
  }

  /// Records a successful commit. Returns true if the store did not work before. A commit shows
  /// that reads work too: both need the same files.
  mutating func commitWorked() -> Bool {
    let wasBad = fault != nil
    commitFault = nil
    readFault = nil
    return wasBad
  }

  mutating func readWorked() -> Bool {
    guard readFault != nil else { return false }
    readFault = nil
    return fault == nil
  }

  /// Records a failure of the chunk store. Returns true if it worked before.
  mutating func filesFailed(_ error: StorageError) -> Bool {
    defer { filesFault = error }
    return filesFault == nil
  }

  /// Records that a file was written and synced. Returns true if that had failed before.
  mutating func filesWorked() -> Bool {
    defer { filesFault = nil }
    return filesFault != nil
  }

  /// Time of the last check of the disk's free bytes, and whether there were too few.
  private var lookedAt: Instant?
  private(set) var isDiskLow = false

  /// Returns true if the disk is due for a check.
  mutating func looksAtDisk(at instant: Instant) -> Bool {
    if let lookedAt, instant < lookedAt.advanced(milliseconds: Limits.diskLookMilliseconds) {
      return false
    }
    lookedAt = instant
    return true
  }

  /// Records the result of a check. Returns true if it differs from the last one.
  mutating func found(isDiskLow: Bool) -> Bool {
    defer { self.isDiskLow = isDiskLow }
    return self.isDiskLow != isDiskLow
  }

  static let diskLow = Refusal(
    .diskLow,
    "The relay's disk is nearly full, and it takes nothing new; what is there can be read and "
      + "deleted. Its owner must make room.",
    retryAfterMilliseconds: Limits.diskRetryMilliseconds)

  static func refusal(of fault: StorageError) -> Refusal {
    Refusal(
      .storeUnavailable, "\(fault)", retryAfterMilliseconds: Limits.storeTrialMilliseconds)
  }

  static let unavailable = Refusal(
    .storeUnavailable, "The relay's store cannot be reached, and nothing was done; try again soon.",
    retryAfterMilliseconds: Limits.storeTrialMilliseconds)
}

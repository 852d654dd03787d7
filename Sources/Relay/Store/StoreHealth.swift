import LockstepModel
import LockstepStorage

/// Whether the store works, as far as the last commits and reads tell.
struct StoreHealth: Sendable {
  private var commitFault: StorageError?
  private var readFault: StorageError?
  /// Chunks of files lie apart: without them the relay still does most of its work, so this does
  /// not count as the store's.
  private var filesFault: StorageError?

  /// nil where the store works.
  var fault: StorageError? { commitFault ?? readFault }

  /// True where this is what makes the store not work.
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

  /// True where this is what makes the store work again. A commit shows that reads work too: both
  /// need the same files.
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

  /// True where this is news.
  mutating func filesFailed(_ error: StorageError) -> Bool {
    defer { filesFault = error }
    return filesFault == nil
  }

  /// A file was written and synced. True where that had failed.
  mutating func filesWorked() -> Bool {
    defer { filesFault = nil }
    return filesFault != nil
  }

  /// When the disk's free bytes were last looked at, and whether there were too few.
  private var lookedAt: Instant?
  private(set) var isDiskLow = false

  /// True where it is time to look.
  mutating func looksAtDisk(at instant: Instant) -> Bool {
    if let lookedAt, instant < lookedAt.advanced(milliseconds: Limits.diskLookMilliseconds) {
      return false
    }
    lookedAt = instant
    return true
  }

  /// True where this is news.
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

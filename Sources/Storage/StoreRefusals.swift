import LockstepModel

/// Refusals of a store, with the same text in every store.
package enum StoreRefusals {
  package static let unknownToken = Refusal(
    .badToken, "No device has this token; pair the device again.")
  package static let revokedDevice = Refusal(
    .badToken, "This device is not signed in to the account any more; pair it again.")
  package static let unknownAccount = Refusal(.notFound, "There is no such account.")
  package static let unknownDevice = Refusal(
    .notFound, "The account has no such device; list its devices first.")
  package static let unknownRecord = Refusal(.notFound, "There is no record of this name.")
  package static let unknownSubscription = Refusal(
    .notFound, "The device has no subscription of this id.")
  package static let tooManySubscriptions = Refusal(
    .tooManySubscriptions,
    "The device has \(Limits.subscriptionsPerDevice) subscriptions already; remove one, then try again."
  )
  package static let quotaExceeded = Refusal(
    .quotaExceeded,
    "The account's chunks of files take all the room that it has; delete some records that name "
      + "chunks, wait a day, then try again.")
  package static let recordQuotaExceeded = Refusal(
    .quotaExceeded,
    "The account's records take all the room that it has; delete some, then try again.")
  package static let chunksMissing = Refusal(
    .chunksMissing,
    "This record names chunks that the account does not have; ask which, upload them, then save the "
      + "record under a new batch id.")
  package static let badPairingCode = Refusal(
    .badPairingCode,
    "The pairing code is unknown, used or too old; ask a device of the account for a new one.")
  package static let otherAccount = Refusal(
    .otherAccount,
    "The pairing code is of another account than the one whose data the device holds; it was not "
      + "used up.")
  /// `limit`: maximum number of devices of the account.
  package static func tooManyDevices(_ limit: Int) -> Refusal {
    Refusal(
      .tooManyDevices,
      "The account has \(limit) devices already; revoke one, then try again.")
  }
  /// Collision of random ids or secrets: the caller draws new ones.
  package static let taken = Refusal(
    .internalError, "An id or secret that was drawn at random is taken; try again.")
  package static let conflictTooLarge = Refusal(
    .conflictTooLarge,
    "The records that this batch meets are too large for one answer; fetch them, then save again.")
  package static let otherBatch = Refusal(
    .batchMismatch, "This batch id was used with other content; save under a new id.")
  package static let unknownChunk = Refusal(
    .notFound, "The account has no chunk of this hash; upload it first.")
  package static let hashMismatch = Refusal(
    .hashMismatch, "The bytes that came have another SHA-256 than the path names; send them again.")
  package static let chunkTooLarge = Refusal(
    .bodyTooLarge, "A chunk of a file may have at most \(Limits.chunkBytes) bytes; cut it smaller.")
  package static let tooManyUploads = Refusal(
    .overloaded, "Too many uploads are under way; try again in a moment.",
    retryAfterMilliseconds: 1_000)
}

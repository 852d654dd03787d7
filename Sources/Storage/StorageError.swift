import LockstepLanguage
import LockstepModel

/// Error of a store. Each case carries the data that a person needs to act.
@usableFromInline
package enum StorageError: Error, Hashable, Sendable {
  /// Another process has the store open.
  case inUse(path: String, by: String)
  /// The file is not a store, or is damaged.
  case corrupt(path: String, detail: String)
  /// Written by a newer version of this program.
  case tooNew(path: String, found: Int, known: Int)
  case readOnly(path: String)
  /// The file or folder of this name was removed, moved or replaced while the store was open.
  case gone(path: String, name: String)
  case diskFull(path: String)
  case failed(path: String, operation: String, detail: String)
  /// A store on another machine is temporarily unreachable. Its content is not damaged.
  case unavailable(path: String, detail: String)
}

extension StorageError {
  /// Name of the file that was removed, moved or replaced; nil for other errors.
  package var lostFile: String? {
    if case .gone(_, let name) = self { name } else { nil }
  }
}

extension StorageError: CustomStringConvertible {
  @usableFromInline
  package var description: String {
    switch self {
    case .inUse(let path, let holder):
      localized(
        "the store {path} is in use by {holder}; stop that one first, or name "
          + "another store", ["path": path, "holder": holder])
    case .corrupt(let path, let detail):
      localized(
        "the store {path} is damaged ({detail}); restore it from a backup, or "
          + "name another store", ["path": path, "detail": detail])
    case .tooNew(let path, let found, let known):
      localized(
        "the store {path} has schema {found}, and this program knows up to "
          + "{known}; run the newer lockstep that wrote it",
        ["path": path, "found": "\(found)", "known": "\(known)"])
    case .readOnly(let path):
      localized(
        "the store {path} cannot be written; check its owner and permissions", ["path": path])
    case .gone(let path, let name):
      "\(name) of the store \(path) was removed, moved or replaced while the store is open, and "
        + "nothing is saved any more; move that same file back (not a copy), or stop the relay and "
        + "restore a backup (lockstep relay restore)"
    case .diskFull(let path):
      localized("no space is left for the store {path}; free some, then try again", ["path": path])
    case .failed(let path, let operation, let detail):
      "the store \(path) failed to \(operation): \(detail); check that place, or name another"
    case .unavailable(let path, let detail):
      "the store \(path) is not available: \(detail); "
        + "check its server and the network; each request tries again"
    }
  }
}

/// Refusals of a store, with the same text in every store.
package enum StoreRefusals {
  /// `relay`: the address of the relay where the account lives.
  package static func moved(to relay: String) -> Refusal {
    Refusal(
      .accountMoved, "The account lives on another relay; send the request to \(relay).",
      relay: relay)
  }
  package static let moving = Refusal(
    .accountMoving, "The account is being moved to another relay; try again in a moment.",
    retryAfterMilliseconds: 1_000)
  /// For the mover.
  package static let moveLost = Refusal(
    .preconditionFailed,
    "The account was not frozen throughout the move, or another move has begun; begin again.")
  package static let notArriving = Refusal(
    .preconditionFailed, "The store has no copy of this move; begin again.")
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
    "The device already has \(Limits.subscriptionsPerDevice) subscriptions; remove one, then try "
      + "again.")
  package static let unknownWake = Refusal(
    .notFound, "The device has no registration for wakes of this id.")
  package static let tooManyWakes = Refusal(
    .tooManySubscriptions,
    "The device already has \(Limits.wakesPerDevice) registrations for wakes; remove one, then try "
      + "again.")
  package static let badWakeCode = Refusal(
    .badWakeCode, "The code is not the one that was sent last to this registration; put it again.")
  package static let quotaExceeded = Refusal(
    .quotaExceeded,
    "The account's chunks of files use all of its space; delete some records that name chunks, "
      + "wait a day, then try again.")
  package static let recordQuotaExceeded = Refusal(
    .quotaExceeded,
    "The account's records use all of its space; delete some, then try again.")
  package static let chunksMissing = Refusal(
    .chunksMissing,
    "This record names chunks that the account does not have; query which, upload them, then save "
      + "the record under a new batch id.")
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
    .internalError, "A random id or secret is already in use; try again.")
  /// `account`: the account that has the label.
  package static func labelTaken(by account: AccountID) -> Refusal {
    Refusal(
      .labelTaken,
      "The account \(account.text) has this label already; issue a pairing code for it, or give the "
        + "new account another label.")
  }
  package static let conflictTooLarge = Refusal(
    .conflictTooLarge,
    "The records in conflict with this batch are too large for one answer; fetch them, then save "
      + "again.")
  package static let otherBatch = Refusal(
    .batchMismatch, "This batch id was used with other content; save under a new id.")
  package static let unknownChunk = Refusal(
    .notFound, "The account has no chunk of this hash; upload it first.")
  package static let hashMismatch = Refusal(
    .hashMismatch,
    "The received bytes do not have the SHA-256 that the path names; send them again.")
  package static let chunkTooLarge = Refusal(
    .bodyTooLarge,
    "A chunk of a file may have at most \(Limits.chunkBytes) bytes; make it smaller.")
  package static let tooManyUploads = Refusal(
    .overloaded, "Too many uploads are in progress; try again in a moment.",
    retryAfterMilliseconds: 1_000)
}

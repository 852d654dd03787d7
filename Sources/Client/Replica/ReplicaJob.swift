import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage

/// A job on a device's store, performed by a driver's worker with `Replica.perform`, in the order
/// of submission.
package struct ReplicaJob: Sendable {
  var task: ReplicaTask
  /// Freezes the next batch in the same transaction, unless one is in flight.
  var offer: BatchOffer?
  /// Clock reading at submission.
  package var clock: ClockReading

  /// Order that the job carries out, if it may change the home's content; otherwise nil, as for
  /// jobs that the relay or time has caused.
  package var order: OrderID? {
    switch task {
    case .edit(let order, _), .transact(let order, _), .decide(let order, _, _),
      .perform(let order, _, _):
      order
    default: nil
    }
  }

  /// Maximum number of records that another device has changed in a short job.
  private static let shortRecords = 16

  /// True if the job changes a few records and reads none in bulk: it takes little more than its
  /// commit, so a driver may perform it on the agent's own thread.
  package var isShort: Bool {
    switch task {
    case .edit, .transact, .decide, .freezeBatch: true
    case .apply(let arrivals): arrivals.reduce(0) { $0 + $1.recordCount } <= Self.shortRecords
    case .load, .follow, .join, .perform, .show, .nameDevices, .setSyncing, .seal, .answerRestore,
      .makeDueEdits, .readRecord, .readState, .readRecords, .readAll, .refuseBatch, .setAside,
      .retryRefused, .forgetCursor, .bringBack, .chunks, .makeDeviceKey,
      .reseal:
      false
    }
  }
}

/// Result of a job. All of it is durable.
package struct ReplicaOutcome: Sendable {
  var result: Result<ReplicaResult, StorageError>
  /// Records that are shown differently now, in their present state, deleted ones without fields.
  var changed: [Record]
  /// The batch to send: already frozen, or frozen by this job. Only if a batch was offered.
  package var batch: SaveRequest?
  var outbox: OutboxSummary
  var due: DueTimes
  /// Chunks of files that local changes wait for, and that were not named before.
  var needs: [ChunkNeed] = []
}

enum ReplicaTask: Sendable {
  case load
  /// Stores the address of the relay to which the account has moved.
  case follow(relay: String)
  case edit(OrderID, EditRequest)
  case transact(OrderID, EditScript)
  /// Joins, with the keys of sealed zones; or does neither.
  case join(OrderID, HomeIdentity, JoinedKeys = JoinedKeys())
  case decide(OrderID, RecordKey, keepLocal: Bool)
  case perform(OrderID, app: String, JSONValue)
  case show(OrderID, app: String, JSONValue)
  case nameDevices([DeviceID: String])
  case setSyncing(OrderID, zone: Name, Bool)
  /// See `AgentOrder.seal`.
  case seal(OrderID, SealingKeys, plain: PlainRecords = .refused, deviceSecret: [UInt8]? = nil)
  case answerRestore(OrderID, app: String, wipes: Bool = false)
  /// Makes the edits that are due. When connected, edits of other devices are left to them for a
  /// grace period.
  case makeDueEdits(isConnected: Bool)
  case readRecord(OrderID, RecordKey)
  case readState(OrderID, RecordKey)
  case readRecords(OrderID, zone: Name, type: Name?)
  case readAll(OrderID)
  /// Performs only the job's offer.
  case freezeBatch
  case apply([Arrival])
  /// The whole batch was refused.
  case refuseBatch(BatchID, Refusal)
  /// The batch is one change, and is too large for an intermediary on the path to the relay: it
  /// waits until it is retried, and others continue.
  case setAside(BatchID)
  /// Retries what was set aside; with `withParked` also what the relay has refused.
  case retryRefused(withParked: Bool)
  /// Discards an invalid cursor: a snapshot follows. With a tag, the relay was restored from a
  /// backup and has what was read up to that tag; `in`: the generation in which it said so, if it
  /// did.
  case forgetCursor(
    restoredThrough: ChangeTag?, lostThrough: ChangeTag? = nil, in: UInt32? = nil)
  /// Moves some of what the relay has lost into the outbox.
  case bringBack
  case chunks(ChunkTask)
  /// Gives this home a key of its own and makes it known, if it has the account's keys. The secret
  /// is used if it has none yet.
  case makeDeviceKey([UInt8])
  /// Saves a few records again with the newest keys (`OutboxSummary.isResealing`).
  case reseal
}

extension ReplicaTask {
  /// True if its result is `applied`; until then the device's position does not change.
  var isApplication: Bool {
    switch self {
    case .apply, .refuseBatch, .setAside, .retryRefused, .forgetCursor, .bringBack: true
    case .load, .follow, .edit, .transact, .join, .decide, .perform, .show, .nameDevices,
      .setSyncing, .seal, .answerRestore, .makeDueEdits, .readRecord, .readState, .readRecords,
      .readAll, .freezeBatch,
      .chunks, .makeDeviceKey, .reseal:
      false
    }
  }
}

/// Permission to freeze a new batch, if none is in flight.
struct BatchOffer: Hashable, Sendable {
  var id: BatchID
  var bounds: BatchBounds
  /// Random bits for the ids of versions in sealed zones.
  var seed: UInt64
}

/// Limits of the next batch.
struct BatchBounds: Hashable, Sendable {
  /// At most `Limits.batchRecords`; fewer while a record that the relay cannot accept is searched
  /// for.
  var records = Limits.batchRecords
  /// At most `Limits.batchBytes`; fewer if an intermediary on the path accepts no more.
  var bytes = Limits.batchBytes
  var blockedZones: [Name] = []
}

/// A message of the relay that must be applied, in the order of arrival.
enum Arrival: Hashable, Sendable {
  case page(ChangePage)
  /// `isLink`: the answer may advance the cursor, if its `since` is the cursor.
  case answer(BatchID, SaveAnswer, isLink: Bool)

  /// Number of records that it tells about.
  var recordCount: Int {
    switch self {
    case .page(let page): page.changes.count
    case .answer(_, let answer, _): answer.results.count
    }
  }
}

enum ReplicaResult: Sendable {
  case loaded(LoadedHome)
  case followed(LoadedHome)
  case edited(OrderID, Result<Record, EditFailure>)
  case transacted(OrderID, Result<[Record], EditFailure>)
  case joined(OrderID, Result<LoadedHome, EditFailure>)
  case answered(OrderID, Result<AppView, EditFailure>)
  case stateRead(OrderID, RecordSyncState)
  case read(OrderID, [Record])
  case applied(Applied)
  /// `movedTo`: the device's new position, if it has gone back.
  case switched(OrderID, Result<Bool, EditFailure>, movedTo: ChangePosition?)
  case chunks(ChunkTransferResult)
  case done
}

extension ReplicaResult {
  /// True if nothing new may be sent yet: stamps made by the job's clock would be refused, or
  /// something must be fetched first, and a frozen batch would precede it.
  var mustNotSend: Bool {
    if case .applied(let applied) = self { applied.clockAhead || applied.foundGap } else { false }
  }
}

/// Content of a home.
struct LoadedHome: Hashable, Sendable {
  var identity: HomeIdentity?
  var position: ChangePosition
  /// Relay time minus wall clock, as last measured by any process of this home.
  var clockOffset: Int64?
  var lastSync: Int64?
  /// Folder of the home's chunk files, if it is not the account's.
  var chunkFolder: AccountID?
}

/// Result of a list of arrivals.
struct Applied: Hashable, Sendable {
  /// The device's position now; during a snapshot, the position in it.
  var position: ChangePosition
  /// True if a page did not follow the cursor: the changes in between must be fetched.
  var foundGap = false
  /// True if records were refused because their stamp is in the relay's future.
  var clockAhead = false
  /// True if no page follows the last one, and the device is at its end.
  var isAtEnd = false
  /// True if an answer began at the device's position: no other device had saved anything by then.
  var isLinked = false
  /// True if the list contained an answer to a batch.
  var hasAnswer = false
  /// Refusal of records for now.
  var retryLater: Refusal?
  var conflicts = 0
}

/// Position up to which a device has read.
enum ChangePosition: Hashable, Sendable {
  /// Nothing is known, or the cursor was lost: a snapshot comes next.
  case nothing
  /// During a snapshot, up to this page's token.
  case snapshot(ChangeToken)
  case cursor(ChangeToken)

  /// nil before and during a snapshot.
  var cursor: ChangeToken? {
    if case .cursor(let token) = self { token } else { nil }
  }

  /// True if the device has read up to this token, and is in no snapshot.
  func isCursor(at token: ChangeToken) -> Bool { cursor?.isSamePosition(as: token) ?? false }

  /// True if the page begins at the device's position.
  func isStart(of page: ChangePage) -> Bool {
    guard let token, let since = page.since else { return token == nil && page.since == nil }
    return token.isSamePosition(as: since)
  }

  /// Token to send as `since`.
  var token: ChangeToken? {
    switch self {
    case .nothing: nil
    case .snapshot(let token), .cursor(let token): token
    }
  }
}

/// Counts of the outbox for the agent, which does not hold it.
struct OutboxSummary: Hashable, Sendable {
  /// Number of waiting and sent entries.
  var unsent = 0
  /// Id of the frozen batch.
  var frozen: BatchID?
  /// Number of waiting entries of each zone that has any, by name.
  var waiting: [ZoneCount] = []
  /// Waiting and sent entries that no person has made: records of the account's keys.
  var keyRecords = 0
  /// Zones that are switched off: their waiting entries are not sent.
  var off: [Name] = []
  /// Zones with waiting entries that the device's scope does not let it change.
  var outOfScope: [Name] = []
  /// Number of records at the relay that the device cannot read, and the first of them, by their
  /// names at the relay.
  var unreadableCount = 0
  var unreadable: [AgentStatus.Unreadable] = []
  /// True if zones are sealed with keys that the device does not have.
  var isLocked = false
  /// Questions that a user must answer before an app is used.
  var questions: [RestoreQuestion] = []
  /// Waiting entries whose chunks of files are not at the relay yet, or that are set aside.
  var heldBack: [ZoneCount] = []
  /// Number of those that are too large for the path to the relay.
  var setAsideCount = 0
  var parked: [AgentStatus.Parked] = []
  var parkedCount = 0
  var asking: [RecordKey] = []
  var askingCount = 0
  /// True if more of what the relay has lost waits, and there is room for it.
  var mayBringBack = false
  /// True if records are still to be saved again with newer keys.
  var isResealing = false

  /// Number of waiting and sent entries, without zones that are switched off.
  var unsentWhileOn: Int {
    waiting.reduce(unsent) { off.contains($1.zone) ? $0 - $1.count : $0 }
  }

  struct ZoneCount: Hashable, Sendable {
    var zone: Name
    var count: Int
  }
}

/// Times of the next due edits, in relay time.
struct DueTimes: Hashable, Sendable {
  /// With grace periods for other devices.
  var whileConnected: Int64?
  var whileOffline: Int64?
  /// Own edits of this device: the only ones that it makes while it does not know relay time.
  var own: Int64?
}

/// The best known time of the device.
package struct ClockReading: Hashable, Sendable {
  /// Wall clock, milliseconds since the Unix epoch.
  package var wall: Int64
  /// Relay time minus wall clock.
  package var offset: Int64
  /// True if the offset was measured recently, and no clock has jumped since.
  package var isTrusted: Bool
  /// False if the offset was not measured; the replica then uses the offset stored in the home.
  var isMeasured = true
  /// Sum of the forward steps of the wall clock since the agent started, milliseconds.
  var wallSteps: Int64 = 0

  var relayTime: Int64 { wall + offset }
}

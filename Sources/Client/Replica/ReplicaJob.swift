import LockstepModel
import LockstepStorage

/// Work on a device's store, done by a driver's worker with `Replica.perform`, in the order in
/// which it was asked for.
public struct ReplicaJob: Sendable {
  var task: ReplicaTask
  /// Freeze the next batch with the same transaction, where nothing is in flight.
  var offer: BatchOffer?
  /// What time it was when the job was asked for.
  package var clock: ClockReading

  /// Whose order it carries out, where it may change what the home holds; nil where the relay, or
  /// time, is behind it.
  package var order: OrderID? {
    switch task {
    case .edit(let order, _), .decide(let order, _, _), .perform(let order, _, _): order
    default: nil
    }
  }
}

/// What came of a job. All of it is durable.
public struct ReplicaOutcome: Sendable {
  var result: Result<ReplicaResult, StorageError>
  /// Records that the screen shows differently now, as they stand, deleted ones without fields.
  var changed: [Record]
  /// The batch to send: what is frozen, or what was frozen just now. Only where one was offered.
  var batch: SaveRequest?
  var outbox: OutboxSummary
  var due: DueTimes
  /// Chunks of files that local changes wait for, and that were not named before.
  var needs: [ChunkNeed] = []
}

enum ReplicaTask: Sendable {
  case load
  case edit(OrderID, EditRequest)
  case decide(OrderID, RecordKey, keepLocal: Bool)
  case perform(OrderID, app: String, JSONValue)
  case show(OrderID, app: String, JSONValue)
  case nameDevices([DeviceID: String])
  case setSyncing(OrderID, zone: Name, Bool)
  case answerRestore(OrderID, app: String)
  /// Make the edits whose time has come. Others' are left to them for a while when connected.
  case makeDueEdits(isConnected: Bool)
  case readRecord(OrderID, RecordKey)
  case readRecords(OrderID, zone: Name, type: Name)
  case readAll(OrderID)
  /// Nothing but what the job's offer asks for.
  case takeBatch
  case apply([Arrival])
  /// The whole batch was turned down.
  case refuseBatch(BatchID, Refusal)
  /// The batch is one change, and is too large for what stands between here and the relay: it waits
  /// until it is tried again, and others go on.
  case setAside(BatchID)
  /// What was set aside goes again; with `withParked` also what the relay has refused.
  case retryRefused(withParked: Bool)
  /// The cursor leads nowhere any more: a snapshot follows. With a tag, the relay came back from a
  /// backup and has what was read up to that tag; `in`: in which generation it said so, if it did.
  case forgetCursor(
    restoredThrough: ChangeTag?, lostThrough: ChangeTag? = nil, in: UInt32? = nil)
  /// Some of what the relay has lost goes into the outbox.
  case bringBack
  case chunks(ChunkTask)
}

extension ReplicaTask {
  /// Its result is `applied`, and until then the device stands where it stood.
  var isApplication: Bool {
    switch self {
    case .apply, .refuseBatch, .setAside, .retryRefused, .forgetCursor, .bringBack: true
    case .load, .edit, .decide, .perform, .show, .nameDevices, .setSyncing, .answerRestore,
      .makeDueEdits, .readRecord, .readRecords, .readAll, .takeBatch, .chunks:
      false
    }
  }
}

/// A new batch, where nothing is in flight.
struct BatchOffer: Hashable, Sendable {
  var id: BatchID
  var bounds: BatchBounds
}

/// What may go into the next batch.
struct BatchBounds: Hashable, Sendable {
  /// At most `Limits.batchRecords`; fewer while a record that the relay cannot take is sought.
  var records = Limits.batchRecords
  /// At most `Limits.batchBytes`; fewer where something on the way takes no more.
  var bytes = Limits.batchBytes
  var blockedZones: [Name] = []
}

/// Something of the relay's that must be applied, in the order in which it came.
enum Arrival: Hashable, Sendable {
  case page(ChangePage)
  /// `isLink`: the answer is a link in the chain of cursors where its `since` is the cursor.
  case answer(BatchID, SaveAnswer, isLink: Bool)
}

enum ReplicaResult: Sendable {
  case loaded(LoadedHome)
  case edited(OrderID, Result<Record, EditFailure>)
  case told(OrderID, Result<AppView, EditFailure>)
  case read(OrderID, [Record])
  case applied(Applied)
  /// `movedTo`: where the device stands now, where it has gone back.
  case switched(OrderID, Result<Bool, EditFailure>, movedTo: ChangePosition?)
  case chunks(ChunkTransferResult)
  case done
}

extension ReplicaResult {
  /// Nothing new may be sent yet: stamps made by the job's clock would be refused, or something
  /// must be fetched first, and what is frozen would go before it.
  var mustNotSend: Bool {
    if case .applied(let applied) = self { applied.clockAhead || applied.foundGap } else { false }
  }
}

/// What stands in a home.
struct LoadedHome: Hashable, Sendable {
  var identity: HomeIdentity?
  var position: ChangePosition
  /// Relay time less wall clock, as last measured by any process of this home.
  var clockOffset: Int64?
  var lastSync: Int64?
}

/// What came of a list of arrivals.
struct Applied: Hashable, Sendable {
  /// Where the device stands now; in the middle of a snapshot, where that stands.
  var position: ChangePosition
  /// A page did not follow the cursor: what lies between must be fetched.
  var foundGap = false
  /// Records turned down because their stamp is in the relay's future.
  var clockAhead = false
  /// The last page had no more behind it, and the device stands at its end.
  var isAtEnd = false
  /// An answer began where the device stood: nobody else had saved anything by then.
  var isLinked = false
  /// There was an answer to a batch among them.
  var hasAnswer = false
  /// Records turned down for now.
  var retryLater: Refusal?
  var conflicts = 0
}

/// How far a device has read.
enum ChangePosition: Hashable, Sendable {
  /// Nothing is known, or the cursor was lost: a snapshot comes next.
  case nothing
  /// In the middle of a snapshot, up to this page's token.
  case snapshot(ChangeToken)
  case cursor(ChangeToken)

  /// nil before and in a snapshot.
  var cursor: ChangeToken? {
    if case .cursor(let token) = self { token } else { nil }
  }

  /// Whether the device has read up to here, and is in no snapshot.
  func isCursor(at token: ChangeToken) -> Bool { cursor?.isSamePlace(as: token) ?? false }

  /// Whether the page begins where the device stands.
  func isStart(of page: ChangePage) -> Bool {
    guard let token, let since = page.since else { return token == nil && page.since == nil }
    return token.isSamePlace(as: since)
  }

  /// What to name as `since`.
  var token: ChangeToken? {
    switch self {
    case .nothing: nil
    case .snapshot(let token), .cursor(let token): token
    }
  }
}

/// The outbox in numbers, for the agent, which does not hold it.
struct OutboxSummary: Hashable, Sendable {
  /// Waiting and sent.
  var unsent = 0
  /// The batch that is frozen.
  var frozen: BatchID?
  /// Zones that have waiting entries, and how many, by name.
  var waiting: [ZoneCount] = []
  /// Zones that are switched off: what waits there is not to be sent.
  var off: [Name] = []
  /// What a person must say before an app is used.
  var questions: [RestoreQuestion] = []
  /// Those of the waiting ones that wait for chunks of files to be at the relay, or are set aside.
  var heldBack: [ZoneCount] = []
  /// Those of them that are too large for the way to the relay.
  var setAsideCount = 0
  var parked: [SyncStatus.Parked] = []
  var parkedCount = 0
  var asking: [RecordKey] = []
  var askingCount = 0
  /// More of what the relay has lost waits, and there is room for it.
  var mayBringBack = false

  /// Waiting and sent, but for what is switched off.
  var unsentWhileOn: Int {
    waiting.reduce(unsent) { off.contains($1.zone) ? $0 - $1.count : $0 }
  }

  struct ZoneCount: Hashable, Sendable {
    var zone: Name
    var count: Int
  }
}

/// When the next edit that time makes falls due, in relay time.
struct DueTimes: Hashable, Sendable {
  /// Where others are given time to make theirs.
  var whileConnected: Int64?
  var whileOffline: Int64?
  /// This device's own alone: all that it makes while it does not know relay time.
  var own: Int64?
}

/// What time it is, by the best that the device knows.
package struct ClockReading: Hashable, Sendable {
  /// The wall clock, milliseconds since the Unix epoch.
  package var wall: Int64
  /// Relay time less wall clock.
  package var offset: Int64
  /// The offset was measured, not long ago, and no clock has jumped since.
  package var isTrusted: Bool
  /// Otherwise the offset is what the home remembers, of which the home itself knows best.
  var isMeasured = true
  /// By how much the wall clock was set forward since the agent started, milliseconds.
  var wallSteps: Int64 = 0

  var relayTime: Int64 { wall + offset }
}

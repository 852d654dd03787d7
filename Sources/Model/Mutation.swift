/// What a device asks for one record: to save it, or to delete it.
public struct Mutation: Hashable, Sendable {
  public var name: Name
  /// The record's type. A delete keeps the type that the record had, and may leave it out: it tells
  /// the type of a record that the relay has lost, or never had.
  public var type: Name?
  /// The bytes of a JSON object; nil in a delete.
  public var fields: [UInt8]?
  /// Relay time by the device's reckoning, milliseconds since the Unix epoch.
  public var modifiedAt: Int64
  /// The version that this change was made on. 0: the record must not exist (a tombstone does not
  /// count); n: it must still be n; nil: overwrite whatever is there.
  public var baseTag: ChangeTag?
  /// The chunks of files that the record names, each once; none in a delete.
  public var chunks: [ChunkHash]
  /// A fault of this record alone, found before the store was asked: it becomes the record's
  /// `error` in the results, and the others go on.
  public var refusal: Refusal?

  public var isDelete: Bool { fields == nil }

  public init(
    name: Name, type: Name?, fields: [UInt8]?, modifiedAt: Int64, baseTag: ChangeTag?,
    chunks: [ChunkHash] = [], refusal: Refusal? = nil
  ) {
    self.name = name
    self.type = type
    self.fields = fields
    self.modifiedAt = modifiedAt
    self.baseTag = baseTag
    self.chunks = chunks
    self.refusal = refusal
  }
}

/// A batch of mutations in one zone, as a device sends it.
public struct SaveRequest: Hashable, Sendable {
  public var id: BatchID
  public var zone: Name
  /// All or none.
  public var atomic: Bool
  /// The answer is to tell the relay's times. It is nothing of the batch: a retry may differ in it.
  public var timed: Bool
  public var mutations: [Mutation]

  public init(
    id: BatchID, zone: Name, atomic: Bool, timed: Bool = false, mutations: [Mutation]
  ) {
    self.id = id
    self.zone = zone
    self.atomic = atomic
    self.timed = timed
    self.mutations = mutations
  }
}

/// What became of one mutation of a batch.
public enum MutationResult: Hashable, Sendable {
  case saved(name: Name, tag: ChangeTag)
  /// The record has moved on; `record` is what stands now. Where not even a tombstone is kept any
  /// more it is a deleted record with tag 0 and modifiedAt 0.
  case conflict(name: Name, record: Record)
  case refused(name: Name, Refusal)
}

/// The answer to a batch: a link in the chain of cursors, and a result a mutation, in order.
public struct SaveAnswer: Hashable, Sendable {
  /// The account's newest token before this batch.
  public var since: ChangeToken
  /// The account's newest token after it.
  public var token: ChangeToken
  public var results: [MutationResult]
  /// Where it was asked for, and something was saved.
  public var timing: SaveTiming?

  public init(
    since: ChangeToken, token: ChangeToken, results: [MutationResult], timing: SaveTiming? = nil
  ) {
    self.since = since
    self.token = token
    self.results = results
    self.timing = timing
  }
}

/// When a batch came to the relay and what became of it there: relay time, in microseconds since
/// the Unix epoch, in this order.
public struct SaveTiming: Hashable, Sendable {
  /// The message was there; over HTTP, the head of the request.
  public var received: Int64
  public var durable: Int64
  /// Those who watch the account were told, as far as the loop does it that has the device.
  public var pushed: Int64

  public init(received: Int64, durable: Int64, pushed: Int64) {
    self.received = received
    self.durable = durable
    self.pushed = pushed
  }
}

/// Changes that follow one cursor and lead to the next: a page of a fetch, or a push.
public struct ChangePage: Hashable, Sendable {
  /// nil for the first page of a snapshot.
  public var since: ChangeToken?
  public var token: ChangeToken
  public var more: Bool
  public var changes: [Record]
  /// The tags that the account's history has passed over, on the first page of a snapshot all of
  /// them, otherwise those between `since` and `token`. Whoever holds one of them was given it by a
  /// relay whose store has gone back since.
  public var lostTags: [TagGap]

  public init(
    since: ChangeToken?, token: ChangeToken, more: Bool, changes: [Record], lostTags: [TagGap] = []
  ) {
    self.lostTags = lostTags
    self.since = since
    self.token = token
    self.more = more
    self.changes = changes
  }
}

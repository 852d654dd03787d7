/// Request of a device for one record: a save or a delete.
@usableFromInline
package struct Mutation: Hashable, Sendable {
  @usableFromInline package var name: Name
  /// The record's type. A delete keeps the type that the record had, and may omit it. It gives the
  /// type of a record that the relay has lost or never had.
  @usableFromInline package var type: Name?
  /// Bytes of a JSON object; nil in a delete.
  @usableFromInline package var fields: [UInt8]?
  /// Relay time as the device estimates it, milliseconds since the Unix epoch; with
  /// `isStampedByRelay` the relay's own.
  @usableFromInline package var modifiedAt: Int64
  /// True if the request has no time: the version gets the relay's time, or one millisecond more
  /// than the record's former version, if that is later.
  @usableFromInline package var isStampedByRelay: Bool
  /// Version that this change was made on. 0: the record must not exist (a tombstone does not
  /// count, except with `unlessDeleted`); n: it must still be n; nil: overwrite any version.
  @usableFromInline package var baseTag: ChangeTag?
  /// True if, with `baseTag` 0, a tombstone counts as a record: the change was made on a version
  /// that the relay has lost, and another device may have deleted the record since.
  @usableFromInline package var unlessDeleted: Bool
  /// True if, without a `baseTag`, there must be a live record of that name, of any version.
  @usableFromInline package var onlyExisting: Bool
  /// The newest versions that the change was made on, and its own, after the relay has lost some.
  /// Shows other devices that hold one of them that theirs is not another change. At most
  /// `Limits.includes`. The record keeps them, also after further changes.
  @usableFromInline package var includes: [VersionFingerprint]
  /// Chunks of files that the record names, each once; none in a delete.
  @usableFromInline package var chunks: [ChunkHash]
  /// Fault of this record alone, found before the store is queried. It becomes the record's `error`
  /// in the results; the other records are saved.
  @usableFromInline package var refusal: Refusal?

  @usableFromInline package var isDelete: Bool { fields == nil }

  @usableFromInline
  package init(
    name: Name, type: Name?, fields: [UInt8]?, modifiedAt: Int64, baseTag: ChangeTag?,
    unlessDeleted: Bool = false, includes: [VersionFingerprint] = [], chunks: [ChunkHash] = [],
    refusal: Refusal? = nil, isStampedByRelay: Bool = false, onlyExisting: Bool = false
  ) {
    self.isStampedByRelay = isStampedByRelay
    self.onlyExisting = onlyExisting
    self.includes = includes
    self.unlessDeleted = unlessDeleted
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
@usableFromInline
package struct SaveRequest: Hashable, Sendable {
  @usableFromInline package var id: BatchID
  @usableFromInline package var zone: Name
  /// All or none.
  @usableFromInline package var atomic: Bool
  /// True if the answer is to contain the relay's times. Not part of the batch: a retry may differ
  /// in it.
  @usableFromInline package var timed: Bool
  @usableFromInline package var mutations: [Mutation]

  @usableFromInline
  package init(
    id: BatchID, zone: Name, atomic: Bool, timed: Bool = false, mutations: [Mutation]
  ) {
    self.id = id
    self.zone = zone
    self.atomic = atomic
    self.timed = timed
    self.mutations = mutations
  }
}

/// Result of one mutation of a batch.
@usableFromInline
package enum MutationResult: Hashable, Sendable {
  case saved(name: Name, tag: ChangeTag)
  /// The record has a newer version, `record`. If not even a tombstone is kept any more, this is a
  /// deleted record with tag 0 and modifiedAt 0.
  case conflict(name: Name, record: Record)
  case refused(name: Name, Refusal)
}

/// Answer to a batch: the tokens before and after it, and one result per mutation, in order.
@usableFromInline
package struct SaveAnswer: Hashable, Sendable {
  /// The account's newest token before this batch.
  @usableFromInline package var since: ChangeToken
  /// The account's newest token after it.
  @usableFromInline package var token: ChangeToken
  @usableFromInline package var results: [MutationResult]
  /// Set if it was requested and something was saved.
  @usableFromInline package var timing: SaveTiming?

  @usableFromInline
  package init(
    since: ChangeToken, token: ChangeToken, results: [MutationResult], timing: SaveTiming? = nil
  ) {
    self.since = since
    self.token = token
    self.results = results
    self.timing = timing
  }
}

/// Times of a batch at the relay: relay time, in microseconds since the Unix epoch, in this order.
@usableFromInline
package struct SaveTiming: Hashable, Sendable {
  /// Time at which the message was received; over HTTP, the head of the request.
  @usableFromInline package var received: Int64
  @usableFromInline package var durable: Int64
  /// Time at which the loop that answers the device had handed on the pushes; other loops may
  /// differ a little.
  @usableFromInline package var pushed: Int64

  @usableFromInline
  package init(received: Int64, durable: Int64, pushed: Int64) {
    self.received = received
    self.durable = durable
    self.pushed = pushed
  }
}

/// Changes that lead from one cursor to the next: a page of a fetch, or a push.
@usableFromInline
package struct ChangePage: Hashable, Sendable {
  /// nil on the first page of a snapshot.
  @usableFromInline package var since: ChangeToken?
  @usableFromInline package var token: ChangeToken
  @usableFromInline package var more: Bool
  @usableFromInline package var changes: [Record]
  /// Tags that the account's history has skipped: all of them on the first page of a snapshot,
  /// otherwise those between `since` and `token`. A client that holds one of them got it from a
  /// relay whose store has reverted to an older state since.
  @usableFromInline package var lostTags: [TagGap]

  @usableFromInline
  package init(
    since: ChangeToken?, token: ChangeToken, more: Bool, changes: [Record], lostTags: [TagGap] = []
  ) {
    self.lostTags = lostTags
    self.since = since
    self.token = token
    self.more = more
    self.changes = changes
  }
}

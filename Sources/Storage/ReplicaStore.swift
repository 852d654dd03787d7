import LockstepModel

/// Durable state of a device: its records, its cursor, its outbox. One process at a time has it
/// open.
///
/// All writes of a call are one transaction, which is durable when the call returns.
@usableFromInline
package protocol ReplicaStore: AnyObject {
  /// A text that differs from that of the store's former process if the store may have been set
  /// back or copied since: after a start of the system, and if its files are others. It is not part
  /// of the store, so that no backup has it. nil: unknown.
  var incarnation: String? { get }
  /// Returns the account and device of this home; nil if it has not joined an account.
  func identity() throws(StorageError) -> HomeIdentity?
  func record(_ key: RecordKey) throws(StorageError) -> Record?
  /// Returns the records of one type in one zone, or of all types (nil), by name, without
  /// tombstones.
  func records(zone: Name, type: Name?) throws(StorageError) -> [Record]
  /// Returns all records of the store, including tombstones, by zone and name.
  func allRecords() throws(StorageError) -> [Record]
  func cursor() throws(StorageError) -> ChangeToken?
  /// Returns the entries of the outbox, oldest first.
  func outbox() throws(StorageError) -> [OutboxEntry]
  func value(_ key: String) throws(StorageError) -> String?
  /// Returns records that the snapshot of this number did not name and that are not lost, by zone
  /// and name. Once the snapshot is complete, they no longer exist on the relay.
  func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord]
  /// Returns records marked as lost by the relay, by zone and name: at most `limit`, and at most
  /// `bytes` of fields (but at least one record).
  func lostRecords(limit: Int, bytes: Int) throws(StorageError) -> [Record]
  func isLost(_ key: RecordKey) throws(StorageError) -> Bool
  /// Returns records after this key, tombstones included, by zone and name; nil: from the first.
  func records(after key: RecordKey?, limit: Int) throws(StorageError) -> [Record]
  /// Returns the fingerprints of versions that the held record has replaced, oldest first: the
  /// newest `Limits.ancestors` of those that `putRecord` named.
  func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint]
  /// Returns the version that is held, as the last `putRecord` named it.
  func version(_ key: RecordKey) throws(StorageError) -> RecordVersion?
  /// Returns the greatest tag of all records; 0 if there are none.
  func greatestTag() throws(StorageError) -> ChangeTag
  /// Returns the tags above `tag` of all records and tombstones, in no order.
  func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag]
  /// Returns those of the chunks that the home has, in the order of `hashes`.
  func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk]
  /// Returns the chunks that the home has, by hash, after the given one.
  func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk]
  /// Returns those of the chunks that a record names, in the order of `hashes`.
  func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash]
  /// Returns those of the files that contain a chunk, in the order of `numbers`.
  func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64]
  func write(_ changes: [ReplicaChange]) throws(StorageError)
}

/// Account and device of a home.
@usableFromInline
package struct HomeIdentity: Hashable, Sendable {
  @usableFromInline package var relay: String
  @usableFromInline package var credentials: Credentials
  @usableFromInline package var deviceName: String

  @usableFromInline
  package init(relay: String, credentials: Credentials, deviceName: String) {
    self.relay = relay
    self.credentials = credentials
    self.deviceName = deviceName
  }
}

/// One write of a transaction.
@usableFromInline
package enum ReplicaChange: Hashable, Sendable {
  case setIdentity(HomeIdentity?)
  /// Stores the record as the user sees it: with a local edit that is not acknowledged yet, the
  /// edited one, whose `tag` stays that of the version it is based on (0: none). With `snapshot`,
  /// the snapshot of that number names the record. A stored record is not lost. `replacing`: the
  /// fingerprints of versions that the record was made on (see `ancestors`). `version`: which
  /// one it is, of a sealed zone; nil in other zones, and for one that the relay has not
  /// acknowledged (see `OutboxEntry.lineage`).
  case putRecord(
    Record, snapshot: Int64? = nil, replacing: [VersionFingerprint] = [],
    version: RecordVersion? = nil)
  /// Marks the record as named by the snapshot of this number, without changing it. Numbers are
  /// positive and increase from snapshot to snapshot.
  case markInSnapshot(RecordKey, snapshot: Int64)
  /// Marks the record as lost by the relay; it is to be restored from this device.
  case markLost(RecordKey)
  case removeRecord(RecordKey)
  /// Removes many records at once, for example those missing from a snapshot.
  case removeRecords([RecordKey])
  case setCursor(ChangeToken?)
  /// Inserts the entry, or replaces the one of the same number.
  case putEntry(OutboxEntry)
  case removeEntry(number: Int64)
  case setValue(key: String, String?)
  /// Inserts the chunk, or replaces the one of the same hash. No two chunks share a file.
  case putChunk(HeldChunk)
  case removeChunk(ChunkHash)
}

/// Chunk of a file in the home. Its bytes are in the `ChunkStore`.
@usableFromInline
package struct HeldChunk: Hashable, Sendable {
  @usableFromInline package var hash: ChunkHash
  /// Number of its file; with the home's account it forms a `ChunkFile`.
  @usableFromInline package var file: UInt64
  /// Length in bytes.
  @usableFromInline package var bytes: Int
  /// Time, by this machine's wall clock in milliseconds, since which no reference to it was found;
  /// nil while there is one.
  @usableFromInline package var idleSince: Int64?

  @usableFromInline
  package init(hash: ChunkHash, file: UInt64, bytes: Int, idleSince: Int64? = nil) {
    self.hash = hash
    self.file = file
    self.bytes = bytes
    self.idleSince = idleSince
  }
}

/// Record that a snapshot did not name, without its fields and chunks, which may be large.
@usableFromInline
package struct UnnamedRecord: Hashable, Sendable {
  @usableFromInline package var key: RecordKey
  @usableFromInline package var type: Name
  @usableFromInline package var modifiedAt: Int64
  @usableFromInline package var device: DeviceID
  @usableFromInline package var tag: ChangeTag
  /// True for a tombstone.
  @usableFromInline package var isDeleted: Bool

  @usableFromInline
  package init(
    key: RecordKey, type: Name, modifiedAt: Int64, device: DeviceID, tag: ChangeTag,
    isDeleted: Bool
  ) {
    self.key = key
    self.type = type
    self.modifiedAt = modifiedAt
    self.device = device
    self.tag = tag
    self.isDeleted = isDeleted
  }
}

/// Local change that is not acknowledged yet.
@usableFromInline
package struct OutboxEntry: Hashable, Sendable {
  /// Id of the entry in the store. Increases from entry to entry.
  @usableFromInline package var number: Int64
  @usableFromInline package var key: RecordKey
  @usableFromInline package var type: Name
  /// Fields of the record after this change; nil: deleted.
  @usableFromInline package var fields: [UInt8]?
  /// Timestamp in relay time, as far as the relay's time was known.
  @usableFromInline package var modifiedAt: Int64
  /// True if the relay's clock offset was known when the timestamp was made.
  @usableFromInline package var isStampTrusted: Bool
  /// Version that the change is based on, as received from the relay; nil if there was none.
  @usableFromInline package var base: Record?
  @usableFromInline package var state: State
  /// Record as last changed by time alone (a countdown that ended) between `base` and `fields`; nil
  /// if time changed nothing. Other devices make the same change by themselves, so a resolver must
  /// know that this change was made with knowledge of it.
  @usableFromInline package var timeMade: Record?
  /// Group number of records that must be saved together (a merged record and its copies).
  @usableFromInline package var group: Int64?
  /// Timestamp, in relay time, of the first version of this change that was sent and never
  /// answered; nil if there was none. The relay may have saved that version as this device's own.
  @usableFromInline package var firstSent: Int64?
  /// See `Mutation.includes`: set when the entry is frozen, so that it is sent alike each time.
  @usableFromInline package var includes: [VersionFingerprint]
  /// Versions that a change in a sealed zone was made on; nil in other zones.
  @usableFromInline package var lineage: Lineage?

  @usableFromInline
  package enum State: Hashable, Sendable {
    /// Later edits may still be merged into it.
    case waiting
    /// Sent, or about to be sent, under this id. Unchangeable until answered.
    case sent(BatchID)
    /// Refused permanently; shown to the user.
    case parked(Refusal)
    /// Conflict that the user decides. Contains the server's version.
    case asking(Record)
  }

  @usableFromInline
  package init(
    number: Int64, key: RecordKey, type: Name, fields: [UInt8]?, modifiedAt: Int64,
    isStampTrusted: Bool, base: Record?, state: State, group: Int64? = nil,
    timeMade: Record? = nil, firstSent: Int64? = nil,
    includes: [VersionFingerprint] = [], lineage: Lineage? = nil
  ) {
    self.includes = includes
    self.lineage = lineage
    self.number = number
    self.key = key
    self.type = type
    self.fields = fields
    self.modifiedAt = modifiedAt
    self.isStampTrusted = isStampTrusted
    self.base = base
    self.state = state
    self.group = group
    self.timeMade = timeMade
    self.firstSent = firstSent
  }
}

extension OutboxEntry {
  /// Versions that a change was made on. They decide in a sealed zone if it and the relay's version
  /// are in conflict: tags and times there are the relay's word.
  @usableFromInline
  package struct Lineage: Hashable, Sendable {
    /// Version whose content is in `base`; nil if there is none.
    @usableFromInline package var base: RecordVersion?
    /// All versions that the change includes, without itself.
    @usableFromInline package var made: VersionVector
    /// Id of the change as a version, once it was frozen; nil again if it was changed since. That
    /// of `base` if the change only saves that version again.
    @usableFromInline package var id: VersionID?
    /// Ids that this home has given to the change since `base`, oldest first: at most
    /// `Limits.givenIDs`. Another one of the same writer shows that the home was set back.
    @usableFromInline package var given: [VersionID]
    /// Version that a person is asked about.
    @usableFromInline package var asked: RecordVersion?
    /// True if the change is a merge of versions in `made`, and nothing was edited since: all that
    /// it has is in every version that includes those.
    @usableFromInline package var isMerge: Bool

    @usableFromInline
    package init(
      base: RecordVersion?, made: VersionVector, id: VersionID? = nil,
      given: [VersionID] = [], asked: RecordVersion? = nil, isMerge: Bool = false
    ) {
      self.base = base
      self.made = made
      self.id = id
      self.given = given
      self.asked = asked
      self.isMerge = isMerge
    }

    /// Lineage of a new change on this version; the empty one for a new record.
    package init(on version: RecordVersion? = nil) {
      self.init(base: version, made: version?.vector ?? VersionVector())
    }
  }
}

extension OutboxEntry.Lineage {
  /// Five parts, each behind its length in 2 bytes: base, vector, id, given ids and asked version;
  /// a part of no bytes stands for none. A sixth part, of no bytes, stands for a merge.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    var parts = [
      base?.bytes ?? [], made.bytes, id?.bytes ?? [], given.flatMap(\.bytes), asked?.bytes ?? [],
    ]
    if isMerge { parts.append([]) }
    for part in parts {
      bytes.append(UInt8(truncatingIfNeeded: part.count >> 8))
      bytes.append(UInt8(truncatingIfNeeded: part.count))
      bytes += part
    }
    return bytes
  }

  /// Returns nil if these are not the `bytes` of a lineage.
  package init?(bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    func part() -> ArraySlice<UInt8>? { reader.length().flatMap { reader.part($0) } }
    guard let base = part(), let made = part().flatMap({ VersionVector(bytes: $0) }),
      let id = part(), let given = part(), let asked = part(),
      id.isEmpty || id.count == VersionID.byteCount
    else { return nil }
    self.init(made: made)
    isMerge = !reader.isAtEnd
    guard !isMerge || part()?.isEmpty == true, reader.isAtEnd else { return nil }
    if !base.isEmpty {
      guard let base = RecordVersion(bytes: base) else { return nil }
      self.base = base
    }
    var ids = ByteReader(id)
    self.id = VersionID(&ids)
    var givenIDs = ByteReader(given)
    while !givenIDs.isAtEnd {
      guard let id = VersionID(&givenIDs) else { return nil }
      self.given.append(id)
    }
    if !asked.isEmpty {
      guard let asked = RecordVersion(bytes: asked) else { return nil }
      self.asked = asked
    }
  }

  private init(made: VersionVector) { self.init(base: nil, made: made) }
}

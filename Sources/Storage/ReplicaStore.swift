import LockstepModel

/// A device's durable side: its records, its cursor, its outbox. One process holds it at a time.
///
/// All writes of a call are one transaction, durable when it returns.
public protocol ReplicaStore: AnyObject {
  /// Who this home belongs to and where it stands; nil in a home that has not joined.
  func identity() throws(StorageError) -> HomeIdentity?
  func record(_ key: RecordKey) throws(StorageError) -> Record?
  /// Records of one type in one zone, by name, tombstones left out.
  func records(zone: Name, type: Name) throws(StorageError) -> [Record]
  /// All records that are held, tombstones too, by zone and name.
  func allRecords() throws(StorageError) -> [Record]
  func cursor() throws(StorageError) -> ChangeToken?
  /// Entries of the outbox, oldest first.
  func outbox() throws(StorageError) -> [OutboxEntry]
  func value(_ key: String) throws(StorageError) -> String?
  /// Records that were not named by the snapshot of this number and are not lost, by zone and name:
  /// what is not there any more, once the snapshot is whole.
  func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord]
  /// Records that are marked as lost by the relay, by zone and name: at most `limit`, and at most
  /// `bytes` of fields (but one record at least).
  func lostRecords(limit: Int, bytes: Int) throws(StorageError) -> [Record]
  func isLost(_ key: RecordKey) throws(StorageError) -> Bool
  /// The greatest tag of all records that are held; 0 where there are none.
  func greatestTag() throws(StorageError) -> ChangeTag
  /// The tags of all records and tombstones beyond `tag`, in no order.
  func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag]
  /// Those of the chunks of files that lie in the home, in the order asked.
  func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk]
  /// The chunks that lie in the home, by hash, after the one named.
  func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk]
  /// Those of the chunks that a held record names, in the order asked.
  func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash]
  /// Those of the files that hold a chunk, in the order asked.
  func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64]
  func write(_ changes: [ReplicaChange]) throws(StorageError)
}

/// Which account and device a home is.
public struct HomeIdentity: Hashable, Sendable {
  public var relay: String
  public var credentials: Credentials
  public var deviceName: String

  public init(relay: String, credentials: Credentials, deviceName: String) {
    self.relay = relay
    self.credentials = credentials
    self.deviceName = deviceName
  }
}

/// One write; several make a transaction.
public enum ReplicaChange: Hashable, Sendable {
  case setIdentity(HomeIdentity?)
  /// The record as the screen shows it: with a local edit not yet acknowledged, the edited one,
  /// whose `tag` stays that of the version it was made on (0: none). With a number, the snapshot of
  /// that number names it. A record that is put is not lost.
  case putRecord(Record, snapshot: Int64? = nil)
  /// The snapshot of this number names the record, which stands as it is. Numbers are positive, and
  /// rise from snapshot to snapshot.
  case nameRecord(RecordKey, snapshot: Int64)
  /// The relay has lost what is held here: it waits to be brought back.
  case loseRecord(RecordKey)
  case removeRecord(RecordKey)
  /// Many at once, as when a snapshot shows that they are gone.
  case removeRecords([RecordKey])
  case setCursor(ChangeToken?)
  /// Inserts, or replaces the entry of the same number.
  case putEntry(OutboxEntry)
  case removeEntry(number: Int64)
  case setValue(key: String, String?)
  /// Inserts, or replaces the chunk of the same hash. No two chunks share a file.
  case putChunk(HeldChunk)
  case removeChunk(ChunkHash)
}

/// A chunk of a file that lies in the home: its bytes are the `ChunkStore`'s to keep.
public struct HeldChunk: Hashable, Sendable {
  public var hash: ChunkHash
  /// The number of its file, which with the home's account is a `ChunkFile`.
  public var file: UInt64
  /// Its length.
  public var bytes: Int
  /// Since when, by this machine's wall clock in milliseconds, nothing was found to name it; nil
  /// while something does.
  public var idleSince: Int64?

  public init(hash: ChunkHash, file: UInt64, bytes: Int, idleSince: Int64? = nil) {
    self.hash = hash
    self.file = file
    self.bytes = bytes
    self.idleSince = idleSince
  }
}

/// A record that a snapshot did not name, without its fields and chunks, which may be large.
public struct UnnamedRecord: Hashable, Sendable {
  public var key: RecordKey
  public var type: Name
  public var modifiedAt: Int64
  public var device: DeviceID
  public var tag: ChangeTag
  /// It is a tombstone.
  public var isDeleted: Bool

  public init(
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

/// A local change that is not yet acknowledged.
public struct OutboxEntry: Hashable, Sendable {
  /// Rises from entry to entry; names it in the store.
  public var number: Int64
  public var key: RecordKey
  public var type: Name
  /// The record as this change makes it; nil: deleted.
  public var fields: [UInt8]?
  /// Stamp in relay time, as far as it was known.
  public var modifiedAt: Int64
  /// The stamp was made with the relay's offset known.
  public var isStampTrusted: Bool
  /// The version that the change was made on, as the relay told it; nil where there was none.
  public var base: Record?
  public var state: State
  /// The record as time alone last made it, on the way from `base` to `fields` (a countdown that
  /// ended); nil where time made nothing. Other devices make the very same by themselves, so a rule
  /// has to know that this change was made with knowledge of it.
  public var timeMade: Record?
  /// A group number where several records must be saved together (a merged record and its copies).
  public var group: Int64?
  /// Stamp of the first version of this change that was sent and never answered, in relay time; nil
  /// where none was. Such a version may stand on the relay all the same, as this device's own.
  public var firstSent: Int64?

  public enum State: Hashable, Sendable {
    /// Later edits may still be folded into it.
    case waiting
    /// Sent, or about to be, under this id, and frozen until answered.
    case sent(BatchID)
    /// Refused for good; shown to the person.
    case parked(Refusal)
    /// A conflict that a person decides; the server's version.
    case asking(Record)
  }

  public init(
    number: Int64, key: RecordKey, type: Name, fields: [UInt8]?, modifiedAt: Int64,
    isStampTrusted: Bool, base: Record?, state: State, group: Int64? = nil,
    timeMade: Record? = nil, firstSent: Int64? = nil
  ) {
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

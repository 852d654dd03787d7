import LockstepModel
import LockstepStorage

/// A device's records and outbox, with the changes of the current transaction. Writes, and makes no
/// decisions.
struct WriteTransaction {
  let store: any ReplicaStore
  private(set) var outbox = Outbox()
  private var changes: [ReplicaChange] = []
  /// Records that the transaction has written, and their former versions.
  private var written: [RecordKey: Written] = [:]
  private var order: [RecordKey] = []
  /// Fingerprints of replaced versions that the transaction has added.
  private var ancestorsPut: [RecordKey: [VersionFingerprint]] = [:]
  /// Records that it has read and not written: most records are read once, and then written.
  private var read: [RecordKey: Record?] = [:]
  /// Records that it reports as named by a snapshot.
  private var named: Set<RecordKey> = []
  /// Records that it removes because a snapshot did not name them.
  private var dropped: [UnnamedRecord] = []
  private var droppedKeys: Set<RecordKey> = []
  /// Records that it has removed otherwise, whether it has put them again or not.
  private var removedKeys: Set<RecordKey> = []

  private struct Written {
    var before: Record?
    var now: Record?
    /// Version of a sealed zone that is present; nil: unknown, or of another zone.
    var version: RecordVersion?
  }

  /// Changes of a transaction.
  struct Outcome {
    /// Records that a snapshot did not name; they come before all other changes.
    var dropped: [UnnamedRecord]
    /// Each record that may have changed, in the order of first writing; nil: there is none.
    var written: [(key: RecordKey, before: Record?, now: Record?)]
  }

  var hasChanges: Bool { !changes.isEmpty }

  init(store: any ReplicaStore) { self.store = store }

  /// Discards the changes of the transaction, and reads the outbox from the store.
  mutating func reload() throws(StorageError) {
    discardChanges()
    outbox = Outbox(try store.outbox())
  }

  // MARK: records

  mutating func record(_ key: RecordKey) throws(StorageError) -> Record? {
    if let written = written[key] { return written.now }
    if droppedKeys.contains(key) { return nil }
    if let read = read[key] { return read }
    let record = try store.record(key)
    read[key] = .some(record)
    return record
  }

  /// Returns the live records of a type, by name.
  func records(zone: Name, type: Name?) throws(StorageError) -> [Record] {
    var records = try store.records(zone: zone, type: type).filter {
      written[$0.key] == nil && !droppedKeys.contains($0.key)
    }
    for key in order where key.zone == zone {
      guard let now = written[key]?.now, !now.isDeleted else { continue }
      if type == nil || now.type == type { records.append(now) }
    }
    return records.sorted { $0.name < $1.name }
  }

  /// True if the transaction has written records of the zone.
  func hasWritten(in zone: Name) -> Bool { order.contains { $0.zone == zone } }

  /// `snapshot`: number of the snapshot that names the record. `replaced`: versions on which the
  /// record was made. `version`: which one it is, of a sealed zone without a local change.
  mutating func put(
    _ record: Record, snapshot: Int64? = nil, replacing replaced: [Record?] = [],
    version: RecordVersion? = nil
  ) throws(StorageError) {
    let stored = record.plain
    try recordWrite(record.key, stored)
    written[record.key]?.version = version
    if snapshot != nil { named.insert(record.key) }
    // A tombstone without a tag stands for no record, or for one that the relay has lost.
    let versions = replaced.compactMap { $0 }.filter { version in
      !(version.isDeleted && version.tag == 0) && !version.isSame(as: record)
    }
    var prints = versions.map { VersionFingerprint(of: $0) }
    let included = record.includes + versions.flatMap(\.includes)
    if !included.isEmpty {
      // A record names them with each of its versions.
      let known = try ancestors(record.key)
      prints = included.filter { !known.contains($0) && !prints.contains($0) } + prints
    }
    if !prints.isEmpty { ancestorsPut[record.key, default: []] += prints }
    changes.append(.putRecord(stored, snapshot: snapshot, replacing: prints, version: version))
  }

  /// Returns the version that is held; nil if there is none, or it has a local change.
  func version(_ key: RecordKey) throws(StorageError) -> RecordVersion? {
    if let written = written[key] { return written.version }
    return droppedKeys.contains(key) ? nil : try store.version(key)
  }

  /// Returns all records of the zone, deleted ones included, by name.
  func allRecords(zone: Name) throws(StorageError) -> [Record] {
    var records = try store.allRecords().filter {
      $0.zone == zone && written[$0.key] == nil && !droppedKeys.contains($0.key)
    }
    records += order.filter { $0.zone == zone }.compactMap { written[$0]?.now }
    return records.sorted { $0.name < $1.name }
  }

  /// Returns the fingerprints of versions that the record has replaced.
  func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint] {
    let isNew = removedKeys.contains(key) || droppedKeys.contains(key)
    return (isNew ? [] : try store.ancestors(key)) + (ancestorsPut[key] ?? [])
  }

  mutating func removeRecord(_ key: RecordKey) throws(StorageError) {
    try recordWrite(key, nil)
    removedKeys.insert(key)
    ancestorsPut[key] = nil
    changes.append(.removeRecord(key))
  }

  private mutating func recordWrite(_ key: RecordKey, _ record: Record?) throws(StorageError) {
    if written[key] == nil {
      written[key] = Written(before: try self.record(key), now: record)
      order.append(key)
    } else {
      written[key]?.now = record
      written[key]?.version = nil
    }
  }

  // MARK: snapshots and lost records

  mutating func beginSnapshot() { named.removeAll() }

  mutating func markNamed(_ key: RecordKey, snapshot: Int64) {
    guard named.insert(key).inserted else { return }
    changes.append(.markInSnapshot(key, snapshot: snapshot))
  }

  func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord] {
    try store.unnamed(bySnapshot: number).filter { !named.contains($0.key) }
  }

  /// Removes records that a snapshot did not name. There may be many, so only what must be reported
  /// of each is kept.
  mutating func drop(_ records: [UnnamedRecord]) {
    guard !records.isEmpty else { return }
    let keys = records.map(\.key)
    dropped += records
    droppedKeys.formUnion(keys)
    changes.append(.removeRecords(keys))
  }

  mutating func markLost(_ key: RecordKey) {
    // The end of the snapshot treats the record as named.
    named.insert(key)
    changes.append(.markLost(key))
  }

  /// Returns false for a record that the transaction has written.
  func isLost(_ key: RecordKey) throws(StorageError) -> Bool {
    if written[key] != nil { return false }
    return try store.isLost(key)
  }

  /// Returns the tags greater than `tag` that any record or outbox entry refers to.
  func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag] {
    var tags = try store.tags(after: tag)
    for entry in outbox.entries {
      tags += [entry.base?.tag ?? 0, entry.knownTag].filter { $0 > tag }
    }
    return tags
  }

  func greatestTag() throws(StorageError) -> ChangeTag {
    outbox.entries.reduce(try store.greatestTag()) { max($0, $1.base?.tag ?? 0, $1.knownTag) }
  }

  // MARK: the outbox and stored values

  mutating func allocateNumber() -> Int64 { outbox.allocateNumber() }

  mutating func put(_ entry: OutboxEntry) {
    outbox.put(entry)
    changes.append(.putEntry(entry))
  }

  mutating func remove(_ entry: OutboxEntry) {
    outbox.remove(entry.number)
    changes.append(.removeEntry(number: entry.number))
  }

  mutating func putChunk(_ chunk: HeldChunk) { changes.append(.putChunk(chunk)) }

  mutating func removeChunk(_ hash: ChunkHash) { changes.append(.removeChunk(hash)) }

  mutating func setIdentity(_ identity: HomeIdentity) { changes.append(.setIdentity(identity)) }

  mutating func setCursor(_ cursor: ChangeToken?) { changes.append(.setCursor(cursor)) }

  /// Returns the cursor that the store has after this transaction.
  func storedCursor() throws(StorageError) -> ChangeToken? {
    for case .setCursor(let cursor) in changes.reversed() { return cursor }
    return try store.cursor()
  }

  mutating func setValue(_ key: String, _ value: String?) {
    changes.append(.setValue(key: key, value))
  }

  // MARK: commit

  /// Makes the transaction durable.
  mutating func commit() throws(StorageError) -> Outcome {
    if !changes.isEmpty { try store.write(changes) }
    let list = order.compactMap {
      key -> (key: RecordKey, before: Record?, now: Record?)? in
      guard let written = written[key] else { return nil }
      return (key, written.before, written.now)
    }
    let outcome = Outcome(dropped: dropped, written: list)
    discardChanges()
    return outcome
  }

  private mutating func discardChanges() {
    changes.removeAll()
    written.removeAll()
    order.removeAll()
    ancestorsPut.removeAll()
    read.removeAll()
    named.removeAll()
    dropped.removeAll()
    droppedKeys.removeAll()
    removedKeys.removeAll()
  }
}

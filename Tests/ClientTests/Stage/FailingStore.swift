import LockstepModel
import LockstepStorage

/// A store whose writes can be made to fail.
final class FailingStore: ReplicaStore {
  var error: StorageError?
  private let store: MemoryReplicaStore

  init(_ store: MemoryReplicaStore) { self.store = store }

  var incarnation: String? { store.incarnation }
  func identity() throws(StorageError) -> HomeIdentity? { try store.identity() }
  func record(_ key: RecordKey) throws(StorageError) -> Record? { try store.record(key) }
  func records(zone: Name, type: Name?) throws(StorageError) -> [Record] {
    try store.records(zone: zone, type: type)
  }
  func allRecords() throws(StorageError) -> [Record] { try store.allRecords() }
  func cursor() throws(StorageError) -> ChangeToken? { try store.cursor() }
  func outbox() throws(StorageError) -> [OutboxEntry] { try store.outbox() }
  func value(_ key: String) throws(StorageError) -> String? { try store.value(key) }
  func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord] {
    try store.unnamed(bySnapshot: number)
  }
  func records(after key: RecordKey?, limit: Int) throws(StorageError) -> [Record] {
    try store.records(after: key, limit: limit)
  }
  func lostRecords(limit: Int, bytes: Int) throws(StorageError) -> [Record] {
    try store.lostRecords(limit: limit, bytes: bytes)
  }
  func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint] {
    try store.ancestors(key)
  }
  func version(_ key: RecordKey) throws(StorageError) -> RecordVersion? {
    try store.version(key)
  }
  func isLost(_ key: RecordKey) throws(StorageError) -> Bool { try store.isLost(key) }
  func greatestTag() throws(StorageError) -> ChangeTag { try store.greatestTag() }
  func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag] {
    try store.tags(after: tag)
  }
  func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    try store.chunks(hashes)
  }
  func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    try store.chunks(after: hash, limit: limit)
  }
  func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    try store.namedChunks(hashes)
  }
  func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    try store.chunkFiles(numbers)
  }
  func write(_ changes: [ReplicaChange]) throws(StorageError) {
    if let error { throw error }
    try store.write(changes)
  }
}

/// A store that counts its reads.
final class CountingStore: ReplicaStore {
  /// Number of reads of a single record.
  private(set) var lookups = 0
  /// Number of records read in lists.
  private(set) var recordsRead = 0
  private let store: MemoryReplicaStore

  init(_ store: MemoryReplicaStore) { self.store = store }

  var incarnation: String? { store.incarnation }
  func identity() throws(StorageError) -> HomeIdentity? { try store.identity() }
  func record(_ key: RecordKey) throws(StorageError) -> Record? {
    lookups += 1
    return try store.record(key)
  }
  func records(zone: Name, type: Name?) throws(StorageError) -> [Record] {
    counted(try store.records(zone: zone, type: type))
  }
  func allRecords() throws(StorageError) -> [Record] { counted(try store.allRecords()) }
  func cursor() throws(StorageError) -> ChangeToken? { try store.cursor() }
  func outbox() throws(StorageError) -> [OutboxEntry] { try store.outbox() }
  func value(_ key: String) throws(StorageError) -> String? { try store.value(key) }
  func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord] {
    try store.unnamed(bySnapshot: number)
  }
  func records(after key: RecordKey?, limit: Int) throws(StorageError) -> [Record] {
    counted(try store.records(after: key, limit: limit))
  }
  func lostRecords(limit: Int, bytes: Int) throws(StorageError) -> [Record] {
    counted(try store.lostRecords(limit: limit, bytes: bytes))
  }
  func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint] {
    try store.ancestors(key)
  }
  func version(_ key: RecordKey) throws(StorageError) -> RecordVersion? {
    try store.version(key)
  }
  func isLost(_ key: RecordKey) throws(StorageError) -> Bool { try store.isLost(key) }
  func greatestTag() throws(StorageError) -> ChangeTag { try store.greatestTag() }
  func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag] {
    try store.tags(after: tag)
  }
  func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    try store.chunks(hashes)
  }
  func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    try store.chunks(after: hash, limit: limit)
  }
  func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    try store.namedChunks(hashes)
  }
  func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    try store.chunkFiles(numbers)
  }
  func write(_ changes: [ReplicaChange]) throws(StorageError) { try store.write(changes) }

  private func counted(_ records: [Record]) -> [Record] {
    recordsRead += records.count
    return records
  }
}

import LockstepModel

/// Reference implementation of a device's store, in memory: for simulated and benchmark devices,
/// and as the definition of the others' behaviour. Every write is atomic, so a crash leaves the
/// state as it is; `copy` keeps a copy of it.
package final class MemoryReplicaStore: ReplicaStore {
  struct State {
    var identity: HomeIdentity?
    var records: [RecordKey: Record] = [:]
    /// Sorted keys of `records`: the order of a dictionary differs between processes.
    var order: [RecordKey] = []
    /// Number of the last snapshot that named a record, or `lost`.
    var marks: [RecordKey: Int64] = [:]
    /// Fingerprints of the versions that a record has replaced, oldest first.
    var ancestors: [RecordKey: [VersionFingerprint]] = [:]
    /// Held versions of sealed zones.
    var versions: [RecordKey: RecordVersion] = [:]
    var cursor: ChangeToken?
    /// Sorted by number.
    var outbox: [OutboxEntry] = []
    var notes: [String: String] = [:]
    /// Sorted by hash.
    var chunks: [HeldChunk] = []
    /// Number of held records that name a chunk.
    var uses: [ChunkHash: Int] = [:]
  }

  private(set) var state: State
  package var incarnation: String?

  /// Mark of a record that the relay has lost.
  private static let lost: Int64 = -1

  package convenience init() { self.init(State()) }

  private init(_ state: State) { self.state = state }

  /// Returns an independent store with the same content.
  package func copy() -> MemoryReplicaStore { MemoryReplicaStore(state) }

  package func identity() throws(StorageError) -> HomeIdentity? { state.identity }

  package func record(_ key: RecordKey) throws(StorageError) -> Record? { state.records[key] }

  package func records(zone: Name, type: Name?) throws(StorageError) -> [Record] {
    state.order.compactMap { key in
      guard key.zone == zone, let record = state.records[key], !record.isDeleted else { return nil }
      return type == nil || record.type == type ? record : nil
    }
  }

  package func allRecords() throws(StorageError) -> [Record] {
    state.order.compactMap { state.records[$0] }
  }

  package func cursor() throws(StorageError) -> ChangeToken? { state.cursor }

  package func outbox() throws(StorageError) -> [OutboxEntry] { state.outbox }

  package func value(_ key: String) throws(StorageError) -> String? { state.notes[key] }

  package func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord] {
    state.order.compactMap { key in
      let mark = state.marks[key]
      guard mark != number, mark != MemoryReplicaStore.lost, let record = state.records[key] else {
        return nil
      }
      return UnnamedRecord(
        key: key, type: record.type, modifiedAt: record.modifiedAt, device: record.device,
        tag: record.tag, isDeleted: record.isDeleted)
    }
  }

  package func lostRecords(limit: Int, bytes: Int) throws(StorageError) -> [Record] {
    var lost: [Record] = []
    var bytesLeft = bytes
    for key in state.order where state.marks[key] == MemoryReplicaStore.lost {
      guard lost.count < limit, let record = state.records[key] else { break }
      bytesLeft -= record.fields?.count ?? 0
      if bytesLeft < 0, !lost.isEmpty { break }
      lost.append(record)
    }
    return lost
  }

  package func isLost(_ key: RecordKey) throws(StorageError) -> Bool {
    state.marks[key] == MemoryReplicaStore.lost
  }

  package func records(after key: RecordKey?, limit: Int) throws(StorageError) -> [Record] {
    let following = state.order.lazy.filter { place in key.map { $0 < place } ?? true }
    return following.prefix(limit).compactMap { place in self.state.records[place] }
  }

  package func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint] {
    state.ancestors[key] ?? []
  }

  package func version(_ key: RecordKey) throws(StorageError) -> RecordVersion? {
    state.versions[key]
  }

  package func greatestTag() throws(StorageError) -> ChangeTag {
    state.order.reduce(0) { max($0, state.records[$1]?.tag ?? 0) }
  }

  package func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag] {
    state.order.compactMap { state.records[$0]?.tag }.filter { $0 > tag }
  }

  package func write(_ changes: [ReplicaChange]) throws(StorageError) {
    for change in changes {
      switch change {
      case .setIdentity(let identity): state.identity = identity
      case .putRecord(let record, let snapshot, let replaced, let version):
        put(record, snapshot)
        state.versions[record.key] = version
        guard !replaced.isEmpty else { break }
        let all = state.ancestors[record.key, default: []] + replaced
        state.ancestors[record.key] = all.suffix(Limits.ancestors)
      case .markInSnapshot(let key, let snapshot): mark(key, snapshot)
      case .markLost(let key): mark(key, MemoryReplicaStore.lost)
      case .removeRecord(let key): remove(key)
      case .removeRecords(let keys): for key in keys { remove(key) }
      case .setCursor(let cursor): state.cursor = cursor
      case .putEntry(let entry):
        let position = position(of: entry.number)
        if position < state.outbox.count, state.outbox[position].number == entry.number {
          state.outbox[position] = entry
        } else {
          state.outbox.insert(entry, at: position)
        }
      case .removeEntry(let number):
        let position = position(of: number)
        guard position < state.outbox.count, state.outbox[position].number == number else { break }
        state.outbox.remove(at: position)
      case .setValue(let key, let value): state.notes[key] = value
      case .putChunk(let chunk):
        state.remove(chunk.hash)
        state.chunks.insert(chunk, at: state.position(of: chunk.hash))
      case .removeChunk(let hash): state.remove(hash)
      }
    }
  }

  private func put(_ record: Record, _ snapshot: Int64?) {
    let key = record.key
    state.marks[key] = max(state.marks[key] ?? 0, snapshot ?? 0)
    state.replace(state.records[key]?.chunks ?? [], by: record.chunks)
    if state.records.updateValue(record, forKey: key) == nil {
      state.order.insert(key, at: position(of: key))
    }
  }

  private func mark(_ key: RecordKey, _ mark: Int64) {
    if state.records[key] != nil { state.marks[key] = mark }
  }

  private func remove(_ key: RecordKey) {
    state.marks[key] = nil
    state.ancestors[key] = nil
    state.versions[key] = nil
    guard let gone = state.records.removeValue(forKey: key) else { return }
    state.replace(gone.chunks, by: [])
    state.order.remove(at: position(of: key))
  }

  /// Returns the index of the entry of this number, or the index at which to insert it.
  private func position(of number: Int64) -> Int {
    state.outbox.lowerBound { $0.number < number }
  }

  private func position(of key: RecordKey) -> Int {
    state.order.lowerBound { $0 < key }
  }
}

/// Chunks of files in the home.
extension MemoryReplicaStore {
  package func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    hashes.compactMap { state.chunk($0) }
  }

  package func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    let rest = state.chunks.drop { chunk in hash.map { chunk.hash <= $0 } ?? false }
    return Array(rest.prefix(limit))
  }

  package func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    hashes.filter { state.uses[$0] != nil }
  }

  package func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    let known = Set(state.chunks.map(\.file))
    return numbers.filter { known.contains($0) }
  }
}

extension MemoryReplicaStore.State {
  func chunk(_ hash: ChunkHash) -> HeldChunk? {
    let index = position(of: hash)
    guard index < chunks.count, chunks[index].hash == hash else { return nil }
    return chunks[index]
  }

  mutating func remove(_ hash: ChunkHash) {
    if chunk(hash) != nil { chunks.remove(at: position(of: hash)) }
  }

  /// Returns the index of the chunk of this hash, or the index at which to insert it.
  func position(of hash: ChunkHash) -> Int {
    chunks.lowerBound { $0.hash < hash }
  }

  /// Counts a record whose chunks change from `old` to `new`.
  mutating func replace(_ old: [ChunkHash], by new: [ChunkHash]) {
    var sum = ChunkUses()
    sum.replace(old, by: new)
    for use in sum.changes {
      let count = uses[use.hash, default: 0] + use.change
      uses[use.hash] = count > 0 ? count : nil
    }
  }
}

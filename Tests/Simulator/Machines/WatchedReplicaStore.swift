import LockstepModel
import LockstepStorage

/// A device's store with checks: each write is compared with the ledger and reported to the causal
/// history, and it fails if the fault plan says so.
package final class WatchedReplicaStore: ReplicaStore {
  private let backing = MemoryReplicaStore()
  private let watch: ReplicaWatch
  private var failsAtWrite: Int?
  /// Virtual time until which the disk is full. `isFullnessMet`: true if a write has failed by it.
  private var fullUntil: Int64 = 0
  private var isFullnessMet = true

  /// Injected bug, to prove that the checkers detect it.
  package var breakage: Breakage?

  package var incarnation: String? { backing.incarnation }

  package init(watch: ReplicaWatch) { self.watch = watch }

  /// Makes the `count`-th write from now fail.
  package func fail(atWrite count: Int) { failsAtWrite = count }

  /// Makes all writes fail until this time, as on a full disk.
  package func fill(until time: Int64) {
    fullUntil = time
    isFullnessMet = false
  }

  /// Cancels the failure that was planned, as a restart does.
  package func repair() { failsAtWrite = nil }

  package func heal() {
    repair()
    fullUntil = 0
  }

  /// Injected bug: drops what was not sent, to prove that the checkers detect it.
  package func loseOutbox() throws(StorageError) {
    let entries = try backing.outbox()
    try backing.write(entries.map { .removeEntry(number: $0.number) })
  }

  package func write(_ changes: [ReplicaChange]) throws(StorageError) {
    if let count = failsAtWrite {
      failsAtWrite = count > 1 ? count - 1 : nil
      if count <= 1 {
        watch.environment.countFault(.failReplica)
        if breakage == .movesCursorFirst { try backing.write(changes.filter(\.isCursor)) }
        throw .diskFull(path: "simulated")
      }
    }
    if watch.environment.timeline.now < fullUntil {
      if !isFullnessMet { watch.environment.countFault(.fillDisk) }
      isFullnessMet = true
      throw .diskFull(path: "simulated")
    }
    var changes = breakage == .forgetsLosses ? changes.filter { !$0.isLoss } : changes
    if let breakage { changes = try watch.changes(changes, brokenBy: breakage, backing) }
    let before = try ReplicaWatch.View(backing, touchedBy: changes)
    try backing.write(changes)
    let after = try ReplicaWatch.View(backing, touchedBy: changes)
    watch.recordWrite(changes, before: before, after: after, in: backing)
  }

  package func identity() throws(StorageError) -> HomeIdentity? { try backing.identity() }

  package func record(_ key: RecordKey) throws(StorageError) -> Record? {
    try backing.record(key)
  }

  package func records(zone: Name, type: Name?) throws(StorageError) -> [Record] {
    try backing.records(zone: zone, type: type)
  }

  package func allRecords() throws(StorageError) -> [Record] { try backing.allRecords() }

  package func records(after key: RecordKey?, limit: Int) throws(StorageError) -> [Record] {
    try backing.records(after: key, limit: limit)
  }

  package func ancestors(_ key: RecordKey) throws(StorageError) -> [VersionFingerprint] {
    try backing.ancestors(key)
  }

  package func version(_ key: RecordKey) throws(StorageError) -> RecordVersion? {
    try backing.version(key)
  }

  package func cursor() throws(StorageError) -> ChangeToken? { try backing.cursor() }

  package func outbox() throws(StorageError) -> [OutboxEntry] { try backing.outbox() }

  package func value(_ key: String) throws(StorageError) -> String? { try backing.value(key) }

  package func unnamed(bySnapshot number: Int64) throws(StorageError) -> [UnnamedRecord] {
    try backing.unnamed(bySnapshot: number)
  }

  package func lostRecords(limit: Int, bytes: Int) throws(StorageError) -> [Record] {
    try backing.lostRecords(limit: limit, bytes: bytes)
  }

  package func isLost(_ key: RecordKey) throws(StorageError) -> Bool { try backing.isLost(key) }

  package func greatestTag() throws(StorageError) -> ChangeTag { try backing.greatestTag() }

  package func tags(after tag: ChangeTag) throws(StorageError) -> [ChangeTag] {
    try backing.tags(after: tag)
  }

  package func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    try backing.chunks(hashes)
  }

  package func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    try backing.chunks(after: hash, limit: limit)
  }

  package func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    try backing.namedChunks(hashes)
  }

  package func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    try backing.chunkFiles(numbers)
  }
}

extension ReplicaChange {
  fileprivate var isCursor: Bool {
    if case .setCursor = self { true } else { false }
  }

  fileprivate var isLoss: Bool {
    if case .markLost = self { true } else { false }
  }
}

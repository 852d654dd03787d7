import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

struct WriteTransactionTests {
  private func record(_ name: String, _ modifiedAt: Int64) -> Record {
    Record(
      zone: TestApp.zone, name: Name(trusted: name), type: TestApp.note, fields: [123, 125],
      modifiedAt: modifiedAt, device: DeviceID(rawValue: 1), tag: 1)
  }

  @Test func aTransactionSeesItsOwnWrites() throws {
    let store = MemoryReplicaStore()
    var ledger = WriteTransaction(store: store)
    try ledger.put(record("a", 1))
    #expect(try ledger.record(.desk("a"))?.modifiedAt == 1)
    #expect(try store.record(.desk("a")) == nil)
    try ledger.removeRecord(.desk("a"))
    #expect(try ledger.record(.desk("a")) == nil)
  }

  @Test func theCommitTellsWhatStoodBeforeAndWhatStandsNow() throws {
    let store = MemoryReplicaStore()
    try store.write([.putRecord(record("b", 1))])
    var ledger = WriteTransaction(store: store)
    try ledger.put(record("b", 2))
    try ledger.put(record("a", 3))
    try ledger.put(record("b", 4))
    let written = try ledger.commit().written
    #expect(written.map(\.key) == [.desk("b"), .desk("a")])
    #expect(written.map { $0.before?.modifiedAt } == [1, nil])
    #expect(written.map { $0.now?.modifiedAt } == [4, 3])
    #expect(try store.record(.desk("b"))?.modifiedAt == 4)
    #expect(try ledger.commit().written.isEmpty)
  }

  @Test func aRecordIsReadOnceATransaction() throws {
    let store = CountingStore(MemoryReplicaStore())
    var ledger = WriteTransaction(store: store)
    #expect(try ledger.record(.desk("a")) == nil)
    _ = try ledger.record(.desk("a"))
    try ledger.put(record("a", 1))
    #expect(store.lookups == 1)
    _ = try ledger.commit()
    #expect(try ledger.record(.desk("a"))?.modifiedAt == 1)
  }

  @Test func whatASnapshotNamedInThisTransactionIsNotGone() throws {
    let store = MemoryReplicaStore()
    try store.write(["a", "b", "c", "d"].map { .putRecord(record($0, 1)) })
    var ledger = WriteTransaction(store: store)
    ledger.beginSnapshot()
    ledger.name(.desk("a"), snapshot: 7)
    try ledger.put(record("b", 2), snapshot: 7)
    ledger.lose(.desk("c"))
    let unnamed = try ledger.unnamed(bySnapshot: 7)
    #expect(unnamed.map(\.key) == [.desk("d")])
    ledger.drop(unnamed)
    #expect(try ledger.record(.desk("d")) == nil)
    #expect(try ledger.commit().dropped == unnamed)
    #expect(try store.lostRecords(limit: 9, bytes: 9).map(\.name.text) == ["c"])
    #expect(try store.allRecords().map(\.name.text) == ["a", "b", "c"])
    // A snapshot that begins in the middle of a transaction names all records again.
    ledger.name(.desk("a"), snapshot: 8)
    ledger.beginSnapshot()
    ledger.name(.desk("a"), snapshot: 9)
    _ = try ledger.commit()
    #expect(try store.unnamed(bySnapshot: 9).map(\.key) == [.desk("b")])
  }

  @Test func whatIsWrittenIsNotLost() throws {
    let store = MemoryReplicaStore()
    try store.write([.putRecord(record("a", 1)), .loseRecord(.desk("a"))])
    var ledger = WriteTransaction(store: store)
    #expect(try ledger.isLost(.desk("a")))
    try ledger.put(record("a", 2))
    #expect(try !ledger.isLost(.desk("a")))
  }

  @Test func aFailedCommitLeavesTheStoreAsItWas() throws {
    let memory = MemoryReplicaStore()
    let store = FailingStore(memory)
    var ledger = WriteTransaction(store: store)
    store.error = .diskFull(path: "home")
    try ledger.put(record("a", 1))
    #expect(throws: StorageError.diskFull(path: "home")) { try ledger.commit() }
    store.error = nil
    try ledger.reload()
    #expect(try ledger.record(.desk("a")) == nil)
    #expect(!ledger.hasChanges)
  }
}

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
    var transaction = WriteTransaction(store: store)
    try transaction.put(record("a", 1))
    #expect(try transaction.record(.desk("a"))?.modifiedAt == 1)
    #expect(try store.record(.desk("a")) == nil)
    try transaction.removeRecord(.desk("a"))
    #expect(try transaction.record(.desk("a")) == nil)
  }

  @Test func theCommitTellsWhatStoodBeforeAndWhatStandsNow() throws {
    let store = MemoryReplicaStore()
    try store.write([.putRecord(record("b", 1))])
    var transaction = WriteTransaction(store: store)
    try transaction.put(record("b", 2))
    try transaction.put(record("a", 3))
    try transaction.put(record("b", 4))
    let written = try transaction.commit().written
    #expect(written.map(\.key) == [.desk("b"), .desk("a")])
    #expect(written.map { $0.before?.modifiedAt } == [1, nil])
    #expect(written.map { $0.now?.modifiedAt } == [4, 3])
    #expect(try store.record(.desk("b"))?.modifiedAt == 4)
    #expect(try transaction.commit().written.isEmpty)
  }

  @Test func aRecordIsReadOnceATransaction() throws {
    let store = CountingStore(MemoryReplicaStore())
    var transaction = WriteTransaction(store: store)
    #expect(try transaction.record(.desk("a")) == nil)
    _ = try transaction.record(.desk("a"))
    try transaction.put(record("a", 1))
    #expect(store.lookups == 1)
    _ = try transaction.commit()
    #expect(try transaction.record(.desk("a"))?.modifiedAt == 1)
  }

  @Test func whatASnapshotNamedInThisTransactionIsNotGone() throws {
    let store = MemoryReplicaStore()
    try store.write(["a", "b", "c", "d"].map { .putRecord(record($0, 1)) })
    var transaction = WriteTransaction(store: store)
    transaction.beginSnapshot()
    transaction.markNamed(.desk("a"), snapshot: 7)
    try transaction.put(record("b", 2), snapshot: 7)
    transaction.markLost(.desk("c"))
    let unnamed = try transaction.unnamed(bySnapshot: 7)
    #expect(unnamed.map(\.key) == [.desk("d")])
    transaction.drop(unnamed)
    #expect(try transaction.record(.desk("d")) == nil)
    #expect(try transaction.commit().dropped == unnamed)
    #expect(try store.lostRecords(limit: 9, bytes: 9).map(\.name.text) == ["c"])
    #expect(try store.allRecords().map(\.name.text) == ["a", "b", "c"])
    // A snapshot that begins in the middle of a transaction names all records again.
    transaction.markNamed(.desk("a"), snapshot: 8)
    transaction.beginSnapshot()
    transaction.markNamed(.desk("a"), snapshot: 9)
    _ = try transaction.commit()
    #expect(try store.unnamed(bySnapshot: 9).map(\.key) == [.desk("b")])
  }

  @Test func whatIsWrittenIsNotLost() throws {
    let store = MemoryReplicaStore()
    try store.write([.putRecord(record("a", 1)), .markLost(.desk("a"))])
    var transaction = WriteTransaction(store: store)
    #expect(try transaction.isLost(.desk("a")))
    try transaction.put(record("a", 2))
    #expect(try !transaction.isLost(.desk("a")))
  }

  @Test func aFailedCommitLeavesTheStoreAsItWas() throws {
    let memory = MemoryReplicaStore()
    let store = FailingStore(memory)
    var transaction = WriteTransaction(store: store)
    store.error = .diskFull(path: "home")
    try transaction.put(record("a", 1))
    #expect(throws: StorageError.diskFull(path: "home")) { try transaction.commit() }
    store.error = nil
    try transaction.reload()
    #expect(try transaction.record(.desk("a")) == nil)
    #expect(!transaction.hasChanges)
  }
}

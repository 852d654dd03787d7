import Changes
import Storage
import Testing

@testable import Devices

struct LedgerTests {
  private func record(_ name: String, _ modifiedAt: Int64) -> Record {
    Record(
      zone: TestApp.zone, name: Name(trusted: name), type: TestApp.note, fields: [123, 125],
      modifiedAt: modifiedAt, device: DeviceID(rawValue: 1), tag: 1)
  }

  @Test func aTransactionSeesItsOwnWrites() throws {
    let store = MemoryReplicaStore()
    var ledger = Ledger(store: store)
    try ledger.put(record("a", 1))
    #expect(try ledger.record(.desk("a"))?.modifiedAt == 1)
    #expect(try store.record(.desk("a")) == nil)
    try ledger.removeRecord(.desk("a"))
    #expect(try ledger.record(.desk("a")) == nil)
  }

  @Test func theCommitTellsWhatStoodBeforeAndWhatStandsNow() throws {
    let store = MemoryReplicaStore()
    try store.write([.putRecord(record("b", 1))])
    var ledger = Ledger(store: store)
    try ledger.put(record("b", 2))
    try ledger.put(record("a", 3))
    try ledger.put(record("b", 4))
    let written = try ledger.commit()
    #expect(written.map(\.key) == [.desk("b"), .desk("a")])
    #expect(written.map { $0.before?.modifiedAt } == [1, nil])
    #expect(written.map { $0.now?.modifiedAt } == [4, 3])
    #expect(try store.record(.desk("b"))?.modifiedAt == 4)
    #expect(try ledger.commit().isEmpty)
  }

  @Test func aFailedCommitLeavesTheStoreAsItWas() throws {
    let memory = MemoryReplicaStore()
    let store = FailingStore(memory)
    var ledger = Ledger(store: store)
    store.error = .diskFull(path: "home")
    try ledger.put(record("a", 1))
    #expect(throws: StorageError.diskFull(path: "home")) { try ledger.commit() }
    store.error = nil
    try ledger.reload()
    #expect(try ledger.record(.desk("a")) == nil)
    #expect(!ledger.hasChanges)
  }
}

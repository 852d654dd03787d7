import Changes
import Storage
import StorageContract
import Testing

/// The reference holds to what every store must do.
struct MemoryZoneStoreTests {
  @Test(arguments: ZoneStory.all) func holds(_ story: ZoneStory) throws {
    let scene = ZoneScene(MemoryZoneStore(rules: story.rules)) { store in
      (store as? MemoryZoneStore)?.copy() ?? store
    }
    try story.tell(scene)
  }

  @Test func aCopyIsAStoreOfItsOwn() throws {
    let store = MemoryZoneStore()
    let account = AccountID(rawValue: 1)
    let create = CommitRequest.createAccount(
      account, generation: 1, label: "", device: nil, pairing: nil)
    let copy = store.copy()
    #expect(try store.commit([create], wall: 0) == [.done])
    #expect(try copy.read(.accountCount) == .count(0))
    #expect(try copy.commit([create], wall: 0) == [.done])
  }

  @Test(arguments: [1, 2] as [UInt64]) func walksInStepWithItself(seed: UInt64) throws {
    var walk = ZoneWalk(seed: seed)
    try walk.lead(MemoryZoneStore(rules: ZoneWalk.rules), steps: 500) {
      ($0 as? MemoryZoneStore)?.copy() ?? $0
    }
  }
}

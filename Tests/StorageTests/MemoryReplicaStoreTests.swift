import LockstepStorage
import StorageContract
import Testing

/// The reference fulfils the contract of every device's store.
struct MemoryReplicaStoreTests {
  @Test(arguments: ReplicaStory.all) func holds(_ story: ReplicaStory) throws {
    let scene = ReplicaScene(MemoryReplicaStore()) { store in
      (store as? MemoryReplicaStore)?.copy() ?? store
    }
    try story.tell(scene)
  }

  @Test(arguments: [1, 2] as [UInt64]) func walksInStepWithItself(seed: UInt64) throws {
    var walk = ReplicaWalk(seed: seed)
    try walk.lead(MemoryReplicaStore(), steps: 300) { ($0 as? MemoryReplicaStore)?.copy() ?? $0 }
  }

  @Test func aCopyIsAStoreOfItsOwn() throws {
    let store = MemoryReplicaStore()
    let before = ReplicaChange.setValue(key: "k", "before")
    try store.write([before])
    let copy = store.copy()
    try store.write([.setValue(key: "k", "after")])
    #expect(try copy.value("k") == "before")
    try copy.write([.setValue(key: "k", nil)])
    #expect(try store.value("k") == "after")
  }
}

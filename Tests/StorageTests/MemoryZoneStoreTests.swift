import LockstepModel
import LockstepStorage
import StorageContract
import Testing

/// The reference fulfils the contract of every relay's store.
struct MemoryZoneStoreTests {
  @Test(arguments: ZoneStory.all) func holds(_ story: ZoneStory) throws {
    let scene = ZoneScene(
      MemoryZoneStore(rules: story.rules), reopening: Self.reopening, copying: copying())
    try story.tell(scene)
  }

  @Test(arguments: RunStories.all) func distinguishesItsRuns(_ story: ZoneStory) throws {
    func open(_ store: any ZoneStore, _ run: UInt64) throws -> any ZoneStore {
      let opened = try #require(store as? MemoryZoneStore).copy()
      opened.begin(run: run)
      return opened
    }
    let runs = ZoneScene.Runs(opening: open) { store in
      let copy = Self.reopening(store)
      return { _, run in try open(copy, run) }
    }
    let scene = ZoneScene(
      MemoryZoneStore(rules: story.rules), reopening: Self.reopening, copying: copying(),
      runs: runs)
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

  @Test(arguments: 1...20 as ClosedRange<UInt64>) func hidesNothingFromItsReaders(
    seed: UInt64
  ) throws {
    var walk = FollowerWalk(seed: seed)
    try walk.lead(MemoryZoneStore(rules: ZoneWalk.rules), steps: 1_500, copying: copying())
    #expect(walk.restores > 3 && walk.expiries > 3)
  }

  private static func reopening(_ store: any ZoneStore) -> any ZoneStore {
    (store as? MemoryZoneStore)?.copy() ?? store
  }

  /// Returns copies that are restored under another number each time.
  private func copying() -> (any ZoneStore) throws -> ZoneScene.PutBack {
    var opening: UInt64 = 0
    return { store in
      let copy = try #require(store as? MemoryZoneStore).copy()
      return { _ in
        opening += 1
        let restored = copy.copy()
        restored.restored(opening: opening)
        return restored
      }
    }
  }
}

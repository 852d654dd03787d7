import Storage
import StorageContract
import Testing

/// The reference holds to what every store must do.
struct MemoryZoneStoreTests {
  @Test(arguments: ZoneStory.all) func holds(_ story: ZoneStory) throws {
    let scene = ZoneScene(MemoryZoneStore()) { store in
      (store as? MemoryZoneStore)?.copy() ?? store
    }
    try story.tell(scene)
  }
}

import LockstepStorage
import StorageContract
import Testing

/// The reference holds to what every store for chunks of files must do.
struct MemoryChunkStoreTests {
  @Test(arguments: ChunkStory.all) func holds(_ story: ChunkStory) throws {
    let scene = ChunkScene(MemoryChunkStore()) { store in
      (store as? MemoryChunkStore)?.reopened() ?? store
    }
    try story.tell(scene)
  }
}

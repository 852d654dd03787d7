import LockstepStorage
import StorageContract
import Testing

/// The reference fulfils the contract of every chunk store.
struct MemoryChunkStoreTests {
  @Test(arguments: ChunkStory.all) func holds(_ story: ChunkStory) throws {
    let scene = ChunkScene(MemoryChunkStore()) { store in
      (store as? MemoryChunkStore)?.reopened() ?? store
    }
    try story.tell(scene)
  }
}

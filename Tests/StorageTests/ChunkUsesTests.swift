import LockstepModel
import LockstepStorage
import Testing

struct ChunkUsesTests {
  private func hash(_ seed: UInt8) throws -> ChunkHash {
    try #require(ChunkHash(bytes: [UInt8](repeating: seed, count: 32)))
  }

  @Test func aRecordCountsOnceForEachChunk() throws {
    var uses = ChunkUses()
    uses.replace([], by: [try hash(2), try hash(1), try hash(2)])
    #expect(uses.changes == [ChunkChange(try hash(1), 1), ChunkChange(try hash(2), 1)])
    uses.replace([try hash(1), try hash(1)], by: [])
    #expect(uses.changes == [ChunkChange(try hash(2), 1)])
  }

  @Test func releasedAndReusedChunksAreNoChange() throws {
    var uses = ChunkUses()
    uses.replace([try hash(1), try hash(3)], by: [try hash(3)])
    uses.replace([], by: [try hash(1)])
    #expect(uses.changes.isEmpty)
    uses.replace([try hash(1)], by: [])
    #expect(uses.changes == [ChunkChange(try hash(1), -1)])
  }
}

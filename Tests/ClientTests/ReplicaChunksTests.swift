import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// The chunks of files that records name, in the outbox.
struct ReplicaChunksTests {
  private func hash(_ byte: UInt8) throws -> ChunkHash {
    try #require(ChunkHash(bytes: [UInt8](repeating: byte, count: 32)))
  }

  private func album(_ chunks: ChunkHash...) -> JSONValue {
    ["pieces": .array(chunks.map { .string($0.text) })]
  }

  @Test func aChangeNamesTheChunksThatItsAppFinds() throws {
    var harness = try ReplicaHarness()
    let one = try hash(1)
    let two = try hash(2)
    let made = try harness.edit(.fields("a", TestApp.album, album(one, two, one))).get()
    #expect(made.chunks == [one, two])
    _ = harness.edit(.note("b", "no chunks"))
    try harness.confirmChunks([one, two])
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.map(\.chunks) == [[one, two], []])
    harness.reopen()
    #expect(harness.freezeBatch() == batch)
    try harness.answer(
      batch,
      [
        .saved(name: Name(trusted: "a"), tag: 5), .saved(name: Name(trusted: "b"), tag: 6),
      ])
    #expect(try harness.store.record(.desk("a"))?.chunks == [one, two])
  }

  @Test func aMergedRecordNamesWhatItsFieldsName() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.album, album(try hash(1))))
    try harness.confirmChunks([try hash(1)])
    var server = harness.record("a", TestApp.album, album(try hash(2)), at: 10, tag: 4)
    server.chunks = [try hash(2)]
    try harness.answer(
      try harness.freezeOneBatch(), [.conflict(name: Name(trusted: "a"), record: server)])
    let merged = try harness.freezeOneBatch()
    #expect(merged.mutations.map(\.baseTag) == [4])
    #expect(merged.mutations.map(\.chunks) == [[try hash(1)]])
  }

  @Test func aRecordOfATypeThatNoAppKnowsKeepsItsChunks() throws {
    var harness = try ReplicaHarness()
    var lost = harness.record("a", Name(trusted: "FromLater"), ["z": 1], at: 9, tag: 50)
    lost.chunks = [try hash(7)]
    try harness.apply([lost])
    harness.reportRestore(through: 20)
    harness.page([], from: nil, to: 1 << 32)
    harness.bringBack()
    try harness.confirmChunks(lost.chunks)
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.map(\.chunks) == [lost.chunks])
  }

  @Test func aBatchHasRoomForItsChunks() throws {
    var harness = try ReplicaHarness()
    // Two thousand each: with a third, the batch would name more than `chunksPerBatch`.
    let many = try TestChunk.hashes(2_000)
    let fields: JSONValue = ["pieces": .array(many.map { .string($0.text) })]
    for name in ["a", "b", "c", "d", "e"] { _ = harness.edit(.fields(name, TestApp.album, fields)) }
    try harness.confirmChunks(many)
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.count == 2)
    #expect(batch.mutations.allSatisfy { $0.chunks.count == 2_000 })
  }

  @Test func tooManyChunksAreRefusedAtOnce() throws {
    var harness = try ReplicaHarness()
    let many = try TestChunk.hashes(Limits.chunksPerRecord + 1)
    let fields: JSONValue = ["pieces": .array(many.map { .string($0.text) })]
    let refused = harness.edit(.fields("a", TestApp.album, fields))
    guard case .failure(.refused) = refused else {
      Issue.record("more chunks than a record may name")
      return
    }
    #expect(try harness.store.outbox().isEmpty)
  }
}

import LockstepCrypto
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Orders for chunks of files in the home, and their reports.
struct AgentChunkTests {
  private static let keep = TestDevice.chunkKeepMilliseconds
  private static let cleanup = TestDevice.chunkCleanupMilliseconds

  @Test func aChunkIsKeptAndReadBackWithNoRelayInReach() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    let bytes = TestChunk.bytes(300_000)
    let hash = try device.addChunk(bytes).get()
    #expect(hash.bytes == SHA256.hash(bytes))
    #expect(try device.store.chunks([hash]).map(\.bytes) == [300_000])
    let portions = try device.readChunk(hash).get()
    #expect(portions.flatMap(\.bytes) == bytes)
    #expect(portions.allSatisfy { $0.bytes.count <= Limits.chunkPortionBytes })
    #expect(portions.map(\.isLast) == [false, false, true])
    let part = try device.readChunk(hash, offset: 299_990, count: 5).get()
    #expect(part.flatMap(\.bytes) == Array(bytes[299_990..<299_995]))
    // The next process can read it too.
    try device.restart()
    #expect(try device.readChunk(hash).get().flatMap(\.bytes) == bytes)
  }

  @Test func theSameChunkLiesInTheHomeOnce() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    for _ in 0..<3 { _ = try device.addChunk([1, 2, 3]).get() }
    #expect(device.files.counts == (1, 0))
    #expect(try device.store.chunks(after: nil, limit: 9).count == 1)
    _ = try device.addChunk([]).get()
    #expect(device.files.counts == (2, 0))
  }

  @Test func ordersThatCannotBeDoneAreToldSo() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let large = [UInt8](repeating: 0, count: Limits.chunkBytes + 1)
    #expect(try device.addChunk(large) == .failure(.tooLarge(bytes: large.count)))
    #expect(throws: Never.self) { try device.addChunk(Array(large.dropLast())).get() }
    device.isWorkerStuck = true
    let orders = try (0...Limits.chunkAdds).map { number in
      try device.order { .addChunk($0, [UInt8(number)]) }
    }
    #expect(device.added(orders[Limits.chunkAdds]) == .failure(.busy))
    #expect(device.added(orders[0]) == nil)
    try device.order { _ in .stop }
    device.isWorkerStuck = false
    try device.finishStuckJobs()
    #expect(try device.addChunk([1]) == .failure(.stopping))
    #expect(try device.readChunk(try TestChunk.hash([1])) == .failure(.stopping))
  }

  @Test func aDiskThatFailsIsToldAndNothingIsLeftBehind() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.fail(.diskFull(path: "p"))
    #expect(try device.addChunk([1, 2]) == .failure(.storage(.diskFull(path: "p"))))
    #expect(device.files.counts == (0, 0))
    device.fail(nil)
    #expect(try device.addChunk([1, 2]).get() == TestChunk.hash([1, 2]))
  }

  @Test func ordersBeforeTheHomeWasReadWait() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isWorkerStuck = true
    let adding = try device.order { .addChunk($0, [1, 2]) }
    let hash = try TestChunk.hash([1, 2])
    let reading = try device.order { .readChunk($0, hash, offset: 0, count: 9) }
    #expect(device.added(adding) == nil)
    device.isWorkerStuck = false
    try device.finishStuckJobs()
    #expect(try device.added(adding)?.get() == TestChunk.hash([1, 2]))
    try stage.run()
    // The order of the two is not guaranteed, only that each is answered.
    #expect(device.read(reading) != nil)
  }

  @Test func aFileThatACrashLeftWithoutAChunkIsRemoved() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    let kept = try device.addChunk([1]).get()
    device.isWorkerStuck = true
    _ = try device.order { .addChunk($0, [2]) }
    // The file exists, but no index entry refers to it.
    try device.finishStuckFileJobs()
    #expect(device.files.counts == (2, 0))
    try device.restart()
    try stage.run(Limits.chunkCleanupFirstMilliseconds + 2_000)
    #expect(device.files.counts == (1, 0))
    #expect(try device.readChunk(kept).get().flatMap(\.bytes) == [1])
  }

  @Test func aChunkThatNothingNamesGoesAfterAWhile() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    let named = try device.addChunk([1]).get()
    let idle = try device.addChunk([2]).get()
    let album = EditRequest.album("a", [named])
    #expect(throws: Never.self) { try device.edit(album)?.get() }
    try stage.run(AgentChunkTests.keep - AgentChunkTests.cleanup)
    #expect(try device.store.chunks([idle]).count == 1)
    // A read extends the time for which the chunk is kept.
    _ = try device.readChunk(idle).get()
    try stage.run(AgentChunkTests.keep - AgentChunkTests.cleanup)
    #expect(try device.store.chunks([idle]).count == 1)
    try stage.run(3 * AgentChunkTests.cleanup)
    #expect(try device.store.chunks([named, idle]).map(\.hash) == [named])
    #expect(device.files.counts == (1, 0))
    _ = try device.edit(.fields("a", TestApp.album, ["pieces": []]))
    try stage.run(AgentChunkTests.keep + 3 * AgentChunkTests.cleanup)
    #expect(device.files.counts == (0, 0))
  }

  @Test func aChunkThatALocalChangeOnItsWayNamesStays() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    stage.relay.onMessage = { if case .save = $0 { .ignore } else { nil } }
    stage.relay.onRequest = { $0.target.path.last == "records" ? .ignore : nil }
    let hash = try device.addChunk([1]).get()
    _ = try device.edit(.album("a", [hash]))
    try stage.run()
    guard case .sent = try device.store.outbox().first?.state else {
      Issue.record("nothing is in flight")
      return
    }
    // The shown record no longer names it, but the change in flight does.
    _ = try device.edit(.fields("a", TestApp.album, ["pieces": []]))
    try stage.run(3 * AgentChunkTests.keep)
    #expect(device.files.counts == (1, 0))
  }
}

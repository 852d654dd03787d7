import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Chunks that are read and are not in the home come from the relay, and are kept.
struct AgentDownloadTests {
  private func order(_ device: TestDevice, _ hash: ChunkHash, offset: Int = 0, count: Int = .max)
    throws -> OrderID
  {
    try device.order { .readChunk($0, hash, offset: offset, count: count) }
  }

  @Test func aChunkIsFetchedOnceAndThenReadFromTheHome() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let bytes = TestChunk.bytes(1_000_000)
    let hash = try TestChunk.hash(bytes)
    #expect(try stage.relay.storeChunk(hash, bytes) == nil)
    let whole = try order(device, hash)
    let part = try order(device, hash, offset: 999_999)
    try stage.run()
    #expect(try device.read(whole)?.get().flatMap(\.bytes) == bytes)
    #expect(try device.read(part)?.get().flatMap(\.bytes) == [bytes[999_999]])
    #expect(stage.relay.ranges == [nil])
    #expect(device.progress.last?.direction == .down)
    #expect(device.progress.last?.bytesDone == bytes.count)
    device.isCutOff = true
    try device.restart()
    #expect(try device.readChunk(hash).get().flatMap(\.bytes) == bytes)
  }

  @Test func whatABrokenConnectionLeftIsKept() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    let bytes = TestChunk.bytes(1_000_000)
    let hash = try TestChunk.hash(bytes)
    _ = try stage.relay.storeChunk(hash, bytes)
    device.answerBytes = 10_000
    let whole = try order(device, hash)
    try stage.run(200)
    try device.cut()
    device.answerBytes = nil
    try stage.run(10_000)
    #expect(try device.read(whole)?.get().flatMap(\.bytes) == bytes)
    #expect(stage.relay.ranges.count == 2)
    #expect(stage.relay.ranges.last??.hasPrefix("bytes=") == true)
  }

  @Test func wrongBytesAreNeverToldAsTheChunk() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    stage.relay.onRequest = { head in
      head.method == "GET" && head.target.path.contains("chunks")
        ? .respond(status: 200, headers: [:], body: [6, 6, 6]) : nil
    }
    let read = try order(device, try TestChunk.hash([1, 2, 3]))
    try stage.run(60_000)
    guard case .failure(.refused(let refusal)) = device.read(read) else {
      Issue.record("\(String(describing: device.read(read)))")
      return
    }
    #expect(refusal.code == .hashMismatch)
    #expect(device.files.counts == (0, 0))
  }

  @Test func aRelayThatCannotBeReachedIsTold() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    let read = try order(device, try TestChunk.hash([1]))
    try stage.run(120_000)
    #expect(device.read(read) == .failure(.unreachable(reason: "connection refused")))
    try device.order { _ in .goOffline }
    let other = try order(device, try TestChunk.hash([1]))
    #expect(device.read(other) == .failure(.unreachable(reason: Agent.switchedOff)))
  }

  @Test func aChunkThatIsNowhereIsToldSo() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let read = try order(device, try TestChunk.hash([1]))
    try stage.run(5_000)
    #expect(device.read(read) == .failure(.unavailable))
  }

  @Test func aDamagedFileIsReplacedByTheRelays() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let bytes = TestChunk.bytes(200_000)
    let hash = try device.addChunk(bytes).get()
    _ = try device.edit(.album("a", [hash]))
    try stage.run(3_000)
    try device.damage(hash)
    let first = try order(device, hash)
    try stage.run(3_000)
    #expect(device.read(first) == .failure(.damaged))
    let second = try order(device, hash)
    try stage.run(3_000)
    #expect(try device.read(second)?.get().flatMap(\.bytes) == bytes)
    #expect(device.files.counts.whole == 1)
  }

  @Test func aRelayThatStopsInTheMiddleIsGivenUpAndAskedAgain() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    let bytes = TestChunk.bytes(1_000_000)
    let hash = try TestChunk.hash(bytes)
    _ = try stage.relay.storeChunk(hash, bytes)
    var isFirst = true
    stage.relay.onRequest = { head in
      guard head.method == "GET", head.target.path.contains("chunks"), isFirst else { return nil }
      isFirst = false
      return .ignore
    }
    let read = try order(device, hash)
    try stage.run(Limits.chunkAnswerMilliseconds + 5_000)
    #expect(try device.read(read)?.get().flatMap(\.bytes) == bytes)
  }

  @Test func aDeviceWithoutRoomOnItsDiskIsToldSo() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    _ = try stage.relay.storeChunk(try TestChunk.hash([1]), [1])
    try stage.run()
    device.fail(.diskFull(path: "p"))
    let read = try order(device, try TestChunk.hash([1]))
    try stage.run(3_000)
    #expect(device.read(read) == .failure(.storage(.diskFull(path: "p"))))
    #expect(device.files.counts == (0, 0))
  }
}

import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Chunks are uploaded before the records that name them.
struct AgentUploadTests {
  private func isSaved(_ stage: Stage, _ name: String) throws -> Bool {
    try stage.relay.record(name) != nil
  }

  @Test(arguments: [[Transport.webSocket], [.longPoll], [.poll]])
  func aRecordFollowsItsChunks(_ transports: [Transport]) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: transports)
    try stage.run()
    let one = try device.addChunk(TestChunk.bytes(300_000)).get()
    let two = try device.addChunk([]).get()
    _ = try device.edit(.album("a", [one, two]))
    try stage.run(3_000)
    #expect(try stage.relay.record("a")?.chunks == [one, two])
    #expect(try stage.relay.chunk(one) == TestChunk.bytes(300_000))
    #expect(stage.relay.questions == [[one, two]])
    #expect(stage.relay.puts.sorted() == [one, two].sorted())
    #expect(device.status.state == .inSync)
    // The next version uploads only new chunks.
    let three = try device.addChunk([3]).get()
    _ = try device.edit(.album("a", [one, three]))
    try stage.run(3_000)
    #expect(stage.relay.questions.last == [three])
    #expect(stage.relay.puts.count == 3)
    #expect(try stage.relay.record("a")?.chunks == [one, three])
    #expect(device.progress.contains { $0.direction == .up && $0.bytesDone == 300_000 })
  }

  @Test func otherRecordsGoOnMeanwhile() throws {
    let stage = try Stage()
    stage.relay.onRequest = { $0.method == "PUT" ? .ignore : nil }
    let device = try stage.device(1)
    let chunk = try device.addChunk([1]).get()
    _ = try device.edit(.album("a", [chunk]))
    _ = try device.edit(.note("b", "x"))
    try stage.run()
    #expect(try isSaved(stage, "b"))
    #expect(try !isSaved(stage, "a"))
    #expect(device.status.state == .syncing)
    #expect(device.status.chunksWaiting == 1)
  }

  @Test func aLargeChunkIsNeverInMemoryAsAWhole() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.longPoll])
    try stage.run()
    let bytes = TestChunk.bytes(Limits.chunkBytes)
    let chunk = try device.addChunk(bytes).get()
    device.windowBytes = 64 << 10
    _ = try device.edit(.album("a", [chunk]))
    try stage.run(5_000)
    #expect(try isSaved(stage, "a"))
    // Portions that are being read are in addition to those that wait.
    #expect(device.unsentMax <= Limits.chunkWaitingBytes + 3 * Limits.chunkPortionBytes)
    let reported = device.progress.filter { $0.direction == .up }
    #expect(reported.count >= 2 && reported.count <= 8)
    #expect(reported.map(\.bytesDone) == reported.map(\.bytesDone).sorted())
    #expect(reported.last?.bytesDone == bytes.count)
  }

  @Test func anUploadThatIsCutOffIsResumedByTheQuestion() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let one = try device.addChunk(TestChunk.bytes(500_000)).get()
    let two = try device.addChunk(TestChunk.bytes(500_000, seed: 9)).get()
    device.windowBytes = 4 << 10
    _ = try device.edit(.album("a", [one, two]))
    try stage.run(700)
    #expect(stage.relay.puts.isEmpty)
    try device.cut()
    device.windowBytes = nil
    try stage.run(60_000)
    #expect(try isSaved(stage, "a"))
    #expect(stage.relay.questions.count >= 2)
    #expect(stage.relay.puts.count == 2)
  }

  @Test func aCrashLosesNothingAndSendsNothingTwice() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let one = try device.addChunk([1]).get()
    let two = try device.addChunk([2]).get()
    stage.relay.onRequest = { [relay = stage.relay] head in
      head.method == "PUT" && !relay.puts.isEmpty ? .cut : nil
    }
    _ = try device.edit(.album("a", [one, two]))
    try stage.run(300)
    #expect(stage.relay.puts.count == 1)
    try device.restart()
    stage.relay.onRequest = nil
    try stage.run(10_000)
    #expect(try stage.relay.record("a")?.chunks == [one, two])
    #expect(stage.relay.puts.count == 2)
  }

  @Test func anAnswerThatIsLostIsAskedFor() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let one = try device.addChunk([1]).get()
    var lost = 0
    stage.relay.onRequest = { head in
      guard head.method == "PUT", lost == 0 else { return nil }
      lost += 1
      return .loseAnswer
    }
    _ = try device.edit(.album("a", [one]))
    try stage.run(10_000)
    #expect(stage.relay.puts.count == 1)
    #expect(try isSaved(stage, "a"))
  }

  @Test func retryAfterIsObeyed() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    let one = try device.addChunk([1]).get()
    let busy = Refusal(.overloaded, "busy", retryAfterMilliseconds: 20_000)
    var isFirst = true
    stage.relay.onRequest = { head in
      guard head.method == "PUT", isFirst else { return nil }
      isFirst = false
      return .respond(
        status: 503, headers: ["Content-Type": "application/problem+json", "Retry-After": "20"],
        body: busy.encodedProblem())
    }
    _ = try device.edit(.album("a", [one]))
    try stage.run(19_000)
    #expect(stage.relay.puts.isEmpty)
    try stage.run(10_000)
    #expect(try isSaved(stage, "a"))
  }

  @Test func aQuotaIsShownAndThePersonsSyncTriesAgain() throws {
    var rules = StoreRules()
    rules.chunkBytesPerAccount = 10
    let stage = try Stage(rules)
    let device = try stage.device(1)
    let small = try device.addChunk([1, 2, 3]).get()
    let large = try device.addChunk(TestChunk.bytes(11)).get()
    _ = try device.edit(.album("a", [small]))
    try stage.run(3_000)
    _ = try device.edit(.album("b", [large]))
    _ = try device.edit(.note("c", "x"))
    try stage.run(3_000)
    #expect(try isSaved(stage, "a"))
    #expect(try isSaved(stage, "c"))
    #expect(try !isSaved(stage, "b"))
    #expect(device.status.chunksRefused?.code == .quotaExceeded)
    #expect(device.status.state == .needsPerson)
    #expect(device.status.parkedCount == 0)
    let puts = stage.relay.puts.count
    try stage.run(600_000)
    #expect(stage.relay.puts.count == puts)
    // A version with a smaller chunk fits.
    let other = try device.addChunk([7]).get()
    _ = try device.edit(.album("b", [other]))
    _ = try device.order { .syncNow($0) }
    try stage.run(3_000)
    #expect(try isSaved(stage, "b"))
    #expect(device.status.chunksRefused == nil)
    #expect(device.status.state == .inSync)
  }

  /// The account's quota is full: a change that does not fit waits and is shown, and is sent
  /// automatically when another device has freed space.
  @Test func aRecordThatHasNoRoomWaitsUntilThereIsSome() throws {
    var rules = StoreRules()
    rules.recordsPerAccount = 2
    rules.historyMilliseconds = 100_000
    let stage = try Stage(rules)
    let device = try stage.device(1)
    for name in ["a", "b", "c"] { _ = try device.edit(.note(name, "x")) }
    try stage.run(3_000)
    #expect(try isSaved(stage, "a") && isSaved(stage, "b"))
    #expect(try !isSaved(stage, "c"))
    #expect(device.status.parked.map(\.refusal.code) == [.quotaExceeded])
    #expect(device.status.state == .needsPerson)
    // A delete is always possible; the tombstone frees its space when it is forgotten.
    _ = try device.edit(.delete("a"))
    try stage.run(3_000)
    #expect(try !isSaved(stage, "a"))
    #expect(device.status.parkedCount == 1)
    try stage.run(900_000)
    #expect(try isSaved(stage, "c"))
    #expect(device.status.parkedCount == 0)
    #expect(device.status.state == .inSync)
  }

  @Test func aChunkThatTheDiskDamagedParksItsRecordAlone() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    try stage.run()
    let bytes = TestChunk.bytes(400_000)
    let chunk = try device.addChunk(bytes).get()
    let sound = try device.addChunk([2]).get()
    _ = try device.edit(.album("a", [chunk]))
    _ = try device.edit(.album("b", [sound]))
    try device.damage(chunk)
    device.isCutOff = false
    try stage.run(60_000)
    #expect(try isSaved(stage, "b"))
    #expect(device.status.parked.map(\.refusal.code) == [.hashMismatch])
    #expect(try stage.relay.chunk(chunk) == nil)
    // The file exists again: the record is sent automatically.
    _ = try device.addChunk(bytes).get()
    try stage.run(10_000)
    #expect(try isSaved(stage, "a"))
    #expect(device.status.parkedCount == 0)
  }

  @Test func aChunkThatIsNowhereParksItsRecordWithAClearWord() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    _ = try device.edit(.album("a", [try TestChunk.hash([9])]))
    try stage.run(3_000)
    #expect(device.status.parked.map(\.refusal.code) == [.chunksMissing])
    #expect(device.status.state == .needsPerson)
    #expect(stage.relay.saves.isEmpty)
  }

  @Test func chunksThatTheRelayHasLostGoUpAgainUnderANewID() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let one = try device.addChunk([1]).get()
    stage.relay.onMessage = { [relay = stage.relay] message in
      guard case .save = message, relay.saves.isEmpty, relay.puts.count == 1 else { return nil }
      // The relay lost the chunk between the query and the record.
      do { try relay.forget(one) } catch { Issue.record("\(error)") }
      return nil
    }
    _ = try device.edit(.album("a", [one]))
    try stage.run(10_000)
    #expect(try isSaved(stage, "a"))
    #expect(stage.relay.puts == [one, one])
    #expect(Set(stage.relay.saves.map(\.id)).count == stage.relay.saves.count)
    #expect(device.status.state == .inSync)
  }

  @Test func aStoreThatFailsWhileItHearsOfTheChunksIsReadAnew() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let one = try device.addChunk([1]).get()
    stage.relay.onRequest = { head in
      // The disk is full from the upload on.
      if head.method == "PUT" { device.fail(.diskFull(path: "p")) }
      return nil
    }
    _ = try device.edit(.album("a", [one]))
    try stage.run(3_000)
    #expect(try !isSaved(stage, "a"))
    device.fail(nil)
    stage.relay.onRequest = nil
    try stage.run(60_000)
    #expect(try isSaved(stage, "a"))
  }

  @Test func aChunkWhoseFileWasReplacedMeanwhileGoesUpFromTheNewOne() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    let bytes = TestChunk.bytes(300_000)
    let one = try device.addChunk(bytes).get()
    var isFirst = true
    stage.relay.onRequest = { head in
      guard head.target.path.last == "missing", isFirst else { return nil }
      isFirst = false
      do { _ = try device.addChunk(bytes).get() } catch { Issue.record("\(error)") }
      return nil
    }
    _ = try device.edit(.album("a", [one]))
    try stage.run(10_000)
    #expect(try isSaved(stage, "a"))
    #expect(device.status.state == .inSync)
  }

  @Test func aRevokedDeviceStops() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    stage.relay.onRequest = { head in
      head.target.path.contains("chunks") ? .refuse(Refusal(.badToken, "revoked")) : nil
    }
    let one = try device.addChunk([1]).get()
    _ = try device.edit(.album("a", [one]))
    try stage.run()
    guard case .failed = device.status.state else {
      Issue.record("\(device.status.state)")
      return
    }
  }
}

import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Local changes that name chunks of files wait for these; others do not.
struct ReplicaChunkWaitTests {
  private func hash(_ byte: UInt8) throws -> ChunkHash {
    try #require(ChunkHash(bytes: [UInt8](repeating: byte, count: 32)))
  }

  private func needs(_ harness: ReplicaHarness) -> [ChunkHash] { harness.outcome.needs.map(\.hash) }

  private func names(_ batch: SaveRequest?) -> [String] {
    batch?.mutations.map(\.name.text) ?? []
  }

  private func zones(_ harness: ReplicaHarness) -> [Int] { harness.outbox.heldBack.map(\.count) }

  @Test func aChangeWaitsForItsChunksAndOthersGo() throws {
    var harness = try ReplicaHarness()
    let one = try hash(1)
    let two = try hash(2)
    let held = HeldChunk(hash: two, file: 9, bytes: 5)
    harness.perform(.chunks(.add(held)))
    _ = harness.edit(.album("a", [one, two]))
    _ = harness.edit(.note("b", "no chunks"))
    let batch = try harness.freezeOneBatch()
    #expect(names(batch) == ["b"])
    #expect(needs(harness) == [one, two])
    #expect(harness.outcome.needs.map { $0.source?.file } == [nil, 9])
    #expect(zones(harness) == [1])
    try harness.answer(batch, [.saved(name: Name(trusted: "b"), tag: 5)])
    // Each chunk is named once.
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [])
    try harness.confirmChunks([two])
    #expect(harness.freezeBatch() == nil)
    try harness.confirmChunks([one])
    #expect(zones(harness) == [])
    #expect(names(harness.freezeBatch()) == ["a"])
  }

  @Test func whatTheVersionBeforeNamedIsTakenToBeThere() throws {
    var harness = try ReplicaHarness()
    var known = harness.record(
      "a", TestApp.album, ["pieces": [.string(try hash(1).text)]], at: 9, tag: 5)
    known.chunks = [try hash(1)]
    try harness.apply([known])
    _ = harness.edit(.album("a", [try hash(1), try hash(2)]))
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [try hash(2)])
  }

  @Test func chunksThatTheRelayLacksAfterAllAreAskedAboutOnceMore() throws {
    var harness = try ReplicaHarness()
    let missing = Refusal(.chunksMissing, "gone")
    var known = harness.record(
      "a", TestApp.album, ["pieces": [.string(try hash(1).text)]], at: 9, tag: 5)
    known.chunks = [try hash(1)]
    try harness.apply([known])
    _ = harness.edit(.album("a", [try hash(1), try hash(2)]))
    try harness.confirmChunks([try hash(2)])
    let first = try harness.freezeOneBatch()
    try harness.answer(first, [.refused(name: Name(trusted: "a"), missing)])
    #expect(harness.outbox.parkedCount == 0)
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [try hash(1), try hash(2)])
    try harness.confirmChunks([try hash(1), try hash(2)])
    let second = try harness.freezeOneBatch()
    #expect(second.id != first.id)
    // Reported again, although all chunks were there: the change waits.
    try harness.answer(second, [.refused(name: Name(trusted: "a"), missing)])
    guard case .success(.applied(let applied)) = harness.outcome.result else {
      Issue.record("nothing was applied")
      return
    }
    #expect(applied.retryLater == missing)
    #expect(harness.outbox.parkedCount == 0)
  }

  @Test func aChangeWhoseChunkIsNowhereIsParkedUntilTheChunkComes() throws {
    var harness = try ReplicaHarness()
    for (chunkStatus, code) in [
      (ChunkStatus(unavailable: [try hash(1)]), RefusalCode.chunksMissing),
      (ChunkStatus(damaged: [try hash(1)]), RefusalCode.hashMismatch),
    ] {
      _ = harness.edit(.album("a", [try hash(1)]))
      _ = harness.edit(.album("b", [try hash(2)]))
      _ = harness.freezeBatch()
      harness.perform(.chunks(.applyStatus(chunkStatus)))
      #expect(harness.outbox.parked.map(\.refusal.code) == [code])
      #expect(harness.outbox.parked.map(\.key.name.text) == ["a"])
      harness.perform(.chunks(.add(HeldChunk(hash: try hash(1), file: 3, bytes: 5))))
      #expect(harness.outbox.parkedCount == 0)
      _ = harness.freezeBatch()
      #expect(needs(harness) == [try hash(1)])
      harness.reopen()
    }
  }

  @Test func aDeletionDoesNotWaitForTheChunkOfACopyThatIsNowhere() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try harness.freezeOneBatch()
    let theirs: JSONValue = ["text": "theirs", "pieces": [.string(try hash(1).text)]]
    let server = harness.record("a", TestApp.draft, theirs, at: 10, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    _ = harness.edit(.delete("a"))
    #expect(harness.freezeBatch() == nil)
    harness.perform(.chunks(.applyStatus(ChunkStatus(unavailable: [try hash(1)]))))
    #expect(harness.outbox.parked.map(\.key.name.text) == ["a~\(server.device.text)-10"])
    #expect(names(harness.freezeBatch()) == ["a"])
  }

  @Test func aChangeWhoseChunkIsHeldWaitsForAPerson() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.album("a", [try hash(1)]))
    _ = harness.freezeBatch()
    harness.perform(.chunks(.applyStatus(ChunkStatus(held: [try hash(1)]))))
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [])
    #expect(zones(harness) == [1])
    harness.perform(.chunks(.retry))
    #expect(zones(harness) == [])
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [try hash(1)])
  }

  @Test func aFileThatWasNotThereIsLookedForAgain() throws {
    var harness = try ReplicaHarness()
    let gone = HeldChunk(hash: try hash(1), file: 3, bytes: 5)
    harness.perform(.chunks(.add(gone)))
    _ = harness.edit(.album("a", [try hash(1)]))
    _ = harness.freezeBatch()
    harness.perform(.chunks(.applyStatus(ChunkStatus(fileMissing: [gone]))))
    #expect(try harness.store.chunks([try hash(1)]).isEmpty)
    _ = harness.freezeBatch()
    #expect(harness.outcome.needs == [ChunkNeed(hash: try hash(1), source: nil)])
  }

  @Test func aLaterEditIsLookedAtAnew() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.album("a", [try hash(1)]))
    _ = harness.freezeBatch()
    _ = harness.edit(.album("a", []))
    #expect(zones(harness) == [])
    #expect(names(harness.freezeBatch()) == ["a"])
  }

  @Test func thoseChunksAreNamedForWhichThereIsRoom() throws {
    var harness = try ReplicaHarness()
    let many = try TestChunk.hashes(Limits.chunksPerRecord)
    _ = harness.edit(.album("a", many))
    _ = harness.edit(.album("b", [try hash(1)]))
    _ = harness.edit(.note("c", "no chunks"))
    let batch = try harness.freezeOneBatch()
    #expect(names(batch) == ["c"])
    #expect(needs(harness) == many)
    #expect(zones(harness) == [2])
    try harness.answer(batch, [.saved(name: Name(trusted: "c"), tag: 5)])
    try harness.confirmChunks(Array(many.dropLast()))
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [try hash(1)])
  }

  @Test func aBatchNamesNoMoreChunksThanTheRelayLooksUpForOne() throws {
    var harness = try ReplicaHarness()
    let many = try TestChunk.hashes(Limits.chunksPerRecord)
    try harness.confirmChunks(many)
    _ = harness.edit(.album("a", many))
    _ = harness.edit(.album("b", Array(many.prefix(2))))
    let first = try harness.freezeOneBatch()
    #expect(names(first) == ["a"])
    try harness.answer(first, [.saved(name: Name(trusted: "a"), tag: 5)])
    #expect(names(harness.freezeBatch()) == ["b"])
  }

  @Test func theRelaysWordIsNotGoodForEver() throws {
    var harness = try ReplicaHarness()
    try harness.confirmChunks([try hash(1)])
    _ = harness.edit(.album("a", [try hash(1)]))
    harness.offset = 0
    harness.pass(milliseconds: Limits.confirmedMilliseconds)
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [try hash(1)])
  }

  @Test func aRestoredRelayIsAskedAgain() throws {
    var harness = try ReplicaHarness()
    try harness.confirmChunks([try hash(1)])
    harness.reportRestore(through: 5)
    harness.page([], from: nil, to: 1 << 32)
    _ = harness.edit(.album("a", [try hash(1)]))
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [try hash(1)])
  }

  @Test func aParkedChangeGoesByItselfWhenTheRelayHasItsChunkAfterAll() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.album("a", [try hash(1)]))
    _ = harness.freezeBatch()
    harness.perform(.chunks(.applyStatus(ChunkStatus(unavailable: [try hash(1)]))))
    for _ in 0..<2 {
      // No device has uploaded it yet.
      harness.perform(.chunks(.queryLackingChunks))
      #expect(needs(harness) == [try hash(1)])
      harness.perform(.chunks(.applyStatus(ChunkStatus(unavailable: [try hash(1)]))))
      #expect(harness.outbox.parkedCount == 1)
    }
    harness.perform(.chunks(.queryLackingChunks))
    try harness.confirmChunks([try hash(1)])
    #expect(harness.outbox.parkedCount == 0)
    #expect(names(harness.freezeBatch()) == ["a"])
  }

  @Test func chunksThatChangesWaitForGoBeforeThoseThatAreOffered() throws {
    var harness = try ReplicaHarness()
    let offered = try (0..<5).map { try hash(UInt8($0)) }
    for (number, hash) in offered.enumerated() {
      harness.perform(.chunks(.add(HeldChunk(hash: hash, file: UInt64(number), bytes: 5))))
    }
    let wanted = try (0..<Limits.chunkHashes - 2).map { number in
      try #require(
        ChunkHash(
          bytes: [0xFF, UInt8(number >> 8), UInt8(number & 0xFF)]
            + [UInt8](repeating: 0, count: 29)))
    }
    for start in stride(from: 0, to: wanted.count, by: 100) {
      _ = harness.edit(.album("a\(start)", Array(wanted[start..<min(start + 100, wanted.count)])))
    }
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness).count == wanted.count)
    harness.reportRestore(through: 5)
    #expect(needs(harness) == Array(offered.prefix(2)))
    try harness.confirmChunks(Array(offered.prefix(2)))
    #expect(needs(harness) == Array(offered[2..<4]))
    try harness.confirmChunks(Array(offered[2..<4]))
    #expect(needs(harness) == [offered[4]])
  }

  @Test func whatTheRelayDidNotTakeIsOfferedAgainWhenItMay() throws {
    var harness = try ReplicaHarness()
    harness.perform(.chunks(.add(HeldChunk(hash: try hash(1), file: 1, bytes: 5))))
    harness.reportRestore(through: 5)
    #expect(needs(harness) == [try hash(1)])
    harness.perform(.chunks(.applyStatus(ChunkStatus(held: [try hash(1)]))))
    #expect(needs(harness) == [])
    harness.perform(.chunks(.retry))
    #expect(needs(harness) == [try hash(1)])
    try harness.confirmChunks([try hash(1)])
    harness.perform(.chunks(.retry))
    #expect(needs(harness) == [])
  }

  @Test func whatAChangeWaitsForIsOfferedAgainAfterACrash() throws {
    var harness = try ReplicaHarness()
    harness.perform(.chunks(.add(HeldChunk(hash: try hash(1), file: 1, bytes: 5))))
    _ = harness.edit(.album("a", [try hash(1)]))
    #expect(harness.freezeBatch() == nil)
    #expect(needs(harness) == [try hash(1)])
    // It is being uploaded already, so the offer need not name it.
    harness.reportRestore(through: 5)
    #expect(needs(harness) == [])
    // Other devices may still have to save the chunk's record again, though no change waits for it
    // here.
    _ = harness.edit(.album("a", []))
    harness.reopen()
    #expect(needs(harness) == [try hash(1)])
    try harness.confirmChunks([try hash(1)])
    harness.reopen()
    #expect(needs(harness) == [])
  }

  @Test func allChunksInTheHomeAreOfferedToARestoredRelay() throws {
    var harness = try ReplicaHarness()
    let count = Limits.collectedChunks + 5
    let hashes = try (0..<count).map { number in
      try #require(
        ChunkHash(
          bytes: [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 0, count: 30)))
    }
    for (number, hash) in hashes.enumerated() {
      harness.perform(.chunks(.add(HeldChunk(hash: hash, file: UInt64(number), bytes: 5))))
    }
    #expect(needs(harness) == [])
    harness.reportRestore(through: 5)
    #expect(needs(harness) == Array(hashes.prefix(Limits.collectedChunks)))
    #expect(harness.outcome.needs.allSatisfy { $0.source != nil })
    // A portion is named once, and again by a process that has not received its status.
    harness.page([], from: nil, to: 1 << 32)
    #expect(needs(harness) == [])
    harness.reopen()
    #expect(needs(harness) == Array(hashes.prefix(Limits.collectedChunks)))
    try harness.confirmChunks(Array(hashes.prefix(Limits.collectedChunks)))
    #expect(needs(harness) == Array(hashes.suffix(5)))
    try harness.confirmChunks(Array(hashes.suffix(5)))
    harness.reopen()
    #expect(needs(harness) == [])
  }

  /// Only chunks that a record names; others are removed after a while, and need no upload.
  @Test func chunksThatRecordsNameAreAskedAboutNowAndAgain() throws {
    var harness = try ReplicaHarness()
    for number in [1, 2, 3] as [UInt8] {
      let chunk = HeldChunk(hash: try hash(number), file: UInt64(number), bytes: 5)
      harness.perform(.chunks(.add(chunk)))
    }
    _ = harness.edit(.album("a", [try hash(1), try hash(3)]))
    #expect(harness.freezeBatch() == nil)
    try harness.confirmChunks([try hash(1), try hash(3)])
    for _ in 0...1 {
      harness.perform(.chunks(.check))
      #expect(needs(harness).sorted() == [try hash(1), try hash(3)].sorted())
      try harness.confirmChunks([try hash(1)])
      // One check at a time.
      harness.perform(.chunks(.check))
      #expect(needs(harness) == [])
      try harness.confirmChunks([try hash(3)])
    }
    // Chunks that the relay refuses are not queried forever, and a crash ends the check.
    harness.perform(.chunks(.check))
    harness.perform(.chunks(.applyStatus(ChunkStatus(held: [try hash(1), try hash(3)]))))
    harness.perform(.chunks(.retry))
    #expect(needs(harness) == [])
    harness.perform(.chunks(.check))
    harness.reopen()
    #expect(needs(harness) == [])
  }
}

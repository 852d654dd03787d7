import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Local changes that name chunks of files wait for these; others do not.
struct ReplicaChunkWaitTests {
  private func hash(_ byte: UInt8) throws -> ChunkHash {
    try #require(ChunkHash(bytes: [UInt8](repeating: byte, count: 32)))
  }

  private func needs(_ desk: Desk) -> [ChunkHash] { desk.outcome.needs.map(\.hash) }

  private func names(_ batch: SaveRequest?) -> [String] {
    batch?.mutations.map(\.name.text) ?? []
  }

  private func zones(_ desk: Desk) -> [Int] { desk.outbox.heldBack.map(\.count) }

  @Test func aChangeWaitsForItsChunksAndOthersGo() throws {
    var desk = try Desk()
    let one = try hash(1)
    let two = try hash(2)
    let held = HeldChunk(hash: two, file: 9, bytes: 5)
    desk.perform(.chunks(.add(held)))
    _ = desk.edit(.album("a", [one, two]))
    _ = desk.edit(.note("b", "no chunks"))
    let batch = try desk.takeOne()
    #expect(names(batch) == ["b"])
    #expect(needs(desk) == [one, two])
    #expect(desk.outcome.needs.map { $0.source?.file } == [nil, 9])
    #expect(zones(desk) == [1])
    try desk.answer(batch, [.saved(name: Name(trusted: "b"), tag: 5)])
    // Each chunk is named once.
    #expect(desk.take() == nil)
    #expect(needs(desk) == [])
    try desk.letChunksThrough([two])
    #expect(desk.take() == nil)
    try desk.letChunksThrough([one])
    #expect(zones(desk) == [])
    #expect(names(desk.take()) == ["a"])
  }

  @Test func whatTheVersionBeforeNamedIsTakenToBeThere() throws {
    var desk = try Desk()
    var known = desk.record(
      "a", TestApp.album, ["pieces": [.string(try hash(1).text)]], at: 9, tag: 5)
    known.chunks = [try hash(1)]
    try desk.apply([known])
    _ = desk.edit(.album("a", [try hash(1), try hash(2)]))
    #expect(desk.take() == nil)
    #expect(needs(desk) == [try hash(2)])
  }

  @Test func chunksThatTheRelayLacksAfterAllAreAskedAboutOnceMore() throws {
    var desk = try Desk()
    let missing = Refusal(.chunksMissing, "gone")
    var known = desk.record(
      "a", TestApp.album, ["pieces": [.string(try hash(1).text)]], at: 9, tag: 5)
    known.chunks = [try hash(1)]
    try desk.apply([known])
    _ = desk.edit(.album("a", [try hash(1), try hash(2)]))
    try desk.letChunksThrough([try hash(2)])
    let first = try desk.takeOne()
    try desk.answer(first, [.refused(name: Name(trusted: "a"), missing)])
    #expect(desk.outbox.parkedCount == 0)
    #expect(desk.take() == nil)
    #expect(needs(desk) == [try hash(1), try hash(2)])
    try desk.letChunksThrough([try hash(1), try hash(2)])
    let second = try desk.takeOne()
    #expect(second.id != first.id)
    // Reported again, although all chunks were there: the change waits.
    try desk.answer(second, [.refused(name: Name(trusted: "a"), missing)])
    guard case .success(.applied(let applied)) = desk.outcome.result else {
      Issue.record("nothing was applied")
      return
    }
    #expect(applied.retryLater == missing)
    #expect(desk.outbox.parkedCount == 0)
  }

  @Test func aChangeWhoseChunkIsNowhereIsParkedUntilTheChunkComes() throws {
    var desk = try Desk()
    for (chunkStatus, code) in [
      (ChunkStatus(nowhere: [try hash(1)]), RefusalCode.chunksMissing),
      (ChunkStatus(damaged: [try hash(1)]), RefusalCode.hashMismatch),
    ] {
      _ = desk.edit(.album("a", [try hash(1)]))
      _ = desk.edit(.album("b", [try hash(2)]))
      _ = desk.take()
      desk.perform(.chunks(.settle(chunkStatus)))
      #expect(desk.outbox.parked.map(\.refusal.code) == [code])
      #expect(desk.outbox.parked.map(\.key.name.text) == ["a"])
      desk.perform(.chunks(.add(HeldChunk(hash: try hash(1), file: 3, bytes: 5))))
      #expect(desk.outbox.parkedCount == 0)
      _ = desk.take()
      #expect(needs(desk) == [try hash(1)])
      desk.reopen()
    }
  }

  @Test func aDeletionDoesNotWaitForTheChunkOfACopyThatIsNowhere() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try desk.takeOne()
    let theirs: JSONValue = ["text": "theirs", "pieces": [.string(try hash(1).text)]]
    let server = desk.record("a", TestApp.draft, theirs, at: 10, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    _ = desk.edit(.delete("a"))
    #expect(desk.take() == nil)
    desk.perform(.chunks(.settle(ChunkStatus(nowhere: [try hash(1)]))))
    #expect(desk.outbox.parked.map(\.key.name.text) == ["a~\(server.device.text)-10"])
    #expect(names(desk.take()) == ["a"])
  }

  @Test func aChangeWhoseChunkIsHeldWaitsForAPerson() throws {
    var desk = try Desk()
    _ = desk.edit(.album("a", [try hash(1)]))
    _ = desk.take()
    desk.perform(.chunks(.settle(ChunkStatus(held: [try hash(1)]))))
    #expect(desk.take() == nil)
    #expect(needs(desk) == [])
    #expect(zones(desk) == [1])
    desk.perform(.chunks(.retry))
    #expect(zones(desk) == [])
    #expect(desk.take() == nil)
    #expect(needs(desk) == [try hash(1)])
  }

  @Test func aFileThatWasNotThereIsLookedForAgain() throws {
    var desk = try Desk()
    let gone = HeldChunk(hash: try hash(1), file: 3, bytes: 5)
    desk.perform(.chunks(.add(gone)))
    _ = desk.edit(.album("a", [try hash(1)]))
    _ = desk.take()
    desk.perform(.chunks(.settle(ChunkStatus(unread: [gone]))))
    #expect(try desk.store.chunks([try hash(1)]).isEmpty)
    _ = desk.take()
    #expect(desk.outcome.needs == [ChunkNeed(hash: try hash(1), source: nil)])
  }

  @Test func aLaterEditIsLookedAtAnew() throws {
    var desk = try Desk()
    _ = desk.edit(.album("a", [try hash(1)]))
    _ = desk.take()
    _ = desk.edit(.album("a", []))
    #expect(zones(desk) == [])
    #expect(names(desk.take()) == ["a"])
  }

  @Test func thoseChunksAreNamedForWhichThereIsRoom() throws {
    var desk = try Desk()
    let many = try (0..<Limits.chunksPerRecord).map { number in
      try #require(
        ChunkHash(
          bytes: [UInt8(number / 256), UInt8(number % 256)] + .init(repeating: 9, count: 30)))
    }
    _ = desk.edit(.album("a", many))
    _ = desk.edit(.album("b", [try hash(1)]))
    _ = desk.edit(.note("c", "no chunks"))
    let batch = try desk.takeOne()
    #expect(names(batch) == ["c"])
    #expect(needs(desk) == many)
    #expect(zones(desk) == [2])
    try desk.answer(batch, [.saved(name: Name(trusted: "c"), tag: 5)])
    try desk.letChunksThrough(Array(many.dropLast()))
    #expect(desk.take() == nil)
    #expect(needs(desk) == [try hash(1)])
  }

  @Test func aBatchNamesNoMoreChunksThanTheRelayLooksUpForOne() throws {
    var desk = try Desk()
    let many = try (0..<Limits.chunksPerRecord).map { number in
      try #require(
        ChunkHash(
          bytes: [UInt8(number / 256), UInt8(number % 256)] + .init(repeating: 9, count: 30)))
    }
    try desk.letChunksThrough(many)
    _ = desk.edit(.album("a", many))
    _ = desk.edit(.album("b", Array(many.prefix(2))))
    let first = try desk.takeOne()
    #expect(names(first) == ["a"])
    try desk.answer(first, [.saved(name: Name(trusted: "a"), tag: 5)])
    #expect(names(desk.take()) == ["b"])
  }

  @Test func theRelaysWordIsNotGoodForEver() throws {
    var desk = try Desk()
    try desk.letChunksThrough([try hash(1)])
    _ = desk.edit(.album("a", [try hash(1)]))
    desk.offset = 0
    desk.pass(milliseconds: Limits.confirmedMilliseconds)
    #expect(desk.take() == nil)
    #expect(needs(desk) == [try hash(1)])
  }

  @Test func aRestoredRelayIsAskedAgain() throws {
    var desk = try Desk()
    try desk.letChunksThrough([try hash(1)])
    desk.learnOfRestore(through: 5)
    desk.page([], from: nil, to: 1 << 32)
    _ = desk.edit(.album("a", [try hash(1)]))
    #expect(desk.take() == nil)
    #expect(needs(desk) == [try hash(1)])
  }

  @Test func aParkedChangeGoesByItselfWhenTheRelayHasItsChunkAfterAll() throws {
    var desk = try Desk()
    _ = desk.edit(.album("a", [try hash(1)]))
    _ = desk.take()
    desk.perform(.chunks(.settle(ChunkStatus(nowhere: [try hash(1)]))))
    for _ in 0..<2 {
      // No device has uploaded it yet.
      desk.perform(.chunks(.askForLacking))
      #expect(needs(desk) == [try hash(1)])
      desk.perform(.chunks(.settle(ChunkStatus(nowhere: [try hash(1)]))))
      #expect(desk.outbox.parkedCount == 1)
    }
    desk.perform(.chunks(.askForLacking))
    try desk.letChunksThrough([try hash(1)])
    #expect(desk.outbox.parkedCount == 0)
    #expect(names(desk.take()) == ["a"])
  }

  @Test func chunksThatChangesWaitForGoBeforeThoseThatAreOffered() throws {
    var desk = try Desk()
    let offered = try (0..<5).map { try hash(UInt8($0)) }
    for (number, hash) in offered.enumerated() {
      desk.perform(.chunks(.add(HeldChunk(hash: hash, file: UInt64(number), bytes: 5))))
    }
    let wanted = try (0..<Limits.chunkHashes - 2).map { number in
      try #require(
        ChunkHash(
          bytes: [0xFF, UInt8(number >> 8), UInt8(number & 0xFF)]
            + [UInt8](repeating: 0, count: 29)))
    }
    for start in stride(from: 0, to: wanted.count, by: 100) {
      _ = desk.edit(.album("a\(start)", Array(wanted[start..<min(start + 100, wanted.count)])))
    }
    #expect(desk.take() == nil)
    #expect(needs(desk).count == wanted.count)
    desk.learnOfRestore(through: 5)
    #expect(needs(desk) == Array(offered.prefix(2)))
    try desk.letChunksThrough(Array(offered.prefix(2)))
    #expect(needs(desk) == Array(offered[2..<4]))
    try desk.letChunksThrough(Array(offered[2..<4]))
    #expect(needs(desk) == [offered[4]])
  }

  @Test func whatTheRelayDidNotTakeIsOfferedAgainWhenItMay() throws {
    var desk = try Desk()
    desk.perform(.chunks(.add(HeldChunk(hash: try hash(1), file: 1, bytes: 5))))
    desk.learnOfRestore(through: 5)
    #expect(needs(desk) == [try hash(1)])
    desk.perform(.chunks(.settle(ChunkStatus(held: [try hash(1)]))))
    #expect(needs(desk) == [])
    desk.perform(.chunks(.retry))
    #expect(needs(desk) == [try hash(1)])
    try desk.letChunksThrough([try hash(1)])
    desk.perform(.chunks(.retry))
    #expect(needs(desk) == [])
  }

  @Test func whatAChangeWaitsForIsOfferedAgainAfterACrash() throws {
    var desk = try Desk()
    desk.perform(.chunks(.add(HeldChunk(hash: try hash(1), file: 1, bytes: 5))))
    _ = desk.edit(.album("a", [try hash(1)]))
    #expect(desk.take() == nil)
    #expect(needs(desk) == [try hash(1)])
    // It is being uploaded already, so the offer need not name it.
    desk.learnOfRestore(through: 5)
    #expect(needs(desk) == [])
    // Other devices may still have to save the chunk's record again, though no change waits for it
    // here.
    _ = desk.edit(.album("a", []))
    desk.reopen()
    #expect(needs(desk) == [try hash(1)])
    try desk.letChunksThrough([try hash(1)])
    desk.reopen()
    #expect(needs(desk) == [])
  }

  @Test func allChunksInTheHomeAreOfferedToARestoredRelay() throws {
    var desk = try Desk()
    let count = Limits.collectedChunks + 5
    let hashes = try (0..<count).map { number in
      try #require(
        ChunkHash(
          bytes: [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 0, count: 30)))
    }
    for (number, hash) in hashes.enumerated() {
      desk.perform(.chunks(.add(HeldChunk(hash: hash, file: UInt64(number), bytes: 5))))
    }
    #expect(needs(desk) == [])
    desk.learnOfRestore(through: 5)
    #expect(needs(desk) == Array(hashes.prefix(Limits.collectedChunks)))
    #expect(desk.outcome.needs.allSatisfy { $0.source != nil })
    // A portion is named once, and again by a process that has not received its status.
    desk.page([], from: nil, to: 1 << 32)
    #expect(needs(desk) == [])
    desk.reopen()
    #expect(needs(desk) == Array(hashes.prefix(Limits.collectedChunks)))
    try desk.letChunksThrough(Array(hashes.prefix(Limits.collectedChunks)))
    #expect(needs(desk) == Array(hashes.suffix(5)))
    try desk.letChunksThrough(Array(hashes.suffix(5)))
    desk.reopen()
    #expect(needs(desk) == [])
  }

  /// Only chunks that a record names; others are removed after a while, and need no upload.
  @Test func chunksThatRecordsNameAreAskedAboutNowAndAgain() throws {
    var desk = try Desk()
    for number in [1, 2, 3] as [UInt8] {
      let chunk = HeldChunk(hash: try hash(number), file: UInt64(number), bytes: 5)
      desk.perform(.chunks(.add(chunk)))
    }
    _ = desk.edit(.album("a", [try hash(1), try hash(3)]))
    #expect(desk.take() == nil)
    try desk.letChunksThrough([try hash(1), try hash(3)])
    for _ in 0...1 {
      desk.perform(.chunks(.check))
      #expect(needs(desk).sorted() == [try hash(1), try hash(3)].sorted())
      try desk.letChunksThrough([try hash(1)])
      // One check at a time.
      desk.perform(.chunks(.check))
      #expect(needs(desk) == [])
      try desk.letChunksThrough([try hash(3)])
    }
    // Chunks that the relay refuses are not queried forever, and a crash ends the check.
    desk.perform(.chunks(.check))
    desk.perform(.chunks(.settle(ChunkStatus(held: [try hash(1), try hash(3)]))))
    desk.perform(.chunks(.retry))
    #expect(needs(desk) == [])
    desk.perform(.chunks(.check))
    desk.reopen()
    #expect(needs(desk) == [])
  }
}

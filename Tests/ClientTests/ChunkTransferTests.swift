import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

struct ChunkTransferTests {
  private func hash(_ number: Int) throws -> ChunkHash {
    try TestChunk.hash(number)
  }

  private func chunk(_ number: Int) throws -> HeldChunk {
    HeldChunk(hash: try hash(number), file: UInt64(number), bytes: 5)
  }

  private func need(_ number: Int, isHeld: Bool = true) throws -> ChunkNeed {
    ChunkNeed(hash: try hash(number), source: isHeld ? try chunk(number) : nil)
  }

  private func begun(_ numbers: Int...) throws -> ChunkTransfer {
    var transfer = ChunkTransfer()
    transfer.online()
    transfer.addNeeds(try numbers.map { try need($0) })
    return transfer
  }

  @Test func whatTheRelayLacksGoesUpAndThenAllIsTold() throws {
    var transfer = try begun(1, 2)
    #expect(transfer.isBusy)
    #expect(transfer.next() == .query([try hash(1), try hash(2)]))
    #expect(transfer.next() == nil)
    transfer.queryAnswered(missing: [try hash(2)])
    #expect(transfer.next() == .applyStatus(ChunkStatus(atRelay: [try hash(1)])))
    #expect(transfer.next() == .upload(try chunk(2)))
    transfer.uploaded(try hash(2), .stored)
    // One status update at a time.
    #expect(transfer.next() == nil)
    transfer.statusApplied()
    #expect(transfer.next() == .applyStatus(ChunkStatus(atRelay: [try hash(2)])))
    #expect(transfer.isBusy)
    transfer.statusApplied()
    #expect(!transfer.isBusy)
    #expect(transfer.next() == nil)
  }

  @Test func twoGoUpAtATime() throws {
    var transfer = try begun(1, 2, 3)
    _ = transfer.next()
    transfer.queryAnswered(missing: try [1, 2, 3].map { try hash($0) })
    #expect(transfer.waitingCount == 3)
    #expect(transfer.next() == .upload(try chunk(1)))
    #expect(transfer.next() == .upload(try chunk(2)))
    #expect(transfer.next() == nil)
    transfer.uploaded(try hash(1), .stored)
    #expect(transfer.next() == .applyStatus(ChunkStatus(atRelay: [try hash(1)])))
    #expect(transfer.next() == .upload(try chunk(3)))
  }

  @Test func nothingIsAskedWithoutARelayAndNothingTwice() throws {
    var transfer = ChunkTransfer()
    transfer.addNeeds([try need(1)])
    transfer.addNeeds([try need(1)])
    #expect(transfer.next() == nil)
    transfer.online()
    #expect(transfer.next() == .query([try hash(1)]))
    transfer.offline()
    #expect(transfer.next() == nil)
    transfer.online()
    #expect(transfer.next() == .query([try hash(1)]))
    transfer.queryAnswered(missing: [try hash(1)])
    #expect(transfer.next() == .upload(try chunk(1)))
    transfer.offline()
    // A late result is ignored.
    transfer.uploaded(try hash(1), .stored)
    transfer.online()
    #expect(transfer.next() == .query([try hash(1)]))
  }

  @Test func aQuestionHasNoMoreHashesThanItMay() throws {
    var transfer = ChunkTransfer()
    transfer.online()
    transfer.addNeeds(try (0...Limits.chunkHashes).map { try need($0) })
    guard case .query(let hashes) = transfer.next() else {
      Issue.record("nothing was asked")
      return
    }
    #expect(hashes.count == Limits.chunkHashes)
    transfer.queryAnswered(missing: [])
    transfer.statusApplied()
    _ = transfer.next()
    #expect(transfer.next() == .query([try hash(Limits.chunkHashes)]))
  }

  @Test func whatIsNeitherHereNorThereIsTold() throws {
    var transfer = ChunkTransfer()
    transfer.online()
    transfer.addNeeds([try need(1, isHeld: false), try need(2, isHeld: false)])
    _ = transfer.next()
    transfer.queryAnswered(missing: [try hash(1)])
    #expect(
      transfer.next()
        == .applyStatus(ChunkStatus(atRelay: [try hash(2)], unavailable: [try hash(1)])))
  }

  @Test func filesThatAreDamagedOrGoneAreTold() throws {
    var transfer = try begun(1, 2)
    _ = transfer.next()
    transfer.queryAnswered(missing: [try hash(1), try hash(2)])
    _ = transfer.next()
    _ = transfer.next()
    transfer.uploaded(try hash(1), .damaged)
    transfer.uploaded(try hash(2), .fileMissing)
    #expect(
      transfer.next()
        == .applyStatus(ChunkStatus(damaged: [try hash(1)], fileMissing: [try chunk(2)])))
  }

  @Test func whatBreaksIsAskedAboutAgainAfterAPause() throws {
    var transfer = try begun(1, 2)
    _ = transfer.next()
    transfer.queryAnswered(missing: [try hash(1), try hash(2)])
    _ = transfer.next()
    _ = transfer.next()
    transfer.uploaded(try hash(1), .broken)
    let busy = Refusal(.overloaded, "busy", retryAfterMilliseconds: 7_000)
    transfer.uploaded(try hash(2), .refused(busy))
    #expect(transfer.next() == .pause(retryAfterMilliseconds: nil))
    #expect(transfer.next() == nil)
    transfer.resume()
    #expect(transfer.next() == .query([try hash(1), try hash(2)]))
    transfer.queryFailed(busy)
    #expect(transfer.next() == .pause(retryAfterMilliseconds: 7_000))
    #expect(transfer.next() == nil)
    transfer.resume()
    #expect(transfer.next() == .query([try hash(1), try hash(2)]))
    transfer.queryFailed(nil)
    #expect(transfer.next() == .pause(retryAfterMilliseconds: nil))
  }

  @Test func aNewWayToTheRelayEndsThePause() throws {
    var transfer = try begun(1)
    _ = transfer.next()
    transfer.queryFailed(nil)
    #expect(transfer.next() == .pause(retryAfterMilliseconds: nil))
    transfer.offline()
    transfer.online()
    #expect(transfer.next() == .query([try hash(1)]))
  }

  @Test(arguments: [RefusalCode.quotaExceeded, .planRequired, .bodyTooLarge])
  func whatAPersonMustSettleIsHeldAndTheRestIsAsked(_ code: RefusalCode) throws {
    let refusal = Refusal(code, "no")
    var transfer = try begun(1, 2, 3)
    _ = transfer.next()
    transfer.queryAnswered(missing: try [1, 2, 3].map { try hash($0) })
    _ = transfer.next()
    _ = transfer.next()
    transfer.uploaded(try hash(1), .refused(refusal))
    #expect(transfer.refusal == refusal)
    #expect(transfer.next() == .hold)
    #expect(transfer.next() == .applyStatus(ChunkStatus(held: [try hash(3)])))
    // It is queried again; no more is uploaded.
    #expect(transfer.next() == .query([try hash(1)]))
    transfer.queryAnswered(missing: [try hash(1)])
    transfer.uploaded(try hash(2), .stored)
    transfer.statusApplied()
    #expect(
      transfer.next() == .applyStatus(ChunkStatus(atRelay: [try hash(2)], held: [try hash(1)])))
    transfer.statusApplied()
    #expect(!transfer.isBusy)
    transfer.retry()
    transfer.addNeeds([try need(1)])
    _ = transfer.next()
    transfer.queryAnswered(missing: [try hash(1)])
    #expect(transfer.next() == .upload(try chunk(1)))
  }

  @Test func aQuestionThatIsRefusedForGoodHoldsAll() throws {
    var transfer = try begun(1, 2)
    _ = transfer.next()
    transfer.queryFailed(Refusal(.planRequired, "no"))
    #expect(transfer.next() == .hold)
    #expect(transfer.next() == .applyStatus(ChunkStatus(held: [try hash(1), try hash(2)])))
    #expect(transfer.next() == nil)
  }

  @Test func whatCouldNotBeToldIsAskedAboutAnewAfterAPause() throws {
    var transfer = try begun(1)
    _ = transfer.next()
    transfer.queryAnswered(missing: [])
    #expect(transfer.next() == .applyStatus(ChunkStatus(atRelay: [try hash(1)])))
    transfer.statusUpdateFailed()
    transfer.addNeeds([try need(1)])
    #expect(transfer.next() == .pause(retryAfterMilliseconds: nil))
    #expect(transfer.next() == nil)
    transfer.resume()
    #expect(transfer.next() == .query([try hash(1)]))
  }

  @Test func aTokenThatIsNoGoodEndsIt() throws {
    var transfer = try begun(1)
    _ = transfer.next()
    let refusal = Refusal(.badToken, "revoked")
    transfer.queryFailed(refusal)
    #expect(transfer.next() == .fail(refusal))
  }
}

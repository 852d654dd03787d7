import LockstepCrypto
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Pieces of files in the home, as those who give the orders see them.
struct AgentPieceTests {
  private static let keep = TestDevice.pieceKeepMilliseconds
  private static let care = TestDevice.pieceCareMilliseconds

  @Test func aPieceIsKeptAndReadBackWithNoRelayInReach() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    let bytes = TestPiece.bytes(300_000)
    let hash = try device.addPiece(bytes).get()
    #expect(hash.bytes == SHA256.hash(bytes))
    #expect(try device.store.pieces([hash]).map(\.bytes) == [300_000])
    let portions = try device.readPiece(hash).get()
    #expect(portions.flatMap(\.bytes) == bytes)
    #expect(portions.allSatisfy { $0.bytes.count <= Limits.chunkPieceBytes })
    #expect(portions.map(\.isLast) == [false, false, true])
    let part = try device.readPiece(hash, offset: 299_990, count: 5).get()
    #expect(part.flatMap(\.bytes) == Array(bytes[299_990..<299_995]))
    // Also by the process after this one.
    try device.restart()
    #expect(try device.readPiece(hash).get().flatMap(\.bytes) == bytes)
  }

  @Test func theSamePieceLiesInTheHomeOnce() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    for _ in 0..<3 { _ = try device.addPiece([1, 2, 3]).get() }
    #expect(device.files.counts == (1, 0))
    #expect(try device.store.pieces(after: nil, limit: 9).count == 1)
    _ = try device.addPiece([]).get()
    #expect(device.files.counts == (2, 0))
  }

  @Test func ordersThatCannotBeDoneAreToldSo() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let large = [UInt8](repeating: 0, count: Limits.chunkBytes + 1)
    #expect(try device.addPiece(large) == .failure(.tooLarge(bytes: large.count)))
    #expect(throws: Never.self) { try device.addPiece(Array(large.dropLast())).get() }
    device.isWorkerStuck = true
    let orders = try (0...Limits.pieceAdds).map { number in
      try device.order { .addPiece($0, [UInt8(number)]) }
    }
    #expect(device.added(orders[Limits.pieceAdds]) == .failure(.busy))
    #expect(device.added(orders[0]) == nil)
    try device.order { _ in .stop }
    device.isWorkerStuck = false
    try device.finishStuckJobs()
    #expect(try device.addPiece([1]) == .failure(.stopping))
    #expect(try device.readPiece(try TestPiece.hash([1])) == .failure(.stopping))
  }

  @Test func aDiskThatFailsIsToldAndNothingIsLeftBehind() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.fail(.diskFull(path: "p"))
    #expect(try device.addPiece([1, 2]) == .failure(.storage(.diskFull(path: "p"))))
    #expect(device.files.counts == (0, 0))
    device.fail(nil)
    #expect(try device.addPiece([1, 2]).get() == TestPiece.hash([1, 2]))
  }

  @Test func ordersBeforeTheHomeWasReadWait() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isWorkerStuck = true
    let adding = try device.order { .addPiece($0, [1, 2]) }
    let hash = try TestPiece.hash([1, 2])
    let reading = try device.order { .readPiece($0, hash, offset: 0, count: 9) }
    #expect(device.added(adding) == nil)
    device.isWorkerStuck = false
    try device.finishStuckJobs()
    #expect(try device.added(adding)?.get() == TestPiece.hash([1, 2]))
    try stage.run()
    // Which of the two comes first is not promised; that each is answered is.
    #expect(device.read(reading) != nil)
  }

  @Test func aFileThatACrashLeftWithoutAPieceIsRemoved() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    let kept = try device.addPiece([1]).get()
    device.isWorkerStuck = true
    _ = try device.order { .addPiece($0, [2]) }
    // The file stands, and nobody knows what it is.
    try device.finishStuckFileJobs()
    #expect(device.files.counts == (2, 0))
    try device.restart()
    try stage.run(Limits.pieceCareFirstMilliseconds + 2_000)
    #expect(device.files.counts == (1, 0))
    #expect(try device.readPiece(kept).get().flatMap(\.bytes) == [1])
  }

  @Test func aPieceThatNothingNamesGoesAfterAWhile() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    let named = try device.addPiece([1]).get()
    let idle = try device.addPiece([2]).get()
    let album = EditRequest.album("a", [named])
    #expect(throws: Never.self) { try device.edit(album)?.get() }
    try stage.run(AgentPieceTests.keep - AgentPieceTests.care)
    #expect(try device.store.pieces([idle]).count == 1)
    // Who reads it keeps it.
    _ = try device.readPiece(idle).get()
    try stage.run(AgentPieceTests.keep - AgentPieceTests.care)
    #expect(try device.store.pieces([idle]).count == 1)
    try stage.run(3 * AgentPieceTests.care)
    #expect(try device.store.pieces([named, idle]).map(\.hash) == [named])
    #expect(device.files.counts == (1, 0))
    _ = try device.edit(.fields("a", TestApp.album, ["pieces": []]))
    try stage.run(AgentPieceTests.keep + 3 * AgentPieceTests.care)
    #expect(device.files.counts == (0, 0))
  }

  @Test func aPieceThatALocalChangeOnItsWayNamesStays() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    stage.relay.onMessage = { if case .save = $0 { .ignore } else { nil } }
    stage.relay.onRequest = { $0.target.path.last == "records" ? .ignore : nil }
    let hash = try device.addPiece([1]).get()
    _ = try device.edit(.album("a", [hash]))
    try stage.run()
    guard case .sent = try device.store.outbox().first?.state else {
      Issue.record("nothing is in flight")
      return
    }
    // The record that is shown names it no more; what is in flight does.
    _ = try device.edit(.fields("a", TestApp.album, ["pieces": []]))
    try stage.run(3 * AgentPieceTests.keep)
    #expect(device.files.counts == (1, 0))
  }
}

import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct ChunkQuestionTests {
  private let first = String(repeating: "0a", count: 32)
  private let second = String(repeating: "F1", count: 32)

  private func hash(_ text: String) throws -> ChunkHash { try #require(ChunkHash(text: text)) }

  @Test func aQuestionSurvivesTheRoundTrip() throws {
    for hashes in [[], [try hash(first)], [try hash(second), try hash(first)]] {
      let question = MissingChunksRequest(hashes: hashes)
      #expect(try MissingChunksRequest.decoded(body: question.encodedBody()) == question)
      let answer = MissingChunks(missing: hashes)
      #expect(try MissingChunks.decoded(body: answer.encodedBody()) == answer)
    }
    #expect(
      text(MissingChunks(missing: [try hash(second)]).encodedBody())
        == #"{"missing":["\#(second.lowercased())"]}"#)
  }

  @Test func aHashThatStandsTwiceIsAskedOnce() throws {
    let body = #"{"x":1,"hashes":["\#(second)","\#(first)","\#(second.lowercased())"]}"#
    #expect(
      try MissingChunksRequest.decoded(body: bytes(body)).hashes
        == [try hash(second), try hash(first)])
  }

  @Test func asManyAreTakenAsTheLimitSays() throws {
    func body(_ count: Int) -> [UInt8] {
      let hashes = (0..<count).map { number in
        let digits = String(number, radix: 16)
        return "\"" + String(repeating: "0", count: 64 - digits.count) + digits + "\""
      }
      return bytes(#"{"hashes":[\#(hashes.joined(separator: ","))]}"#)
    }
    let most = body(Limits.chunkHashes)
    #expect(most.count < Limits.chunkHashesBytes)
    #expect(try MissingChunksRequest.decoded(body: most).hashes.count == Limits.chunkHashes)
    let refused = refusal { () throws(Refusal) in
      try MissingChunksRequest.decoded(body: body(Limits.chunkHashes + 1))
    }
    #expect(refused?.code == .badRequest)
  }

  @Test(
    arguments: [
      ("{}", .badRequest), (#"{"hashes":null}"#, .badRequest), (#"{"hashes":{}}"#, .badRequest),
      (#"{"hashes":[1]}"#, .badRequest), (#"{"hashes":[""]}"#, .badRequest),
      (#"{"hashes":["\#(String(repeating: "0", count: 63))"]}"#, .badRequest),
      (#"{"hashes":["\#(String(repeating: "g", count: 64))"]}"#, .badRequest),
      (#"{"hashes":[],"hashes":[]}"#, .badRequest), ("[]", .badRequest), ("{", .badJSON),
    ] as [(String, RefusalCode)])
  func aWrongQuestionIsRefused(_ body: String, _ code: RefusalCode) {
    let refused = refusal { () throws(Refusal) in
      try MissingChunksRequest.decoded(body: bytes(body))
    }
    #expect(refused?.code == code)
  }
}

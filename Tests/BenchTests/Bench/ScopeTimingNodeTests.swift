import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepBench

struct ScopeTimingNodeTests {
  private static func chunk(_ byte: UInt8) throws -> ChunkHash {
    try #require(ChunkHash(bytes: [UInt8](repeating: byte, count: 32)))
  }

  private func node(rounds: Int) throws -> ScopeTimingNode {
    let missing = try [1, 2].map { try Self.chunk($0) }
    let names = ScopeTimingNames(foreignChunk: try Self.chunk(3), missingChunks: missing)
    return ScopeTimingNode(
      token: "secret", names: names, rounds: rounds, to: RelayAddress(host: "relay", port: 1),
      random: SeededRandom(seed: 5))
  }

  private func moment(_ nanoseconds: Int64) -> Moment {
    Moment(instant: Instant(nanoseconds: nanoseconds), wall: 0)
  }

  /// Answers requests until the node has none. Returns the reports and the requests' first lines.
  private func play(
    _ node: inout ScopeTimingNode, _ answer: (_ target: String) -> (status: Int, nanoseconds: Int64)
  ) -> (reports: [ScopeTimingNode.Report], lines: [String]) {
    var (reports, lines): ([ScopeTimingNode.Report], [String]) = ([], [])
    var now: Int64 = 0
    let id = ConnectionID.outgoing(1)
    let opening = Opening(listenerKind: .public, peer: .host("relay", port: 1))
    node.handle(.opened(id, opening), at: moment(now))
    while let action = node.nextAction() {
      if case .report(let report) = action { reports.append(report) }
      guard case .send(_, let bytes) = action else { continue }
      let line = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\r\n" }
      lines.append(String(line))
      let (status, nanoseconds) = answer(String(line.split(separator: " ")[1]))
      now += nanoseconds
      let response = Array("HTTP/1.1 \(status) No\r\ncontent-length: 2\r\n\r\n{}".utf8)
      node.received(id, response.span.bytes, at: moment(now))
    }
    return (reports, lines)
  }

  @Test func eachKindOfRequestIsSentOnceARoundAndTimed() throws {
    var node = try node(rounds: 3)
    let (foreign, missing) = (try Self.chunk(3).text, try Self.chunk(1).text)
    let (reports, lines) = play(&node) { target in
      let nanoseconds: Int64 =
        target.contains("Journal") || target.contains(foreign)
        ? 7 : target.contains("Nothing") || target.contains(missing) ? 5 : 6
      return (target.contains("chunks") ? 404 : 403, nanoseconds)
    }
    #expect(lines.count == 9 * (3 + ScopeTimingNode.warmUpRounds) && Set(lines).count == 9)
    #expect(Set(lines.prefix(9)) == Set(lines.suffix(9)), "a round has them all")
    for question in ["records/0", "changes?zone", "chunks/"] {
      let lengths = lines.filter { $0.contains(question) }.map(\.utf8.count)
      #expect(Set(lengths).count == 1, "\(question)")
    }
    guard case .done(let timings)? = reports.first, reports.count == 1 else {
      Issue.record("\(reports)")
      return
    }
    for probe in ScopeProbe.all {
      let nanoseconds: Int64 =
        switch probe.subject {
        case .there: 7
        case .missing: 5
        case .control: 6
        }
      #expect(timings.nanoseconds[probe] == [nanoseconds, nanoseconds, nanoseconds])
    }
  }

  /// The times of other answers would be no answer to the question.
  @Test func anotherAnswerThanTheRefusalFailsTheRun() throws {
    var node = try node(rounds: 3)
    let (reports, lines) = play(&node) { target in (target.contains("chunks") ? 200 : 403, 5) }
    #expect(reports.count == 1 && lines.count <= 7)
    #expect(reports.first?.failure == "a chunk was answered with 200, not 404")
  }

  @Test func aConnectionThatEndsFailsTheRun() throws {
    var node = try node(rounds: 3)
    node.handle(.closed(.outgoing(1), .endOfStream), at: moment(0))
    var reports: [ScopeTimingNode.Report] = []
    while let action = node.nextAction() {
      if case .report(let report) = action { reports.append(report) }
    }
    #expect(reports.count == 1 && reports.first?.failure?.contains("the connection ended") == true)
  }
}

import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

struct ChunkConnectionTests {
  private let start = Instant(nanoseconds: 0)

  private func at(_ milliseconds: Int64) -> Instant { start.advanced(milliseconds: milliseconds) }

  private struct Scene {
    var line: ChunkConnection
    var output = UplinkOutput(firstNumber: 0)

    init() throws {
      guard let relay = RelayAddress(url: "http://relay:1") else { throw TestFault("no address") }
      line = ChunkConnection(to: relay)
    }

    /// Returns the network actions since the last call as text; for a send, the lines of its head.
    mutating func words() -> [String] {
      var words: [String] = []
      while let action = output.nextAction() {
        switch action {
        case .open: words.append("open")
        case .send(_, let bytes):
          words += String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
        case .close: words.append("close")
        case .pauseReading: words.append("pause")
        case .resumeReading: words.append("resume")
        }
      }
      return words
    }

    mutating func receive(_ text: String, at now: Instant) -> [ChunkConnection.Event] {
      line.received(Array(text.utf8).span.bytes, at: now, &output)
    }
  }

  private func put(_ count: Int) throws -> ChunkConnection.Request {
    ChunkConnection.Request(
      method: "PUT", hash: try TestChunk.hash([1]), token: "secret", bodyBytes: count)
  }

  private func get(first: Int = 0) throws -> ChunkConnection.Request {
    ChunkConnection.Request(
      method: "GET", hash: try TestChunk.hash([1]), token: "secret", first: first)
  }

  private func isEnd(_ event: ChunkConnection.Event?) -> Bool { event == .end }

  @Test func aBodyGoesOutAsTheConnectionTakesIt() throws {
    var scene = try Scene()
    let size = Limits.chunkWaitingBytes + 10
    #expect(scene.line.ask(try put(size), at: start, &scene.output) == [])
    #expect(scene.words() == ["open"])
    #expect(scene.line.opened(at: start, &scene.output) == [.wants])
    let head = scene.words()
    #expect(head.first == "PUT /v1/chunks/\(try TestChunk.hash([1]).text) HTTP/1.1")
    #expect(head.contains("Content-Length: \(size)"))
    #expect(head.contains("Authorization: Bearer secret"))
    // The driver reports unsent bytes before more is supplied.
    #expect(scene.line.drained(Limits.chunkWaitingBytes, at: start) == [])
    let first = [UInt8](repeating: 65, count: Limits.chunkWaitingBytes)
    #expect(scene.line.supply(first, at: start, &scene.output) == [])
    #expect(scene.line.drained(Limits.chunkWaitingBytes - 1, at: start) == [.wants])
    // Already requested.
    #expect(scene.line.drained(5, at: start) == [])
    #expect(scene.line.unsent == 5)
    let rest = [UInt8](repeating: 66, count: 10)
    #expect(scene.line.supply(rest, at: start, &scene.output) == [])
    let events = scene.receive("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", at: start)
    #expect(events.count == 2)
    #expect(isEnd(events.last))
    #expect(!scene.line.isBusy)
    // The connection stays open for the next request.
    _ = scene.words()
    #expect(scene.line.ask(try put(0), at: start, &scene.output) == [])
    #expect(scene.words().first?.hasPrefix("PUT") == true)
  }

  @Test func anAnswerBeforeTheWholeBodyEndsTheConnection() throws {
    var scene = try Scene()
    _ = scene.line.ask(try put(10), at: start, &scene.output)
    _ = scene.line.opened(at: start, &scene.output)
    _ = scene.words()
    let events = scene.receive(
      "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}", at: start)
    #expect(isEnd(events.last))
    #expect(scene.words() == ["close"])
    #expect(scene.line.id == nil)
  }

  @Test func anAnswerComesPortionByPortion() throws {
    var scene = try Scene()
    _ = scene.line.ask(try get(first: 7), at: start, &scene.output)
    _ = scene.line.opened(at: start, &scene.output)
    #expect(scene.words().contains("Range: bytes=7-"))
    var events = scene.receive("HTTP/1.1 206 P\r\nContent-Length: 4\r\n\r\nab", at: start)
    #expect(events.last == .body([97, 98]))
    scene.line.pause(&scene.output)
    #expect(scene.line.deadline == nil)
    scene.line.resume(at: at(1), &scene.output)
    #expect(scene.words() == ["pause", "resume"])
    #expect(scene.line.deadline != nil)
    events = scene.receive("cd", at: at(2))
    #expect(events == [.body([99, 100]), .end])
    #expect(scene.line.deadline == nil)
    // An unsolicited message of the server belongs to no request.
    #expect(scene.receive("HTTP/1.1 408 T\r\n\r\n", at: at(3)) == [])
    #expect(scene.words() == ["close"])
  }

  @Test func whatBreaksIsTold() throws {
    var scene = try Scene()
    _ = scene.line.ask(try get(), at: start, &scene.output)
    #expect(
      scene.line.closed(.connectFailed("refused")) == [.broken("refused", wasReached: false)])
    _ = scene.line.ask(try get(), at: start, &scene.output)
    _ = scene.line.opened(at: start, &scene.output)
    #expect(
      scene.line.closed(.failed("reset")) == [.broken("reset", wasReached: true)])
    _ = scene.line.ask(try get(), at: start, &scene.output)
    _ = scene.line.opened(at: start, &scene.output)
    _ = scene.words()
    guard case .broken(_, wasReached: true) = scene.receive("SMTP ready\r\n", at: start).last else {
      Issue.record("nonsense is taken for an answer")
      return
    }
    #expect(scene.words() == ["close"])
    #expect(scene.line.closed(.endOfStream) == [])
  }

  @Test func silenceIsNotWaitedForLonger() throws {
    var scene = try Scene()
    _ = scene.line.ask(try put(10), at: start, &scene.output)
    #expect(scene.line.expired(at: at(Limits.connectMilliseconds - 1), &scene.output) == [])
    #expect(scene.line.expired(at: at(Limits.connectMilliseconds), &scene.output).count == 1)
    _ = scene.line.ask(try put(10), at: start, &scene.output)
    _ = scene.line.opened(at: start, &scene.output)
    #expect(scene.line.deadline == at(Limits.chunkSilenceMilliseconds))
    _ = scene.line.supply([UInt8](repeating: 1, count: 10), at: at(5), &scene.output)
    #expect(scene.line.deadline == at(5 + Limits.chunkAnswerMilliseconds))
    _ = scene.line.drained(10, at: at(6))
    _ = scene.line.drained(4, at: at(7))
    #expect(scene.line.deadline == at(7 + Limits.chunkAnswerMilliseconds))
    #expect(
      scene.line.expired(at: at(7 + Limits.chunkAnswerMilliseconds), &scene.output)
        == [.broken("the relay did not answer in time", wasReached: true)])
  }
}

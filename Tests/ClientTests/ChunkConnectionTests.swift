import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

struct ChunkConnectionTests {
  private let start = Instant(nanoseconds: 0)

  private func at(_ milliseconds: Int64) -> Instant { start.advanced(milliseconds: milliseconds) }

  private struct Scene {
    var connection: ChunkConnection
    var output = UplinkOutput(firstNumber: 0)

    init() throws {
      guard let relay = RelayAddress(url: "http://relay:1") else { throw TestFault("no address") }
      connection = ChunkConnection(to: relay)
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
      connection.received(Array(text.utf8).span.bytes, at: now, &output)
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
    #expect(scene.connection.sendRequest(try put(size), at: start, &scene.output) == [])
    #expect(scene.words() == ["open"])
    #expect(scene.connection.opened(at: start, &scene.output) == [.wantsBody])
    let head = scene.words()
    #expect(head.first == "PUT /v1/chunks/\(try TestChunk.hash([1]).text) HTTP/1.1")
    #expect(head.contains("Content-Length: \(size)"))
    #expect(head.contains("Authorization: Bearer secret"))
    // The driver reports unsent bytes before more is supplied.
    #expect(scene.connection.drained(Limits.chunkWaitingBytes, at: start) == [])
    let first = [UInt8](repeating: 65, count: Limits.chunkWaitingBytes)
    #expect(scene.connection.supplyBody(first, at: start, &scene.output) == [])
    #expect(scene.connection.drained(Limits.chunkWaitingBytes - 1, at: start) == [.wantsBody])
    // Already requested.
    #expect(scene.connection.drained(5, at: start) == [])
    #expect(scene.connection.unsent == 5)
    let rest = [UInt8](repeating: 66, count: 10)
    #expect(scene.connection.supplyBody(rest, at: start, &scene.output) == [])
    let events = scene.receive("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", at: start)
    #expect(events.count == 2)
    #expect(isEnd(events.last))
    #expect(!scene.connection.isBusy)
    // The connection stays open for the next request.
    _ = scene.words()
    #expect(scene.connection.sendRequest(try put(0), at: start, &scene.output) == [])
    #expect(scene.words().first?.hasPrefix("PUT") == true)
  }

  @Test func anAnswerBeforeTheWholeBodyEndsTheConnection() throws {
    var scene = try Scene()
    _ = scene.connection.sendRequest(try put(10), at: start, &scene.output)
    _ = scene.connection.opened(at: start, &scene.output)
    _ = scene.words()
    let events = scene.receive(
      "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}", at: start)
    #expect(isEnd(events.last))
    #expect(scene.words() == ["close"])
    #expect(scene.connection.id == nil)
  }

  @Test func anAnswerComesPortionByPortion() throws {
    var scene = try Scene()
    _ = scene.connection.sendRequest(try get(first: 7), at: start, &scene.output)
    _ = scene.connection.opened(at: start, &scene.output)
    #expect(scene.words().contains("Range: bytes=7-"))
    var events = scene.receive("HTTP/1.1 206 P\r\nContent-Length: 4\r\n\r\nab", at: start)
    #expect(events.last == .body([97, 98]))
    scene.connection.pause(&scene.output)
    #expect(scene.connection.deadline == nil)
    scene.connection.resume(at: at(1), &scene.output)
    #expect(scene.words() == ["pause", "resume"])
    #expect(scene.connection.deadline != nil)
    events = scene.receive("cd", at: at(2))
    #expect(events == [.body([99, 100]), .end])
    #expect(scene.connection.deadline == nil)
    // An unsolicited message of the server belongs to no request.
    #expect(scene.receive("HTTP/1.1 408 T\r\n\r\n", at: at(3)) == [])
    #expect(scene.words() == ["close"])
  }

  @Test func whatBreaksIsTold() throws {
    var scene = try Scene()
    _ = scene.connection.sendRequest(try get(), at: start, &scene.output)
    #expect(
      scene.connection.closed(.connectFailed("refused")) == [.broken("refused", wasReached: false)])
    _ = scene.connection.sendRequest(try get(), at: start, &scene.output)
    _ = scene.connection.opened(at: start, &scene.output)
    #expect(
      scene.connection.closed(.failed("reset")) == [.broken("reset", wasReached: true)])
    _ = scene.connection.sendRequest(try get(), at: start, &scene.output)
    _ = scene.connection.opened(at: start, &scene.output)
    _ = scene.words()
    guard case .broken(_, wasReached: true) = scene.receive("SMTP ready\r\n", at: start).last else {
      Issue.record("nonsense is taken for an answer")
      return
    }
    #expect(scene.words() == ["close"])
    #expect(scene.connection.closed(.endOfStream) == [])
  }

  @Test func silenceIsNotWaitedForLonger() throws {
    var scene = try Scene()
    _ = scene.connection.sendRequest(try put(10), at: start, &scene.output)
    #expect(scene.connection.expired(at: at(Limits.connectMilliseconds - 1), &scene.output) == [])
    #expect(scene.connection.expired(at: at(Limits.connectMilliseconds), &scene.output).count == 1)
    _ = scene.connection.sendRequest(try put(10), at: start, &scene.output)
    _ = scene.connection.opened(at: start, &scene.output)
    #expect(scene.connection.deadline == at(Limits.chunkSilenceMilliseconds))
    _ = scene.connection.supplyBody([UInt8](repeating: 1, count: 10), at: at(5), &scene.output)
    #expect(scene.connection.deadline == at(5 + Limits.chunkAnswerMilliseconds))
    _ = scene.connection.drained(10, at: at(6))
    _ = scene.connection.drained(4, at: at(7))
    #expect(scene.connection.deadline == at(7 + Limits.chunkAnswerMilliseconds))
    #expect(
      scene.connection.expired(at: at(7 + Limits.chunkAnswerMilliseconds), &scene.output)
        == [.broken("the relay did not answer in time", wasReached: true)])
  }
}

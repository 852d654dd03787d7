import Testing

@testable import LockstepGateway

struct HTTP2ClientTests {
  private let request = HTTP2Request(
    fields: [
      HTTP2Request.Field(name: ":method", value: "POST"),
      HTTP2Request.Field(name: ":scheme", value: "https"),
      HTTP2Request.Field(name: ":authority", value: "push.example"),
      HTTP2Request.Field(name: ":path", value: "/x", isSensitive: true),
    ], body: Array("body".utf8))

  private func ready(streams: Int = 100) throws -> (HTTP2Client, HTTP2Peer) {
    let client = try #require(HTTP2Client())
    var peer = HTTP2Peer()
    _ = peer.frames(in: try client.output())
    try client.receive(HTTP2Peer.settings(streams: streams).span.bytes)
    #expect(client.takeEvents() == [.ready])
    _ = peer.frames(in: try client.output())
    return (client, peer)
  }

  @Test func beginsWithPrefaceAndSettingsWithoutPush() throws {
    let client = try #require(HTTP2Client())
    let bytes = try client.output()
    #expect(bytes.starts(with: HTTP2Peer.preface))
    var peer = HTTP2Peer()
    #expect(
      peer.frames(in: bytes) == [
        HTTP2Peer.Frame(
          type: HTTP2Peer.settings, flags: 0, stream: 0, payload: [0, 2, 0, 0, 0, 0])
      ])
    #expect(client.submit(request) == nil, "nothing is sent before the peer's settings")
  }

  @Test func requestIsOneStreamOfHeadersAndData() throws {
    var (client, peer) = try ready()
    #expect(client.submit(request) == 1)
    let frames = peer.frames(in: try client.output())
    #expect(frames.map(\.type) == [HTTP2Peer.headers, HTTP2Peer.data])
    #expect(frames.map(\.stream) == [1, 1])
    #expect(frames.last?.payload == Array("body".utf8))
    #expect(frames.last?.flags == 1)
    #expect(client.streamCount == 1)
  }

  @Test func answerComesWholeWhereverItsBytesAreSplit() throws {
    let bytes = HTTP2Peer.answer(
      429, stream: 1, reason: "TooManyRequests", fields: [("retry-after", "5"), ("x", "y")])
    for split in 0...bytes.count {
      let (client, _) = try ready()
      _ = client.submit(request)
      _ = try client.output()
      try client.receive(bytes.span.bytes.extracting(..<split))
      try client.receive(bytes.span.bytes.extracting(split...))
      var answer = HTTP2Answer(status: 429, retryAfter: "5")
      answer.body = Array(#"{"reason":"TooManyRequests"}"#.utf8)
      #expect(client.takeEvents() == [.answered(stream: 1, answer)], "split at \(split)")
      #expect(client.streamCount == 0)
    }
  }

  @Test func refusedStreamIsToldFromAResetOne() throws {
    let (client, _) = try ready()
    _ = client.submit(request)
    _ = client.submit(request)
    _ = try client.output()
    try client.receive((HTTP2Peer.reset(1, code: 7) + HTTP2Peer.reset(3, code: 2)).span.bytes)
    #expect(client.takeEvents() == [.refused(stream: 1), .reset(stream: 3, code: 2)])
  }

  @Test func goAwayRefusesTheStreamsAfterItsLast() throws {
    let (client, _) = try ready()
    for _ in 0..<3 { _ = client.submit(request) }
    _ = try client.output()
    try client.receive(HTTP2Peer.goAway(last: 1).span.bytes)
    let events = client.takeEvents()
    #expect(
      Set(events) == [.goingAway(code: 0), .refused(stream: 3), .refused(stream: 5)])
    #expect(client.submit(request) == nil)
    try client.receive(HTTP2Peer.answer(200, stream: 1).span.bytes)
    #expect(client.takeEvents() == [.answered(stream: 1, HTTP2Answer(status: 200))])
  }

  @Test func pingIsAnswered() throws {
    var (client, peer) = try ready()
    try client.receive(
      HTTP2Peer.frame(HTTP2Peer.ping, [1, 2, 3, 4, 5, 6, 7, 8]).span.bytes)
    let frames = peer.frames(in: try client.output())
    #expect(
      frames == [
        HTTP2Peer.Frame(
          type: HTTP2Peer.ping, flags: 1, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])
      ])
  }

  @Test func cancelledStreamHasNoEvent() throws {
    var (client, peer) = try ready()
    _ = client.submit(request)
    _ = try client.output()
    client.cancel(1)
    let frames = peer.frames(in: try client.output())
    #expect(frames.contains { $0.type == HTTP2Peer.reset && $0.stream == 1 })
    try client.receive(HTTP2Peer.answer(200, stream: 1).span.bytes)
    #expect(client.takeEvents().isEmpty)
  }

  @Test func longBodyIsNotRead() throws {
    let (client, _) = try ready()
    _ = client.submit(request)
    _ = try client.output()
    let head = HTTP2Peer.frame(HTTP2Peer.headers, flags: 4, stream: 1, [0x88])
    try client.receive(head.span.bytes)
    for _ in 0..<5 {
      let part = [UInt8](repeating: 0x20, count: 1_000)
      try client.receive(HTTP2Peer.frame(HTTP2Peer.data, stream: 1, part).span.bytes)
      _ = try client.output()
    }
    #expect(client.takeEvents() == [.reset(stream: 1, code: 8)])
  }

  @Test func connectionIsOverAfterAViolationOfTheProtocol() throws {
    var (client, peer) = try ready()
    _ = client.submit(request)
    _ = try client.output()
    #expect(!client.isOver)
    try client.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).span.bytes)
    let frames = peer.frames(in: try client.output())
    #expect(frames.map(\.type) == [HTTP2Peer.goAway])
    #expect(client.isOver)
  }
}

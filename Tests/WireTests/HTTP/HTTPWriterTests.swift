import LockstepModel
import LockstepWire
import Testing

struct HTTPWriterTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func anAnswerHasItsLength() {
    let bytes = HTTPWriter.response(
      status: 200, headers: ["Content-Type": "application/json"], body: Array("{}".utf8))
    #expect(
      text(bytes)
        == "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
  }

  @Test func anAnswerToHeadLeavesItsBodyOut() {
    let bytes = HTTPWriter.response(status: 200, body: [1, 2, 3], omitsBody: true)
    #expect(text(bytes) == "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
  }

  @Test func someAnswersHaveNoLength() {
    #expect(text(HTTPWriter.response(status: 100)) == "HTTP/1.1 100 Continue\r\n\r\n")
    #expect(text(HTTPWriter.response(status: 204)) == "HTTP/1.1 204 No Content\r\n\r\n")
    #expect(text(HTTPWriter.response(status: 304)) == "HTTP/1.1 304 Not Modified\r\n\r\n")
    #expect(
      text(HTTPWriter.response(status: 101, headers: ["Upgrade": "x"]))
        == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
  }

  @Test func aBodyMayComeInPieces() throws {
    var parser = HTTPResponseParser()
    parser.expectAnswer(to: "GET")
    let pieces = [[UInt8](repeating: 97, count: 16), Array("\r\n0\r\n\r\n".utf8), [1]]
    let bytes =
      HTTPWriter.responseHead(status: 200, headers: ["X": "y"], isChunked: true)
      + pieces.flatMap { HTTPWriter.chunk($0) } + HTTPWriter.lastChunk
    #expect(text(HTTPWriter.chunk(pieces[0])) == "10\r\naaaaaaaaaaaaaaaa\r\n")
    parser.receive(bytes.span.bytes)
    var body: [UInt8] = []
    var isWhole = false
    while let event = try parser.next() {
      switch event {
      case .head(let head): #expect(head.framing == .chunked && head.headers["X"] == "y")
      case .body(let piece): body += piece
      case .end: isWhole = true
      }
    }
    #expect(isWhole && body == pieces.flatMap { $0 })
    #expect(
      text(HTTPWriter.responseHead(status: 200, headers: ["X": "y"], isChunked: false))
        == "HTTP/1.1 200 OK\r\nX: y\r\n\r\n")
  }

  @Test func everyRefusalHasWordsForItsStatus() {
    for code in RefusalCode.allCases {
      let line = text(HTTPWriter.response(status: code.status)).prefix { $0 != "\r\n" }
      #expect(!line.hasSuffix(" Status"), "\(code)")
    }
  }

  @Test func aRequestHasItsHostAndLength() {
    let bytes = HTTPWriter.request(
      method: "POST",
      target: RequestTarget(path: ["v1", "a/b c"], query: [.init(name: "n", value: "&é")]),
      host: "relay:5625", headers: ["X": "y"], body: [])
    #expect(
      text(bytes)
        == "POST /v1/a%2Fb%20c?n=%26%C3%A9 HTTP/1.1\r\nHost: relay:5625\r\nX: y\r\n"
        + "Content-Length: 0\r\n\r\n")
    let begun = HTTPWriter.request(
      method: "PUT", target: RequestTarget(path: []), host: "a", body: [], bodyCount: 9)
    #expect(String(decoding: begun, as: UTF8.self).hasSuffix("Content-Length: 9\r\n\r\n"))
    let get = HTTPWriter.request(method: "GET", target: RequestTarget(path: []), host: "a")
    #expect(text(get) == "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  }

  @Test func aTargetOfOthersIsSentAsItIs() {
    let bytes = HTTPWriter.request(
      method: "POST", rawTarget: "/%7eA%41//b?=%2f&c=", host: "a.example", body: [1])
    #expect(
      text(bytes)
        == "POST /%7eA%41//b?=%2f&c= HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n\r\n\u{1}")
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    var random = SeededRandom(seed: 8)
    for count in [0, 1, 100, 5_000] {
      let body = randomBytes(count, using: &random)
      let target = RequestTarget(path: ["v1", "é"])
      let request = HTTPWriter.request(
        method: "PUT", target: target, host: "a", headers: ["X": "y"], body: body)
      let reading = RequestReading([request])
      #expect(reading.heads.first?.target == target)
      #expect(reading.heads.first?.headers["x"] == "y")
      #expect(reading.events.dropFirst() == (count == 0 ? [.end] : [.body(body), .end]))

      var parser = HTTPResponseParser()
      parser.expectAnswer(to: "PUT")
      parser.receive(HTTPWriter.response(status: 200, headers: ["X": "y"], body: body).span.bytes)
      guard case .head(let head) = try parser.next() else { return #expect(Bool(false)) }
      #expect(head.headers["X"] == "y")
      if count > 0 { #expect(try parser.next() == .body(body)) }
      #expect(try parser.next() == .end)
    }
  }
}

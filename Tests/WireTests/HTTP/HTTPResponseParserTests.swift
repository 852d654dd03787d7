import LockstepModel
import LockstepWire
import Testing
import WireLaws

struct HTTPResponseParserTests {
  static let conversation =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: 7\r\n\r\nhello"
    + "HTTP/1.1 200 \r\nContent-Length: 9\r\n\r\n" + "HTTP/1.1 204\r\n\r\n"
    + "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"
    + "HTTP/1.1 201 é\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\nT: u\r\n\r\n"
    + "HTTP/1.1 500 Oh\r\n\r\nuntil the end"
  static let methods = ["POST", "HEAD", "DELETE", "GET", "PUT", "GET"]

  @Test func anyCutGivesTheSameAnswers() {
    let bytes = Array(Self.conversation.utf8)
    let whole = ResponseReading([bytes], methods: Self.methods, endOfStream: true)
    #expect(whole.refusal == nil)
    #expect(whole.heads.map(\.status) == [200, 200, 204, 304, 201, 500])
    #expect(whole.heads.first?.headers["etag"] == "7")
    #expect(whole.bodies == ["hello", "abc", "until the end"])
    #expect(whole.events.count { $0 == .end } == 6)
    #expect(whole.heads.map(\.keepsAlive) == [true, true, true, true, true, false])
    for chunks in cuts(of: bytes) {
      #expect(ResponseReading(chunks, methods: Self.methods, endOfStream: true) == whole)
    }
  }

  @Test func anUpgradeLeavesTheRest() throws {
    var parser = HTTPResponseParser()
    parser.expectAnswer(to: "GET")
    let rest: [UInt8] = [0x81, 0x02, 13, 10]
    let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    parser.receive((Array(head.utf8) + rest).span.bytes)
    guard case .head(let answer) = try parser.next() else { return #expect(Bool(false)) }
    #expect(answer.status == 101)
    #expect(answer.framing == .none)
    #expect(try parser.next() == .end)
    #expect(parser.takeRest() == rest)
    #expect(try parser.next() == nil)
  }

  @Test(arguments: [
    "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n",
    "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
    "HTTP/1.1 200 O\u{0}K\r\n\r\n", "HTTP/1.1 200 OK\n\n", "HTTP/1.1 2e2 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n",
  ])
  func aMalformedAnswerIsThePeersFault(text: String) {
    for chunks in cuts(of: Array(text.utf8)) {
      #expect(ResponseReading(chunks, methods: ["GET"]).refusal == .internalError)
    }
  }

  @Test func answersNobodyAskedForAreRefused() {
    let answer = "HTTP/1.1 204 X\r\n\r\n"
    #expect(ResponseReading([Array(answer.utf8)], methods: []).refusal == .internalError)
    let two = ResponseReading([Array((answer + answer).utf8)], methods: ["GET"])
    #expect(two.heads.count == 1)
    #expect(two.refusal == .internalError)
  }

  @Test(arguments: [
    "", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nX: y", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "HTTP/1.1 100 X\r\n\r\n",
  ])
  func anEndInTheMiddleIsAFault(text: String) {
    let reading = ResponseReading([Array(text.utf8)], methods: ["GET"], endOfStream: true)
    #expect(reading.refusal == .internalError)
  }

  @Test func anEndBetweenAnswersIsInOrder() {
    #expect(ResponseReading([], methods: [], endOfStream: true).refusal == nil)
  }

  @Test func largeAnswersAreBounded() {
    let start = "HTTP/1.1 200 OK\r\n"
    func refusal(_ text: String) -> RefusalCode? {
      ResponseReading([Array(text.utf8)], methods: ["GET"], bodyLimit: 4).refusal
    }
    #expect(refusal(start + "Content-Length: 4\r\n\r\nabcd") == nil)
    #expect(refusal(start + "Content-Length: 5\r\n\r\n") == .bodyTooLarge)
    #expect(refusal(start + "\r\nabcd") == nil)
    #expect(refusal(start + "\r\nabcde") == .bodyTooLarge)
    #expect(refusal(start + String(repeating: "A: b\r\n", count: 101)) == .headersTooLarge)
    let long = "HTTP/1.1 200 " + String(repeating: "x", count: Limits.requestLineBytes)
    #expect(refusal(long) == .headersTooLarge)
  }

  @Test func damagedAnswersGiveTheSameFaultHoweverTheyAreCut() {
    var random = SeededRandom(seed: 6)
    let bytes = Array(Self.conversation.utf8)
    var refusals = 0
    for _ in 0..<3_000 {
      let input = damaged(bytes, using: &random)
      let whole = ResponseReading([input], methods: Self.methods, endOfStream: true)
      let single = input.map { [$0] }
      #expect(ResponseReading(single, methods: Self.methods, endOfStream: true) == whole)
      let cut = randomCut(of: input, using: &random)
      #expect(ResponseReading(cut, methods: Self.methods, endOfStream: true) == whole)
      if whole.refusal != nil { refusals += 1 }
    }
    // The damage is neither always fatal nor always harmless.
    #expect((500...2_800).contains(refusals))
  }
}

private struct ResponseReading: Equatable {
  var events: [HTTPResponseEvent] = []
  var refusal: RefusalCode?

  var heads: [HTTPResponseHead] {
    events.compactMap { if case .head(let head) = $0 { head } else { nil } }
  }
  var bodies: [String] {
    events.compactMap {
      if case .body(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
  }

  init(_ chunks: [[UInt8]], methods: [String], bodyLimit: Int? = nil, endOfStream: Bool = false) {
    var parser = HTTPResponseParser()
    if let bodyLimit { parser.bodyLimit = bodyLimit }
    for method in methods { parser.expectAnswer(to: method) }
    do throws(Refusal) {
      for chunk in chunks {
        parser.receive(chunk.span.bytes)
        while let event = try parser.next() { events.appendJoiningBodies(event) }
      }
      if endOfStream {
        try parser.endOfStream()
        while let event = try parser.next() { events.appendJoiningBodies(event) }
      }
    } catch {
      refusal = error.code
    }
  }
}

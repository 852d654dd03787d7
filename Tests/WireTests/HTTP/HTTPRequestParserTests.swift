import LockstepModel
import LockstepWire
import Testing

struct HTTPRequestParserTests {
  @Test func aWholeRequestComesOut() {
    let reading = RequestReading(
      "POST /v1/zones/a%2Fb/records?x=1 HTTP/1.1\r\nHost: relay:5625\r\n"
        + "Content-Length: 5\r\nX-Blank:\t \r\n\r\nhello")
    #expect(reading.refusal == nil)
    #expect(reading.bodies == ["hello"])
    #expect(reading.events.last == .end)
    let head = reading.heads.first
    #expect(head?.method == "POST")
    #expect(head?.target.path == ["v1", "zones", "a/b", "records"])
    #expect(head?.target["x"] == "1")
    #expect(head?.minorVersion == 1)
    #expect(head?.headers["host"] == "relay:5625")
    #expect(head?.headers["X-Blank"] == "")
    #expect(head?.framing == .length(5))
    #expect(head?.keepsAlive == true)
    #expect(head?.expectsContinue == false)
  }

  static let conversation =
    "GET /v1/time HTTP/1.1\r\nHost: a\r\n\r\n"
    + "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    + "5;a=\"b\"\r\nhello\r\n00A\r\n, world\r\n!\r\n0\r\nTrailer: x\r\n\r\n"
    + "\r\nPUT /2 HTTP/1.1\r\nhost: b\r\ncontent-length: 3\r\n\r\nabc"
    + "PUT /3 HTTP/1.1\r\nhost: b\r\ncontent-length: 0\r\n\r\n"
    + "GET /4 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    + "GET /5 HTTP/1.0\r\n\r\nafter the end"

  @Test func anyCutGivesTheSameRequests() {
    let bytes = Array(Self.conversation.utf8)
    let whole = RequestReading([bytes])
    #expect(whole.refusal == nil)
    #expect(whole.heads.map(\.target.path) == [["v1", "time"], ["1"], ["2"], ["3"], ["4"], ["5"]])
    #expect(whole.heads.map(\.keepsAlive) == [true, true, true, true, true, false])
    #expect(whole.bodies == ["hello, world\r\n!", "abc"])
    #expect(whole.bufferedBytes == 0)
    for chunks in cuts(of: bytes) { #expect(RequestReading(chunks) == whole) }
  }

  @Test func blanksAroundAValueAreNoPartOfIt() {
    let reading = RequestReading(
      "PUT / HTTP/1.1\r\nHost:a \r\nContent-Length: \t3 \t\r\nX: \ta  b\t \r\n\r\nabc")
    #expect(reading.bodies == ["abc"])
    #expect(reading.heads.first?.headers["Host"] == "a")
    #expect(reading.heads.first?.headers["X"] == "a  b")
  }

  @Test func nothingOfTheNextRequestComesBeforeItIsAskedFor() throws {
    var parser = HTTPRequestParser()
    let second = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
    parser.receive(Array(("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n" + second).utf8).span.bytes)
    guard case .head = try parser.next() else { return #expect(Bool(false)) }
    #expect(try parser.next() == .end)
    #expect(parser.bufferedBytes == second.utf8.count)
    #expect(!parser.isIdle)
    guard case .head(let head) = try parser.next() else { return #expect(Bool(false)) }
    #expect(head.target.path == ["2"])
    #expect(try parser.next() == .end)
    #expect(try parser.next() == nil)
    #expect(parser.isIdle)
    #expect(parser.bufferedBytes == 0)
  }

  @Test func bodiesAreHandedOutAsTheyCome() throws {
    var parser = HTTPRequestParser()
    parser.receive(
      Array("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nab".utf8).span.bytes)
    guard case .head = try parser.next() else { return #expect(Bool(false)) }
    #expect(try parser.next() == .body(Array("ab".utf8)))
    #expect(try parser.next() == nil)
    #expect(parser.bufferedBytes == 0)
    parser.receive(Array("cdefGET".utf8).span.bytes)
    #expect(try parser.next() == .body(Array("cdef".utf8)))
    #expect(try parser.next() == .end)
    #expect(try parser.next() == nil)
    #expect(parser.bufferedBytes == 3)
  }

  @Test(arguments: [
    ("HTTP/1.1", "X: y", true), ("HTTP/1.1", "Connection: close", false),
    ("HTTP/1.1", "Connection: x, CLOSE", false), ("HTTP/1.1", "connection: keep-alive", true),
    ("HTTP/1.0", "X: y", false), ("HTTP/1.0", "Connection: Keep-Alive", true),
    ("HTTP/1.0", "Connection: keep-alive, close", false), ("HTTP/1.9", "X: y", true),
  ])
  func theConnectionStaysAsItsVersionSays(version: String, field: String, stays: Bool) {
    let request = "GET / \(version)\r\nHost: a\r\n\(field)\r\n\r\n"
    let reading = RequestReading(request + request)
    #expect(reading.refusal == nil)
    #expect(reading.heads.map(\.keepsAlive) == (stays ? [true, true] : [false]))
  }

  @Test func theRestAfterAnUpgradeIsNotTouched() throws {
    let rest: [UInt8] = [0x81, 0x85, 13, 10, 13, 10]
    var parser = HTTPRequestParser()
    let head = "GET /v1/socket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n"
    parser.receive((Array(head.utf8) + rest).span.bytes)
    guard case .head = try parser.next() else { return #expect(Bool(false)) }
    #expect(try parser.next() == .end)
    #expect(parser.takeRest() == rest)
    #expect(parser.bufferedBytes == 0)
    parser.receive(([1, 2] as [UInt8]).span.bytes)
    #expect(try parser.next() == nil)
    #expect(parser.takeRest() == [])
  }

  @Test(arguments: [
    ("Expect: 100-continue\r\nContent-Length: 1", true),
    ("Expect: 100-Continue\r\nTransfer-Encoding: chunked", true), ("Expect: 100-continue", false),
    ("Content-Length: 1", false), ("Expect: 100-continue\r\nContent-Length: 0", false),
  ])
  func anExpectationIsSeenWhereABodyWaits(fields: String, expects: Bool) {
    let reading = RequestReading("PUT / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n")
    #expect(reading.heads.map(\.expectsContinue) == [expects])
  }

  @Test func http10KnowsNoExpectation() {
    let reading = RequestReading("PUT / HTTP/1.0\r\nExpect: x\r\nContent-Length: 1\r\n\r\n")
    #expect(reading.heads.map(\.expectsContinue) == [false])
  }

  @Test func anEndBetweenRequestsIsInOrder() {
    #expect(RequestReading("", endOfStream: true).refusal == nil)
    #expect(RequestReading("GET / HTTP/1.0\r\n\r\n", endOfStream: true).refusal == nil)
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    #expect(RequestReading(request, endOfStream: true).refusal == nil)
    for cut in 1..<request.utf8.count {
      let start = String(decoding: request.utf8.prefix(cut), as: UTF8.self)
      #expect(RequestReading(start, endOfStream: true).refusal == .badRequest)
    }
    let half = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na"
    #expect(RequestReading(half, endOfStream: true).refusal == .badRequest)
  }

  @Test func damagedRequestsGiveTheSameRefusalHoweverTheyAreCut() {
    var random = SeededRandom(seed: 5)
    let bytes = Array(Self.conversation.utf8)
    var refusals = 0
    for round in 0..<3_000 {
      let input =
        round % 50 == 0 ? randomBytes(100, using: &random) : damaged(bytes, using: &random)
      let whole = RequestReading([input])
      #expect(RequestReading(input.map { [$0] }) == whole)
      #expect(RequestReading(randomCut(of: input, using: &random)) == whole)
      guard whole.refusal != nil else { continue }
      refusals += 1
      #expect(whole.bufferedBytes == 0)
    }
    // The damage is neither always fatal nor always harmless.
    #expect((500...2_500).contains(refusals))
  }
}

import LockstepModel
import LockstepWire
import Testing

/// Requests that `HTTPRequestParser` refuses, with the code.
struct HTTPRequestRefusalTests {
  private static let body = "\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

  @Test(arguments: [
    // The request line.
    "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
    "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\r\nHost: a\r\n\r\n", "GET\r\n\r\n",
    "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "\nGET / HTTP/1.1\r\n",
    "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "G\u{E9}T / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /\rx HTTP/1.1\r\nHost: a\r\n\r\n", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / http/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1\r\nHost: a\r\n\r\n",
    "GET / HTTP/11\r\nHost: a\r\n\r\n", "GET / HTTP/1.x\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.10\r\nHost: a\r\n\r\n", "GET / XTTP/1.1\r\nHost: a\r\n\r\n",
    "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "\u{16}\u{3}\u{1}",
    // Fields.
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nb\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: \u{7F}\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX(: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX\u{E9}: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
    // Host.
    "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
    "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
    "GET http://a/ HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a:xx\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a%4\r\n\r\n",
    "GET http://a:xx/ HTTP/1.1\r\nHost: a\r\n\r\n",
    // Chunks.
    "5 \r\nhello", "5 x\r\nhello", "\r\nhello", "x\r\nhello", "-5\r\nhello", "0x5\r\nhello",
    "+5\r\nhello", " 5\r\nhello", "5\nhello", "5\r\nhello!\r\n", "5\r\nhello\n0\r\n",
    "5\rhello\r\n",
    "5;\u{0}\r\nhello", "5;a\rb\r\nhello", "0\r\nX y\r\n\r\n", "0\r\n X: y\r\n\r\n",
    "0\r\nX: y\n\r\n", "0000000000000001\r\nx", "ffffffffffffffff\r\nx",
  ])
  func whatCanBeReadInTwoWaysIsABadRequest(text: String) {
    let isRequest = text.contains("HTTP") || text.contains("GET") || text.hasPrefix("\u{16}")
    let start = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    let bytes = Array((isRequest ? text : start + text).utf8)
    for chunks in cuts(of: bytes) {
      #expect(RequestReading(chunks).refusal == .badRequest, "\(text.debugDescription)")
    }
  }

  @Test(arguments: [
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", RefusalCode.badRequest),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5", .badRequest),
    ("Content-Length: 5\r\nContent-Length: 6", .badRequest),
    ("Content-Length: 5\r\nContent-Length: 5", .badRequest),
    ("Content-Length: 5, 5", .badRequest), ("Content-Length: +5", .badRequest),
    ("Content-Length: -5", .badRequest), ("Content-Length: 0x5", .badRequest),
    ("Content-Length: 5 5", .badRequest), ("Content-Length:", .badRequest),
    ("Content-Length: 5a", .badRequest), ("Content-Length: 1e3", .badRequest),
    ("Content-Length: 9999999999999999999999", .badRequest),
    ("Content-Length: ٥", .badRequest),
    ("Transfer-Encoding: gzip, chunked", .unsupportedTransferCoding),
    ("Transfer-Encoding: gzip", .unsupportedTransferCoding),
    ("Transfer-Encoding: identity", .unsupportedTransferCoding),
    ("Transfer-Encoding: chunked, chunked", .unsupportedTransferCoding),
    ("Transfer-Encoding: chunked;q=1", .unsupportedTransferCoding),
    ("Transfer-Encoding: \"chunked\"", .unsupportedTransferCoding),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .unsupportedTransferCoding),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", .unsupportedTransferCoding),
    ("Transfer-Encoding:", .unsupportedTransferCoding),
    ("Expect: 200-ok\r\nContent-Length: 5", .expectationFailed),
    ("Expect: 100-continue, x\r\nContent-Length: 5", .expectationFailed),
  ])
  func framingThatIsNotPlainIsRefused(fields: String, code: RefusalCode) {
    let text = "PUT / HTTP/1.1\r\nHost: a\r\n\(fields)" + Self.body
    for chunks in cuts(of: Array(text.utf8)) {
      let reading = RequestReading(chunks)
      #expect(reading.refusal == code)
      #expect(reading.events == [])
    }
  }

  @Test func transferCodingInHTTP10IsRefused() {
    let text = "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked" + Self.body
    #expect(RequestReading(text).refusal == .badRequest)
  }

  @Test(arguments: ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/3.0\r\n", "GET / HTTP/0.9\r\n"])
  func otherVersionsAreNamed(text: String) {
    #expect(RequestReading(text).refusal == .unsupportedVersion)
  }

  @Test func aLongRequestLineIsRefusedBeforeItEnds() {
    let longest = Limits.requestLineBytes - "GET / HTTP/1.1".utf8.count
    func start(_ count: Int) -> String { "GET /" + String(repeating: "a", count: count) }
    #expect(RequestReading(start(longest) + " HTTP/1.1\r\nHost: a\r\n\r\n").heads.count == 1)
    #expect(
      RequestReading(start(longest + 1) + " HTTP/1.1\r\nHost: a\r\n\r\n").refusal == .uriTooLong)
    #expect(RequestReading(start(Limits.requestLineBytes)).refusal == .uriTooLong)
  }

  @Test func manyOrLargeFieldsAreRefusedBeforeTheyEnd() {
    let start = "GET / HTTP/1.1\r\nHost: a\r\n"
    func fields(_ count: Int) -> String { String(repeating: "A: b\r\n", count: count) }
    #expect(RequestReading(start + fields(Limits.headerCount - 1) + "\r\n").heads.count == 1)
    #expect(RequestReading(start + fields(Limits.headerCount)).refusal == .headersTooLarge)
    let value = String(repeating: "v", count: Limits.headerBytes - "Host: a\r\nX: \r\n".utf8.count)
    #expect(RequestReading(start + "X: " + value + "\r\n\r\n").heads.count == 1)
    #expect(RequestReading(start + "X: " + value + "v\r\n\r\n").refusal == .headersTooLarge)
    let endless = start + "X: " + String(repeating: "v", count: Limits.headerBytes)
    #expect(RequestReading(endless).refusal == .headersTooLarge)
  }

  @Test func aBodyTooLargeIsRefusedBeforeItIsRead() {
    func request(_ fields: String) -> String { "PUT / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n" }
    let limit = Limits.smallBodyBytes
    #expect(RequestReading(request("Content-Length: \(limit)")).refusal == nil)
    #expect(RequestReading(request("Content-Length: \(limit + 1)")).refusal == .bodyTooLarge)
    #expect(
      RequestReading(request("Content-Length: \(limit + 1)"), bodyLimit: limit + 1).refusal == nil)
    #expect(
      RequestReading(request("Content-Length: 3") + "abc", bodyLimit: 2).refusal == .bodyTooLarge)
    let chunked = request("Transfer-Encoding: chunked")
    #expect(RequestReading(chunked + "3\r\nabc\r\n3\r\n", bodyLimit: 6).refusal == nil)
    let over = RequestReading(chunked + "3\r\nabc\r\n4\r\n", bodyLimit: 6)
    #expect(over.refusal == .bodyTooLarge)
    #expect(over.bodies == ["abc"])
    #expect(RequestReading(chunked + "fffffffffffffff\r\n").refusal == .bodyTooLarge)
  }

  @Test func aLargerLimitEndsWithItsRequest() throws {
    var parser = HTTPRequestParser()
    let request = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
    parser.receive(Array((request + request).utf8).span.bytes)
    _ = try parser.next()
    parser.bodyLimit = 1_000_000
    _ = try parser.next()
    _ = try parser.next()
    _ = try parser.next()
    #expect(parser.bodyLimit == Limits.smallBodyBytes)
  }

  @Test func chunkExtensionsAndTrailersAreBounded() {
    let start = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    let chunk = "1;" + String(repeating: "x", count: 1_000) + "\r\na\r\n"
    #expect(RequestReading(start + String(repeating: chunk, count: 16)).refusal == nil)
    #expect(
      RequestReading(start + String(repeating: chunk, count: 17)).refusal == .headersTooLarge)
    let endless = "1;" + String(repeating: "x", count: Limits.headerBytes + 20)
    #expect(RequestReading(start + endless).refusal == .headersTooLarge)
    let trailer = "X: " + String(repeating: "y", count: 1_000) + "\r\n"
    let trailers = start + "0\r\n" + String(repeating: trailer, count: 17)
    #expect(RequestReading(trailers).refusal == .headersTooLarge)
  }

  @Test func nothingComesAfterARefusal() throws {
    var parser = HTTPRequestParser()
    parser.receive(Array("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8).span.bytes)
    #expect(throws: Refusal.self) { try parser.next() }
    #expect(try parser.next() == nil)
    parser.receive(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8).span.bytes)
    #expect(try parser.next() == nil)
    #expect(parser.bufferedBytes == 0)
    try parser.endOfStream()
  }
}

import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// An HTTP client of a node, at the level of bytes.
final class HTTPClient {
  struct Response {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]
    var keepsAlive: Bool

    var json: JSONValue? {
      do { return try JSONValue(parsing: body) } catch { return nil }
    }
    var code: String? { json?["code"]?.string }
  }

  let relay: TestRelay
  let id: ConnectionID
  private var parser = HTTPResponseParser()
  private var head: HTTPResponseHead?
  private var body: [UInt8] = []

  init(
    _ relay: TestRelay, node: Int = 0, listenerKind: Opening.ListenerKind = .public,
    from host: String = "192.0.2.1"
  ) {
    self.relay = relay
    id = relay.open(node: node, listenerKind: listenerKind, from: host)
    parser.bodyLimit = 16 << 20
  }

  var isClosed: Bool { relay.wire(id).closed != nil }

  /// Returns the bytes of a request.
  static func bytes(
    _ method: String, _ path: String, token: String? = nil, _ body: [UInt8]? = nil,
    headers: [(String, String)] = []
  ) -> [UInt8] {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: relay\r\n"
    if let token { text += "Authorization: Bearer \(token)\r\n" }
    if let body {
      if !headers.contains(where: { $0.0 == "Content-Type" }) {
        text += "Content-Type: application/json\r\n"
      }
      text += "Content-Length: \(body.count)\r\n"
    }
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    return Array((text + "\r\n").utf8) + (body ?? [])
  }

  func send(
    _ method: String, _ path: String, token: String? = nil, _ body: [UInt8]? = nil,
    headers: [(String, String)] = []
  ) {
    parser.expectAnswer(to: method)
    relay.send(id, HTTPClient.bytes(method, path, token: token, body, headers: headers))
  }

  /// Sends bytes that form `count` requests.
  func sendRaw(_ text: String, answers count: Int = 1, to method: String = "GET") {
    for _ in 0..<count { parser.expectAnswer(to: method) }
    relay.send(id, Array(text.utf8))
  }

  func expectAnswer(to method: String) { parser.expectAnswer(to: method) }

  /// Returns the next response received; nil if none is complete.
  func next() throws -> Response? {
    let wire = relay.wire(id)
    parser.receive(wire.incoming.span.bytes)
    wire.incoming = []
    while let event = try parser.next() {
      switch event {
      case .head(let new):
        head = new
        body = []
      case .body(let bytes): body += bytes
      case .end:
        guard let head else { return nil }
        return Response(
          status: head.status, headers: head.headers, body: body, keepsAlive: head.keepsAlive)
      }
    }
    return nil
  }

  /// Sends a request, runs the relay until nothing is left to do, and returns the response.
  func call(
    _ method: String, _ path: String, token: String? = nil, _ body: String? = nil,
    headers: [(String, String)] = []
  ) throws -> Response {
    send(method, path, token: token, body.map { Array($0.utf8) }, headers: headers)
    relay.runUntilIdle()
    if let answer = try next() { return answer }
    // A request over the rate limit is answered a little later.
    relay.advance(Limits.rateLimitDelayMilliseconds)
    let answer = try #require(try next(), "\(method) \(path) was not answered")
    #expect(answer.status == 429, "an answer that was waited for")
    return answer
  }
}

/// A signed-in device of a test.
struct TestDevice {
  var credentials: Credentials
  var token: String { credentials.token }
}

extension TestRelay {
  /// Creates an account with its first device.
  func newAccount(node: Int = 0, from host: String = "192.0.2.1") throws -> TestDevice {
    let client = HTTPClient(self, node: node, from: host)
    let response = try client.call(
      "POST", "/v1/accounts", #"{"deviceName":"A","platform":"test","appVersion":"1"}"#)
    try #require(response.status == 201)
    return TestDevice(credentials: try JoinAnswer.decoded(body: response.body).credentials)
  }

  /// Adds another device to the account.
  func newDevice(beside device: TestDevice, name: String = "B") throws -> TestDevice {
    let client = HTTPClient(self)
    let offer = try client.call("POST", "/v1/pairings", token: device.token)
    let code = try PairingOffer.decoded(body: offer.body).code
    let response = try client.call(
      "POST", "/v1/devices",
      #"{"code":"\#(code)","deviceName":"\#(name)","platform":"test","appVersion":"1"}"#)
    try #require(response.status == 201)
    return TestDevice(credentials: try JoinAnswer.decoded(body: response.body).credentials)
  }
}

/// Returns the body of a save of one record; without `base` it overwrites any version.
func saveBody(
  _ name: String, value: Int = 1, at modifiedAt: Int64 = 1_700_000_000_000, base: Int64? = nil,
  id: BatchID
) -> String {
  let baseTag = base.map { "\($0)" } ?? #""any""#
  return #"{"id":"\#(id.text)","records":[{"name":"\#(name)","type":"t","fields":{"v":\#(value)},"#
    + #""modifiedAt":\#(modifiedAt),"baseTag":\#(baseTag)}]}"#
}

/// Returns the `number`-th batch id of a test.
func batch(_ number: Int) -> BatchID {
  BatchID(high: 0x4000, low: 1 << 63 | UInt64(number))
}

import LockstepModel
import LockstepWire
import Testing

struct WebSocketHandshakeTests {
  /// The key of the example in RFC 6455 section 1.3.
  private let key = "dGhlIHNhbXBsZSBub25jZQ=="
  private let acceptance = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  private func request(
    _ fields: String, method: String = "GET", version: String = "HTTP/1.1"
  ) throws -> HTTPRequestHead {
    let text = "\(method) /v1/socket \(version)\r\nHost: a\r\n\(fields)\r\n\r\n"
    return try #require(RequestReading(text).heads.first)
  }

  private func refusal(
    _ fields: String, method: String = "GET", version: String = "HTTP/1.1"
  ) throws -> RefusalCode? {
    let head = try request(fields, method: method, version: version)
    do throws(Refusal) {
      _ = try WebSocketHandshake.answer(to: head)
      return nil
    } catch {
      return error.code
    }
  }

  private var good: String {
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      + "Sec-WebSocket-Key: \(key)"
  }

  // MARK: server

  @Test func theExampleIsAnswered() throws {
    let answer = try WebSocketHandshake.answer(to: request(good))
    #expect(
      answer == [
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": acceptance,
      ])
  }

  @Test func theAnswersBytesAreThoseOfItsFields() throws {
    let extensions = "permessage-deflate; client_no_context_takeover"
    for fields in [good, good + "\r\nSec-WebSocket-Protocol: lockstep.v1"] {
      let head = try request(fields)
      let acceptance = try WebSocketHandshake.accept(head)
      var headers = try WebSocketHandshake.answer(to: head)
      #expect(acceptance.response() == HTTPWriter.response(status: 101, headers: headers))
      headers.append("Sec-WebSocket-Extensions", extensions)
      #expect(
        acceptance.response(extensions: extensions)
          == HTTPWriter.response(status: 101, headers: headers))
    }
  }

  @Test func listsAndCaseDoNotMatter() throws {
    let fields =
      "upgrade: foo/2, WebSocket\r\nconnection: keep-alive, upgrade\r\n"
      + "sec-websocket-version: 13\r\nsec-websocket-key: AQIDBAUGBwgJCgsMDQ4PEC=="
    #expect(try refusal(fields) == nil)
  }

  @Test func theSubprotocolIsEchoedWhereItIsOffered() throws {
    func echoed(_ offer: String) throws -> String? {
      let head = try request(good + "\r\nSec-WebSocket-Protocol: \(offer)")
      return try WebSocketHandshake.answer(to: head)["Sec-WebSocket-Protocol"]
    }
    #expect(try echoed("lockstep.v1") == "lockstep.v1")
    #expect(try echoed("chat, lockstep.v1\r\nSec-WebSocket-Protocol: x") == "lockstep.v1")
    #expect(try echoed("chat") == nil)
    #expect(try echoed("Lockstep.V1") == nil)
  }

  @Test func whatIsNoUpgradeToVersion13IsToldSo() throws {
    for (field, other) in [
      ("Upgrade: websocket", "X: y"), ("Upgrade: websocket", "Upgrade: h2c"),
      ("Connection: Upgrade", "X: y"), ("Connection: Upgrade", "Connection: close"),
      ("Version: 13", "Version: 8"), ("Version: 13", "Version: 13, 8"),
      ("Version: 13", "Nothing: 1"),
      ("Version: 13", "Version: 13\r\nSec-WebSocket-Version: 13"),
    ] {
      #expect(try refusal(good.replacing(field, with: other)) == .upgradeRequired)
    }
    #expect(try refusal(good, version: "HTTP/1.0") == .upgradeRequired)
    #expect(WebSocketHandshake.upgradeHeaders["Sec-WebSocket-Version"] == "13")
    #expect(RefusalCode.upgradeRequired.status == 426)
  }

  @Test func aBrokenRequestIsRefused() throws {
    for other in [
      "", "abc", "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25jZTE=", "!" + key.dropFirst(),
    ] {
      #expect(try refusal(good.replacing(key, with: other)) == .badRequest)
    }
    #expect(try refusal(good + "\r\nSec-WebSocket-Key: \(key)") == .badRequest)
    #expect(try refusal(good.replacing("Sec-WebSocket-Key", with: "X")) == .badRequest)
    #expect(try refusal(good + "\r\nContent-Length: 1") == .badRequest)
    #expect(try refusal(good, method: "POST") == .upgradeRequired)
    #expect(try refusal(good, method: "HEAD") == .upgradeRequired)
  }

  // MARK: client

  private func fault(_ head: String) throws -> RefusalCode? {
    var parser = HTTPResponseParser()
    parser.expectAnswer(to: "GET")
    parser.receive(Array(head.utf8).span.bytes)
    guard case .head(let answer) = try parser.next() else { throw Refusal(.badRequest, "no head") }
    do throws(Refusal) {
      try WebSocketHandshake.check(answer, key: key)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func onlyTheRightAnswerIsTaken() throws {
    let answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\n"
      + "Sec-WebSocket-Accept: \(acceptance)\r\nSec-WebSocket-Protocol: lockstep.v1\r\n\r\n"
    #expect(try fault(answer) == nil)
    #expect(try fault(answer.replacing("Sec-WebSocket-Protocol: lockstep.v1\r\n", with: "")) == nil)
    for (part, other) in [
      ("101 Switching", "200 Switching"), ("Upgrade: WebSocket", "Upgrade: h2c"),
      ("Upgrade: WebSocket\r\n", ""), ("Connection: upgrade", "Connection: close"),
      (acceptance, "S3pPLMBiTxaQ9kYGzzhZRbK+xOo="), ("Sec-WebSocket-Accept", "X"),
      ("lockstep.v1", "lockstep.v2"), ("lockstep.v1", "lockstep.v1, x"),
      ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
    ] {
      #expect(try fault(answer.replacing(part, with: other)) == .internalError)
    }
  }

  @Test func bothEndsAgree() throws {
    var random = SeededRandom(seed: 12)
    for _ in 0..<20 {
      let key = WebSocketHandshake.key(nonce: randomBytes(16, using: &random))
      let request = HTTPWriter.request(
        method: "GET", target: RequestTarget(path: ["v1", "socket"]), host: "a",
        headers: WebSocketHandshake.offer(key: key))
      let head = try #require(RequestReading([request]).heads.first)
      let answer = try WebSocketHandshake.answer(to: head)
      #expect(answer["Sec-WebSocket-Protocol"] == "lockstep.v1")
      var parser = HTTPResponseParser()
      parser.expectAnswer(to: "GET")
      parser.receive(HTTPWriter.response(status: 101, headers: answer).span.bytes)
      guard case .head(let response) = try parser.next() else { return #expect(Bool(false)) }
      try WebSocketHandshake.check(response, key: key)
    }
  }
}

import LockstepCrypto
import LockstepModel

/// The HTTP request and answer that open a WebSocket, for both ends (RFC 6455 section 4).
package enum WebSocketHandshake {
  /// The subprotocol that both ends use, even if it is not offered.
  package static let subprotocol = "lockstep.v1"

  /// Fields that an answer of 426 must contain, so that the client knows the protocol to request.
  package static let upgradeHeaders: HTTPHeaders = [
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
  ]

  // MARK: server

  /// Returns the header fields of the 101 that answers `head` (section 4.2);
  /// `DeflateNegotiation.answer` may add the one of extensions. Throws `upgradeRequired` if the
  /// request does not ask for a WebSocket, or asks for another version of it: the answer then
  /// contains `upgradeHeaders`.
  package static func answer(to head: HTTPRequestHead) throws(Refusal) -> HTTPHeaders {
    try accept(head).headers
  }

  /// Checks `head` as `answer` does. Returns what the answer that accepts it depends on.
  package static func accept(_ head: HTTPRequestHead) throws(Refusal) -> WebSocketAcceptance {
    let headers = head.headers
    guard head.method == "GET" else {
      throw Refusal(.upgradeRequired, "A WebSocket is opened with GET.")
    }
    // HTTP/1.0 has no upgrade (RFC 9110 section 7.8).
    guard head.minorVersion > 0, headers.listContains("websocket", in: "Upgrade"),
      headers.listContains("upgrade", in: "Connection")
    else {
      throw Refusal(.upgradeRequired, "Request an upgrade to websocket.")
    }
    guard let version = headers.onlyBytes(of: "Sec-WebSocket-Version"),
      equalIgnoringCase(version.span, "13")
    else {
      throw Refusal(.upgradeRequired, "Use version 13 of the WebSocket protocol.")
    }
    guard head.framing == .none || head.framing == .length(0) else {
      throw Refusal(.badRequest, "The request that opens a WebSocket has no body.")
    }
    guard let key = headers.onlyBytes(of: "Sec-WebSocket-Key"),
      Base64.decodedCount(key.span) == 16
    else {
      throw Refusal(.badRequest, "Sec-WebSocket-Key is not the base64 of 16 bytes.")
    }
    return WebSocketAcceptance(
      acceptance: acceptance(of: key),
      hasSubprotocol: headers.listContainsExactly("lockstep.v1", in: "Sec-WebSocket-Protocol"))
  }

  // MARK: client

  /// Returns a new key. `nonce`: 16 bytes, random for each connection.
  package static func key(nonce: [UInt8]) -> String {
    precondition(nonce.count == 16, "the key of a WebSocket has 16 bytes")
    return Base64.encode(nonce)
  }

  /// Returns the header fields of the request, to which others may be added (section 4.1).
  package static func offer(key: String, deflate: DeflateOffer? = nil) -> HTTPHeaders {
    var offer: HTTPHeaders = [
      "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key,
      "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": subprotocol,
    ]
    if let deflate { offer.append("Sec-WebSocket-Extensions", deflate.field) }
    return offer
  }

  /// Returns the agreed compression terms; nil if there is no compression. `deflate`: the request's
  /// offer. Throws if `head` does not open the WebSocket that was requested with `key`: the
  /// connection must then be closed.
  @discardableResult
  package static func check(
    _ head: HTTPResponseHead, key: String, deflate: DeflateOffer? = nil
  ) throws(Refusal) -> DeflateTerms? {
    let headers = head.headers
    guard head.status == 101 else {
      throw Refusal(.internalError, "The relay answered \(head.status), not with a WebSocket.")
    }
    guard headers.count(of: "Upgrade") == 1, let upgrade = headers.bytes(of: "Upgrade"),
      equalIgnoringCase(upgrade.span, "websocket"),
      headers.listContains("upgrade", in: "Connection")
    else {
      throw Refusal(.internalError, "The relay upgraded to another protocol than WebSocket.")
    }
    guard headers.values("Sec-WebSocket-Accept") == [acceptance(of: Array(key.utf8)[...])] else {
      throw Refusal(.internalError, "The answer to the WebSocket's key is wrong.")
    }
    let subprotocols = headers.values("Sec-WebSocket-Protocol")
    guard subprotocols.isEmpty || subprotocols == [subprotocol] else {
      throw Refusal(.internalError, "The relay uses a subprotocol that was not offered.")
    }
    if let deflate { return try DeflateNegotiation.check(headers, deflate) }
    guard headers.list("Sec-WebSocket-Extensions").isEmpty else {
      throw Refusal(.internalError, "The relay uses an extension that was not offered.")
    }
    return nil
  }

  /// Section 4.2.2: proves that the other end understood the request.
  private static func acceptance(of key: ArraySlice<UInt8>) -> String {
    let unique: StaticString = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(key.count + unique.utf8CodeUnitCount)
    bytes.append(contentsOf: key)
    bytes.append(
      contentsOf: UnsafeBufferPointer(start: unique.utf8Start, count: unique.utf8CodeUnitCount))
    return Base64.encode(SHA1.hash(bytes))
  }
}

/// Acceptance of a request for a WebSocket, from which its answer is made.
package struct WebSocketAcceptance: Sendable {
  /// Value of `Sec-WebSocket-Accept`.
  fileprivate let acceptance: String
  /// True if the subprotocol is echoed.
  fileprivate let hasSubprotocol: Bool

  /// Header fields of the 101.
  var headers: HTTPHeaders {
    var headers: HTTPHeaders = [
      "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": acceptance,
    ]
    if hasSubprotocol {
      headers.append("Sec-WebSocket-Protocol", WebSocketHandshake.subprotocol)
    }
    return headers
  }

  /// Returns the bytes of the 101 with these fields. `extensions`: value of
  /// `Sec-WebSocket-Extensions`; nil without.
  package func response(extensions: String? = nil) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(240 + (extensions?.utf8.count ?? 0))
    bytes.append("HTTP/1.1 101 Switching Protocols\r\n")
    bytes.append("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ")
    bytes.append(contentsOf: acceptance.utf8)
    bytes.append(hasSubprotocol ? "\r\nSec-WebSocket-Protocol: lockstep.v1\r\n" : "\r\n")
    if let extensions {
      bytes.append("Sec-WebSocket-Extensions: ")
      bytes.append(contentsOf: extensions.utf8)
      bytes.append("\r\n")
    }
    bytes.append("\r\n")
    return bytes
  }
}

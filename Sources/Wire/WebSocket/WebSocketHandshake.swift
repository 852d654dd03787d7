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
    guard headers.count(of: "Sec-WebSocket-Version") == 1, headers["Sec-WebSocket-Version"] == "13"
    else {
      throw Refusal(.upgradeRequired, "Use version 13 of the WebSocket protocol.")
    }
    guard head.framing == .none || head.framing == .length(0) else {
      throw Refusal(.badRequest, "The request that opens a WebSocket has no body.")
    }
    guard headers.count(of: "Sec-WebSocket-Key") == 1, let key = headers["Sec-WebSocket-Key"],
      Base64.decode(key)?.count == 16
    else {
      throw Refusal(.badRequest, "Sec-WebSocket-Key is not the base64 of 16 bytes.")
    }
    var answer: HTTPHeaders = [
      "Upgrade": "websocket", "Connection": "Upgrade",
      "Sec-WebSocket-Accept": acceptance(of: key),
    ]
    if headers.list("Sec-WebSocket-Protocol").contains(subprotocol) {
      answer.append("Sec-WebSocket-Protocol", subprotocol)
    }
    return answer
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
    guard headers.values("Sec-WebSocket-Accept") == [acceptance(of: key)] else {
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
  private static func acceptance(of key: String) -> String {
    Base64.encode(SHA1.hash(Array(key.utf8) + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)))
  }
}

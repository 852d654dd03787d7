/// How the length of a message's body is known (RFC 9112 section 6.3).
package enum HTTPFraming: Hashable, Sendable {
  /// There is no body.
  case none
  /// So many bytes, as Content-Length says.
  case length(Int)
  case chunked
  /// All until the connection ends; only in responses.
  case untilClose
}

/// A request without its body.
package struct HTTPRequestHead: Hashable, Sendable {
  /// A token, as it came: methods know upper and lower case.
  package var method: String
  package var target: RequestTarget
  /// 0 or 1: HTTP/1.0 or HTTP/1.1.
  package var minorVersion: Int
  package var headers: HTTPHeaders
  package var framing: HTTPFraming
  /// Whether the connection stays for another request after this one's answer.
  package var keepsAlive: Bool
  /// Whether the client waits for `100 Continue` before it sends the body.
  package var expectsContinue: Bool
}

/// A response without its body.
package struct HTTPResponseHead: Hashable, Sendable {
  /// 101, or 200 to 599 (and up to 999 from a peer that makes up its own).
  package var status: Int
  package var minorVersion: Int
  package var headers: HTTPHeaders
  package var framing: HTTPFraming
  /// Whether the connection may be used for another request.
  package var keepsAlive: Bool
}

package enum HTTPRequestEvent: Hashable, Sendable {
  case head(HTTPRequestHead)
  /// A chunk of the body, never empty.
  case body([UInt8])
  /// The request is whole. Comes after every head.
  case end
}

package enum HTTPResponseEvent: Hashable, Sendable {
  case head(HTTPResponseHead)
  /// A chunk of the body, never empty.
  case body([UInt8])
  /// The response is whole. Comes after every head.
  case end
}

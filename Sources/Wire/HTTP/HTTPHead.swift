/// Framing of a message's body: the rule that gives its length (RFC 9112 section 6.3).
package enum HTTPFraming: Hashable, Sendable {
  /// There is no body.
  case none
  /// The number of bytes in Content-Length.
  case length(Int)
  case chunked
  /// All bytes until the connection ends; only in responses.
  case untilClose
}

/// A request without its body.
package struct HTTPRequestHead: Hashable, Sendable {
  /// A token, unchanged: methods are case-sensitive.
  package var method: String
  package var target: RequestTarget
  /// 0 or 1: HTTP/1.0 or HTTP/1.1.
  package var minorVersion: Int
  package var headers: HTTPHeaders
  package var framing: HTTPFraming
  /// True if the connection stays open for another request after the answer to this one.
  package var keepsAlive: Bool
  /// True if the client waits for `100 Continue` before it sends the body.
  package var expectsContinue: Bool
}

/// A response without its body.
package struct HTTPResponseHead: Hashable, Sendable {
  /// 101, or 200 to 599 (up to 999 from a peer with statuses of its own).
  package var status: Int
  package var minorVersion: Int
  package var headers: HTTPHeaders
  package var framing: HTTPFraming
  /// True if the connection may be used for another request.
  package var keepsAlive: Bool
}

package enum HTTPRequestEvent: Hashable, Sendable {
  case head(HTTPRequestHead)
  /// A chunk of the body, never empty.
  case body([UInt8])
  /// The request is complete. Follows every head.
  case end
}

package enum HTTPResponseEvent: Hashable, Sendable {
  case head(HTTPResponseHead)
  /// A chunk of the body, never empty.
  case body([UInt8])
  /// The response is complete. Follows every head.
  case end
}

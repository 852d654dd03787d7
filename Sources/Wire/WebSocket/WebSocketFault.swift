/// Protocol violation of the peer, in the form of a close frame (RFC 6455 section 7.4.1).
package struct WebSocketFault: Error, Hashable, Sendable {
  package var closeCode: UInt16
  /// One sentence, short enough for a close frame.
  package var reason: String

  static func protocolError(_ reason: String) -> WebSocketFault {
    WebSocketFault(closeCode: 1002, reason: reason)
  }

  static let notUTF8 = WebSocketFault(closeCode: 1007, reason: "The text is not UTF-8.")

  static let notDeflate = WebSocketFault(
    closeCode: 1007, reason: "The compressed message is broken.")

  static func tooBig(_ limit: Int) -> WebSocketFault {
    WebSocketFault(closeCode: 1009, reason: "A message may have at most \(limit) bytes.")
  }
}

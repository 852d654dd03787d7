/// Encoder of server-sent events (WHATWG HTML, section 9.2).
///
///     [id: ID LF] [retry: MILLISECONDS LF] event: NAME LF data: JSON LF LF
///     : LF LF                                                            a comment
package enum EventStreamWriter {
  /// Encodes one event. `name` and `id` are ours, on one line each. `json`: a JSON text of any
  /// origin. Its line ends can only be between its tokens and are replaced by spaces, so a record's
  /// content cannot end the line and begin another. `id`: the id that a client sends when it
  /// reconnects; without one the last received id stays. `retryMilliseconds`: the delay before a
  /// client reconnects.
  package static func event(
    _ name: String, id: String? = nil, retryMilliseconds: Int64? = nil, json: [UInt8]
  ) -> [UInt8] {
    precondition(isOneLine(name) && isOneLine(id ?? ""), "a name or id that breaks its line")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(json.count + name.utf8.count + (id?.utf8.count ?? 0) + 64)
    if let id { add("id: ", id, to: &bytes) }
    if let retryMilliseconds { add("retry: ", String(retryMilliseconds), to: &bytes) }
    add("event: ", name, to: &bytes)
    bytes += "data: ".utf8
    let start = bytes.count
    bytes += json
    for index in start..<bytes.count where isLineEnd(bytes[index]) {
      bytes[index] = UInt8(ascii: " ")
    }
    bytes += "\n\n".utf8
    return bytes
  }

  /// An empty comment, which shows that the stream is still open.
  package static let heartbeat = Array(":\n\n".utf8)

  private static func add(_ field: String, _ value: String, to bytes: inout [UInt8]) {
    bytes += field.utf8
    bytes += value.utf8
    bytes.append(UInt8(ascii: "\n"))
  }

  private static func isOneLine(_ text: String) -> Bool {
    text.utf8.allSatisfy { !isLineEnd($0) && $0 != 0 }
  }

  private static func isLineEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }
}

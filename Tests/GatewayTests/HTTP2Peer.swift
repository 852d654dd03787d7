@testable import LockstepGateway

/// Server's end of an HTTP/2 connection, byte by byte and without nghttp2: frames of RFC 9113, and
/// fields of RFC 7541 in the forms that need no table of its own.
struct HTTP2Peer {
  struct Frame: Hashable {
    var type: UInt8
    var flags: UInt8
    var stream: Int32
    var payload: [UInt8]
  }

  static let data: UInt8 = 0
  static let headers: UInt8 = 1
  static let reset: UInt8 = 3
  static let settings: UInt8 = 4
  static let ping: UInt8 = 6
  static let goAway: UInt8 = 7
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  private var rest: [UInt8] = []
  private var isAfterPreface = false

  /// Returns the complete frames of the client.
  mutating func frames(in bytes: [UInt8]) -> [Frame] {
    rest += bytes
    if !isAfterPreface, rest.starts(with: HTTP2Peer.preface) {
      rest.removeFirst(HTTP2Peer.preface.count)
      isAfterPreface = true
    }
    var frames: [Frame] = []
    while rest.count >= 9 {
      let count = rest[..<3].reduce(0) { $0 << 8 | Int($1) }
      guard rest.count >= 9 + count else { break }
      let stream = rest[5..<9].reduce(0) { $0 << 8 | Int32($1) }
      frames.append(
        Frame(type: rest[3], flags: rest[4], stream: stream, payload: Array(rest[9..<9 + count])))
      rest.removeFirst(9 + count)
    }
    return frames
  }

  static func frame(
    _ type: UInt8, flags: UInt8 = 0, stream: Int32 = 0, _ payload: [UInt8] = []
  ) -> [UInt8] {
    number(payload.count, bytes: 3) + [type, flags] + number(Int(stream), bytes: 4) + payload
  }

  /// `streams`: SETTINGS_MAX_CONCURRENT_STREAMS.
  static func settings(streams: Int = 100) -> [UInt8] {
    frame(settings, [0, 3] + number(streams, bytes: 4))
  }

  /// Answer with a status, fields and a JSON body with the reason.
  static func answer(
    _ status: Int, stream: Int32, reason: String? = nil, fields: [(String, String)] = []
  ) -> [UInt8] {
    var block: [UInt8] = []
    for (name, value) in [(":status", String(status))] + fields {
      block += [0] + text(name) + text(value)
    }
    let head = frame(headers, flags: reason == nil ? 5 : 4, stream: stream, block)
    guard let reason else { return head }
    return head + frame(data, flags: 1, stream: stream, Array(#"{"reason":"\#(reason)"}"#.utf8))
  }

  static func reset(_ stream: Int32, code: Int) -> [UInt8] {
    frame(reset, stream: stream, number(code, bytes: 4))
  }

  static func goAway(last: Int32, code: Int = 0) -> [UInt8] {
    frame(goAway, number(Int(last), bytes: 4) + number(code, bytes: 4))
  }

  private static func text(_ text: String) -> [UInt8] {
    precondition(text.utf8.count < 127, "one byte holds the length")
    return [UInt8(text.utf8.count)] + text.utf8
  }

  private static func number(_ value: Int, bytes: Int) -> [UInt8] {
    (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}

import LockstepJSON
import LockstepModel

/// Operation that a NATS server sends to a client (NATS client protocol, "Protocol Messages").
package enum NATSOperation: Hashable, Sendable {
  case info(NATSServerInfo)
  /// `subscription`: the number that the client has given it.
  case message(subject: String, subscription: UInt64, payload: [UInt8])
  case ping
  case pong
  case ok
  /// The server's text, without quotes. Most errors end the connection.
  case error(String)
}

/// Facts that a server tells of itself, as far as a client of core NATS needs them.
package struct NATSServerInfo: Hashable, Sendable {
  package var version: String
  /// Bytes that a message may have.
  package var payloadLimit: Int
  /// True if the client must begin TLS before it says anything.
  package var requiresTLS: Bool
  /// True if the client must name a user, or a token.
  package var requiresLogin: Bool

  package init(
    version: String, payloadLimit: Int, requiresTLS: Bool = false, requiresLogin: Bool = false
  ) {
    self.version = version
    self.payloadLimit = payloadLimit
    self.requiresTLS = requiresTLS
    self.requiresLogin = requiresLogin
  }

  init(_ json: JSONValue) throws(NATSFault) {
    guard case .object = json else { throw .malformed("INFO is no object") }
    version = json["version"]?.string ?? ""
    payloadLimit = json["max_payload"]?.int64.flatMap { Int(exactly: $0) } ?? 0
    requiresTLS = json["tls_required"]?.bool ?? false
    requiresLogin = json["auth_required"]?.bool ?? false
  }
}

/// Reason for which a connection to a NATS server cannot go on.
package enum NATSFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The server's bytes are not its protocol.
  case malformed(String)
  /// The server reports this error.
  case refused(String)

  package var description: String {
    switch self {
    case .malformed(let detail): "it does not speak the protocol of NATS (\(detail))"
    case .refused(let text): "it answers: \(text)"
    }
  }
}

/// Parser of a server's bytes, which arrive in pieces of any size. Holds at most one operation.
///
///     INFO {"version":"2.9.10",…}␍␊
///     MSG <subject> <subscription> [reply-to] <bytes>␍␊<payload>␍␊
///     PING␍␊ · PONG␍␊ · +OK␍␊ · -ERR '<text>'␍␊
package struct NATSParser: Sendable {
  /// Bytes of a line; the longest is INFO of a server in a large cluster.
  static let lineBytes = 64 << 10
  private var buffer: [UInt8] = []
  /// Number of bytes of `buffer` that were parsed.
  private var parsed = 0
  /// Message whose payload is still to come.
  private var message: (subject: String, subscription: UInt64, bytes: Int)?

  package init() {}

  package mutating func append(_ bytes: [UInt8]) { buffer += bytes }

  /// Returns the next operation; nil if more bytes are needed.
  package mutating func next() throws(NATSFault) -> NATSOperation? {
    defer { compact() }
    while true {
      if let message {
        guard let payload = try takePayload(message.bytes) else { return nil }
        self.message = nil
        return .message(
          subject: message.subject, subscription: message.subscription, payload: payload)
      }
      guard let line = try takeLine() else { return nil }
      if let operation = try operation(line) { return operation }
    }
  }

  /// Frees the parsed bytes, seldom enough that each byte is moved a bounded number of times.
  private mutating func compact() {
    guard parsed > 0, parsed >= buffer.count / 2 else { return }
    buffer.removeFirst(parsed)
    parsed = 0
  }

  private mutating func takeLine() throws(NATSFault) -> [UInt8]? {
    guard let end = buffer[parsed...].firstIndex(of: UInt8(ascii: "\n")) else {
      guard buffer.count - parsed <= NATSParser.lineBytes else { throw .malformed("a long line") }
      return nil
    }
    guard end - parsed <= NATSParser.lineBytes else { throw .malformed("a long line") }
    guard end > parsed, buffer[end - 1] == UInt8(ascii: "\r") else {
      throw .malformed("a line ends without a carriage return")
    }
    let line = Array(buffer[parsed..<(end - 1)])
    parsed = end + 1
    return line
  }

  private mutating func takePayload(_ bytes: Int) throws(NATSFault) -> [UInt8]? {
    let end = parsed + bytes
    guard buffer.count >= end + 2 else { return nil }
    guard buffer[end] == UInt8(ascii: "\r"), buffer[end + 1] == UInt8(ascii: "\n") else {
      throw .malformed("a payload has another length")
    }
    let payload = Array(buffer[parsed..<end])
    parsed = end + 2
    return payload
  }

  /// Returns nil for the head of a message, whose payload follows. Names of operations may be
  /// written in any case.
  private mutating func operation(_ line: [UInt8]) throws(NATSFault) -> NATSOperation? {
    let words = line.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
    let name = words.first.map { String(decoding: $0, as: UTF8.self).uppercased() }
    switch name {
    case "INFO":
      guard let json = JSONValue(ifJSON: Array(line.dropFirst(4))) else {
        throw .malformed("INFO is not JSON")
      }
      return .info(try NATSServerInfo(json))
    case "MSG":
      message = try head(words.dropFirst().map { String(decoding: $0, as: UTF8.self) })
      return nil
    case "PING": return .ping
    case "PONG": return .pong
    case "+OK": return .ok
    case "-ERR":
      let text = Sanitised.text(Array(line.dropFirst(4)), atMost: 200)
      return .error(String(text.drop { " '".contains($0) }.prefix { $0 != "'" }))
    default:
      throw .malformed("“\(Sanitised.text(line, atMost: 40))”")
    }
  }

  private func head(
    _ words: [String]
  ) throws(NATSFault) -> (subject: String, subscription: UInt64, bytes: Int) {
    guard words.count == 3 || words.count == 4, let subscription = UInt64(words[1]),
      let bytes = words.last.flatMap({ Int($0) }), (0...NATSLimits.payloadBytes).contains(bytes)
    else { throw .malformed("MSG with other words, or too long") }
    return (words[0], subscription, bytes)
  }
}

/// Text of a server, to be shown to a person.
private enum Sanitised {
  /// Returns the start of the line, with `?` for bytes that are not printable ASCII.
  static func text(_ line: [UInt8], atMost limit: Int) -> String {
    String(
      decoding: line.prefix(limit).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") },
      as: UTF8.self)
  }
}

/// Limits of the client.
package enum NATSLimits {
  /// Bytes of a message. A relay's notices are shorter, and other messages are not for it.
  package static let payloadBytes = 64 << 10
  /// Time for a server to accept the connection and to let the client in.
  package static let openMilliseconds: Int64 = 5_000
  /// Pause between two attempts to connect.
  package static let pauseMilliseconds: Int64 = 1_000
  /// Silence after which the connection counts as lost. Each second a relay's own beat arrives.
  package static let silenceMilliseconds: Int64 = 5_000
  /// Time for the kernel to take the bytes of a message.
  package static let sendMilliseconds: Int64 = 2_000
}

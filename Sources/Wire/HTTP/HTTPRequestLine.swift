import LockstepModel

/// The first line of a request: `METHOD SP target SP HTTP/1.x` (RFC 9112 section 3).
struct HTTPRequestLine: Sendable {
  var method: String
  var target: RequestTarget
  var minorVersion: Int

  init(parsing line: Span<UInt8>) throws(Refusal) {
    let token = ByteSet.token
    var methodEnd = 0
    while methodEnd < line.count, token.contains(line[methodEnd]) { methodEnd += 1 }
    guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == UInt8(ascii: " ") else {
      throw Refusal(.badRequest, "The request does not begin with a method and a space.")
    }
    var targetEnd = methodEnd + 1
    while targetEnd < line.count, line[targetEnd] != UInt8(ascii: " ") { targetEnd += 1 }
    guard targetEnd < line.count else {
      throw Refusal(.badRequest, "The request line has no target or no HTTP version.")
    }
    minorVersion = try HTTPVersion.minor(line.extracting(targetEnd + 1..<line.count))
    target = try RequestTarget(parsing: line.extracting(methodEnd + 1..<targetEnd))
    method = line.extracting(0..<methodEnd).withUnsafeBufferPointer {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

/// `HTTP/1.0` or `HTTP/1.1` (RFC 9112 section 2.3).
enum HTTPVersion {
  /// Length of the text.
  static let count = 8

  /// Returns 0 or 1; a later 1.x is treated as 1.1 (RFC 9110 section 2.5).
  static func minor(_ text: Span<UInt8>) throws(Refusal) -> Int {
    let pattern: StaticString = "HTTP/d.d"
    let isVersion =
      text.count == count
      && (0..<count).allSatisfy { index in
        let expected = pattern.utf8Start[index]
        return expected == UInt8(ascii: "d") ? digit(text[index]) != nil : text[index] == expected
      }
    guard isVersion, let major = digit(text[5]), let minor = digit(text[7]) else {
      throw Refusal(.badRequest, "The first line does not name a version of HTTP.")
    }
    guard major == 1 else {
      throw Refusal(.unsupportedVersion, "Speak HTTP/1.1 with this server.")
    }
    return min(minor, 1)
  }

  private static func digit(_ byte: UInt8) -> Int? {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int(byte - UInt8(ascii: "0")) : nil
  }
}

import LockstepModel

/// Fields of an incoming message: collects them line by line and derives the message's framing.
/// Refuses everything that two readers might interpret differently.
struct HTTPFields: Sendable {
  private(set) var headers = HTTPHeaders()
  /// Bytes of all lines so far, with their ends.
  private var byteCount = 0

  /// Maximum length of the next line.
  var lineLimit: Int { Limits.headerBytes - byteCount }
  var isEmpty: Bool { headers.count == 0 }
  var bufferedBytes: Int { headers.lines.count }

  /// Adds a line of the form `name: value` (RFC 9112 section 5).
  mutating func add(_ line: Span<UInt8>) throws(Refusal) {
    let colon = try HTTPFields.checkedColon(line)
    byteCount += line.count + 2
    guard headers.count < Limits.headerCount, byteCount <= Limits.headerBytes else {
      throw Refusal(
        .headersTooLarge,
        "At most \(Limits.headerCount) header fields of \(Limits.headerBytes) bytes are taken.")
    }
    var (first, last) = (colon + 1, line.count)
    while first < last, line[first].isBlank { first += 1 }
    while last > first, line[last - 1].isBlank { last -= 1 }
    headers.append(name: line.extracting(0..<colon), value: line.extracting(first..<last))
  }

  /// Returns the index of the colon in a valid line.
  static func checkedColon(_ line: Span<UInt8>) throws(Refusal) -> Int {
    let token = ByteSet.token
    var colon = 0
    while colon < line.count, token.contains(line[colon]) { colon += 1 }
    guard colon > 0, colon < line.count, line[colon] == UInt8(ascii: ":") else {
      if line.count > 0, line[0].isBlank {
        throw Refusal(.badRequest, "A header field is folded; put it on one line.")
      }
      throw Refusal(.badRequest, "A header field has no name, or a blank before its colon.")
    }
    for index in colon + 1..<line.count where !line[index].isFieldContent {
      throw Refusal(.badRequest, "The value of a header field has a control character.")
    }
    return colon
  }

  /// Returns the framing given by Transfer-Encoding and Content-Length; nil if neither is present.
  /// `minorVersion`: HTTP/1.0 has no transfer codings (RFC 9112 section 6.1).
  func framing(minorVersion: Int) throws(Refusal) -> HTTPFraming? {
    let lengths = headers.count(of: "Content-Length")
    guard lengths <= 1 else {
      throw Refusal(.badRequest, "Content-Length is given more than once.")
    }
    if let coding = headers.bytes(of: "Transfer-Encoding") {
      guard lengths == 0 else {
        throw Refusal(.badRequest, "Content-Length and Transfer-Encoding exclude each other.")
      }
      guard minorVersion > 0 else {
        throw Refusal(.badRequest, "HTTP/1.0 knows no Transfer-Encoding; send Content-Length.")
      }
      guard headers.count(of: "Transfer-Encoding") == 1, equalIgnoringCase(coding.span, "chunked")
      else {
        throw Refusal(.unsupportedTransferCoding, "Send the body as it is, or chunked.")
      }
      return .chunked
    }
    guard let digits = headers.bytes(of: "Content-Length") else { return nil }
    guard let length = HTTPFields.length(digits.span) else {
      throw Refusal(.badRequest, "Content-Length is not a number of bytes.")
    }
    return .length(length)
  }

  /// Parses digits only, without sign and blanks; nil for anything else and for a length that no
  /// memory could hold.
  private static func length(_ digits: Span<UInt8>) -> Int? {
    guard !digits.isEmpty, digits.count <= 18 else { return nil }
    var length = 0
    for index in 0..<digits.count {
      guard digits[index] &- UInt8(ascii: "0") <= 9 else { return nil }
      length = length * 10 + Int(digits[index] - UInt8(ascii: "0"))
    }
    return length
  }

  /// True if the connection stays open after this message (RFC 9112 section 9.3).
  func keepsAlive(minorVersion: Int) -> Bool {
    if headers.listContains("close", in: "Connection") { return false }
    return minorVersion > 0 || headers.listContains("keep-alive", in: "Connection")
  }
}

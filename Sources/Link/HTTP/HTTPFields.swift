import Changes

/// The fields of a message that is coming in: collects them line by line and says what they mean
/// for the message's framing. Refuses whatever two readers might understand in two ways.
struct HTTPFields: Sendable {
  private(set) var headers = HTTPHeaders()
  /// Bytes of all lines so far, their ends counted.
  private var byteCount = 0

  /// How long the next line may be.
  var lineLimit: Int { Limits.headerBytes - byteCount }
  var isEmpty: Bool { headers.count == 0 }
  var bufferedBytes: Int { headers.lines.count }

  /// Takes a line of the form `name: value` (RFC 9112 section 5).
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

  /// Where the colon stands in a line that holds only what it may.
  static func checkedColon(_ line: Span<UInt8>) throws(Refusal) -> Int {
    var colon = 0
    while colon < line.count, ByteSet.token.contains(line[colon]) { colon += 1 }
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

  /// What Transfer-Encoding and Content-Length say; nil where neither is there. `minorVersion`:
  /// HTTP/1.0 knows no transfer codings (RFC 9112 section 6.1).
  func framing(minorVersion: Int) throws(Refusal) -> HTTPFraming? {
    let lengths = headers.values("Content-Length")
    let codings = headers.values("Transfer-Encoding")
    guard lengths.count <= 1 else {
      throw Refusal(.badRequest, "Content-Length is given more than once.")
    }
    if !codings.isEmpty {
      guard lengths.isEmpty else {
        throw Refusal(.badRequest, "Content-Length and Transfer-Encoding exclude each other.")
      }
      guard minorVersion > 0 else {
        throw Refusal(.badRequest, "HTTP/1.0 knows no Transfer-Encoding; send Content-Length.")
      }
      guard codings.count == 1, equalIgnoringCase(codings[0].utf8, "chunked".utf8) else {
        throw Refusal(.unsupportedTransferCoding, "Send the body as it is, or chunked.")
      }
      return .chunked
    }
    guard let text = lengths.first else { return nil }
    guard let length = HTTPFields.length(text) else {
      throw Refusal(.badRequest, "Content-Length is not a number of bytes.")
    }
    return .length(length)
  }

  /// Digits only, no sign and no blanks; nil for anything else and for what no memory could hold.
  private static func length(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 18 else { return nil }
    var length = 0
    for byte in text.utf8 {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      length = length * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return length
  }

  /// Whether the connection stays after this message (RFC 9112 section 9.3).
  func keepsAlive(minorVersion: Int) -> Bool {
    if headers.listContains("close", in: "Connection") { return false }
    return minorVersion > 0 || headers.listContains("keep-alive", in: "Connection")
  }
}

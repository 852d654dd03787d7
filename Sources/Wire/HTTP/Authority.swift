import LockstepModel

/// Host with an optional port, as in a `Host` field and in the absolute form of a target (RFC 9110
/// section 7.2; RFC 3986 section 3.2, without user information).
package struct Authority: Hashable, Sendable {
  package enum Host: Hashable, Sendable {
    case address(IPAddress)
    /// An address of a future kind (`[v1.x]`).
    case futureAddress
    /// A registered name, in lower case. It may be empty.
    case name(String)
  }

  package let host: Host

  /// Returns nil if the grammar does not allow `text`.
  package init?(_ text: some StringProtocol) { self.init(parsing: String(text).utf8Span.span) }

  init?(parsing text: Span<UInt8>) {
    guard Authority.isWellFormed(text) else { return nil }
    if text.count > 0, text[0] == UInt8(ascii: "[") {
      let literal = text.extracting(1..<Authority.firstIndex(of: UInt8(ascii: "]"), in: text))
      host = IPAddress(Authority.string(literal)).map { .address($0) } ?? .futureAddress
    } else {
      let end = Authority.firstIndex(of: UInt8(ascii: ":"), in: text)
      let name = Authority.string(text.extracting(0..<end)).lowercased()
      host = IPAddress(name).map { .address($0) } ?? .name(name)
    }
  }

  static func isWellFormed(_ text: Span<UInt8>) -> Bool {
    guard text.count > 0, text[0] == UInt8(ascii: "[") else {
      let end = firstIndex(of: UInt8(ascii: ":"), in: text)
      return isName(text.extracting(0..<end)) && isPort(text.extracting(end..<text.count))
    }
    let end = firstIndex(of: UInt8(ascii: "]"), in: text)
    return end < text.count && isLiteral(text.extracting(1..<end))
      && isPort(text.extracting(end + 1..<text.count))
  }

  /// True for valid text between brackets: an IPv6 address, or one of a future kind.
  private static func isLiteral(_ text: Span<UInt8>) -> Bool {
    guard text.count > 0, text[0].lowercased == UInt8(ascii: "v") else {
      return firstIndex(of: UInt8(ascii: ":"), in: text) < text.count
        && IPAddress(string(text)) != nil
    }
    let dot = firstIndex(of: UInt8(ascii: "."), in: text)
    guard dot > 1, dot + 1 < text.count else { return false }
    for index in 1..<dot where HexText.digit(text[index]) == nil { return false }
    for index in dot + 1..<text.count
    where text[index] != UInt8(ascii: ":") && !ByteSet.registeredName.contains(text[index]) {
      return false
    }
    return true
  }

  /// True for no text, or a colon and digits.
  private static func isPort(_ text: Span<UInt8>) -> Bool {
    guard text.count > 0 else { return true }
    for index in 1..<text.count where text[index] &- UInt8(ascii: "0") > 9 { return false }
    return text[0] == UInt8(ascii: ":")
  }

  private static func isName(_ text: Span<UInt8>) -> Bool {
    var index = 0
    while index < text.count {
      if ByteSet.registeredName.contains(text[index]) {
        index += 1
      } else if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
        HexText.digit(text[index + 1]) != nil, HexText.digit(text[index + 2]) != nil
      {
        index += 3
      } else {
        return false
      }
    }
    return true
  }

  /// Returns the count if there is none.
  private static func firstIndex(of byte: UInt8, in text: Span<UInt8>) -> Int {
    var index = 0
    while index < text.count, text[index] != byte { index += 1 }
    return index
  }

  private static func string(_ text: Span<UInt8>) -> String {
    text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }
}

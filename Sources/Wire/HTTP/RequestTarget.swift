import LockstepJSON
import LockstepModel

/// Target of a request: the path is split at its slashes and only then unescaped, so that `a%2Fb`
/// is one segment; the query's items are treated likewise.
package struct RequestTarget: Hashable, Sendable {
  package struct QueryItem: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// `/v1/time` is `["v1", "time"]`, `/` is empty, and a slash at the end makes an empty segment.
  package var path: [String]
  package var query: [QueryItem]
  /// Host of the absolute form, with its port; nil for the origin form. It replaces the field
  /// `Host` (RFC 9112 section 3.2.2).
  package var authority: String?

  package init(path: [String], query: [QueryItem] = [], authority: String? = nil) {
    self.path = path
    self.query = query
    self.authority = authority
  }

  /// Bytes of its texts, once they are unescaped.
  package var byteCount: Int {
    path.reduce(authority?.utf8.count ?? 0) { $0 + 1 + $1.utf8.count }
      + query.reduce(0) { $0 + 2 + $1.name.utf8.count + $1.value.utf8.count }
  }

  /// The value of the first item of this name; nil if there is none.
  package subscript(name: String) -> String? { query.first { $0.name == name }?.value }

  /// A name that occurs twice in the query: some readers would use its first value, others its
  /// last.
  package var repeatedName: String? {
    if query.count > 8 {
      var seen = Set<String>()
      return query.first { !$0.name.isEmpty && !seen.insert($0.name).inserted }?.name
    }
    // For few items, comparing them all is cheaper than a set.
    for index in query.indices where !query[index].name.isEmpty {
      for earlier in 0..<index where query[earlier].name == query[index].name {
        return query[index].name
      }
    }
    return nil
  }
}

// MARK: reading

extension RequestTarget {
  /// Reads a target in origin form or absolute form (RFC 9112 section 3.2). The scheme of the
  /// absolute form is not kept: the connection has its own.
  init(parsing text: Span<UInt8>) throws(Refusal) {
    guard text.count > 0 else { throw RequestTarget.malformed("is empty") }
    let target = ByteSet.target
    for index in 0..<text.count where !target.contains(text[index]) {
      throw RequestTarget.malformed("has a character that must be percent-encoded")
    }
    let host = try RequestTarget.authority(text)
    let start = host.upperBound
    authority = host.isEmpty ? nil : Authority.string(text.extracting(host))
    var end = start
    while end < text.count, text[end] != UInt8(ascii: "?") { end += 1 }
    path = []
    query = []
    // After the first slash; the absolute form may have no path at all.
    if end > start + 1 {
      path = try RequestTarget.split(text.extracting(start + 1..<end), at: UInt8(ascii: "/")) {
        (segment) throws(Refusal) in try RequestTarget.unescaped(segment, plusIsSpace: false)
      }
    }
    if end + 1 < text.count {
      let items = text.extracting(end + 1..<text.count)
      query = try RequestTarget.split(items, at: UInt8(ascii: "&")) {
        (item) throws(Refusal) in try QueryItem(parsing: item)
      }
    }
  }

  /// Returns the range of the host, which is empty in origin form. The path begins at its end.
  private static func authority(_ text: Span<UInt8>) throws(Refusal) -> Range<Int> {
    if text[0] == UInt8(ascii: "/") { return 0..<0 }
    guard
      let start = [schemeEnd(text, "http://"), schemeEnd(text, "https://")]
        .compactMap({ $0 }).first
    else { throw malformed("is neither a path nor an http URL") }
    var end = start
    while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?") {
      end += 1
    }
    guard end > start else { throw malformed("has no host") }
    guard Authority.isWellFormed(text.extracting(start..<end)) else {
      throw malformed("has a malformed host")
    }
    return start..<end
  }

  private static func schemeEnd(_ text: Span<UInt8>, _ scheme: String) -> Int? {
    guard text.count >= scheme.utf8.count else { return nil }
    for (index, byte) in scheme.utf8.enumerated() where text[index].lowercased != byte {
      return nil
    }
    return scheme.utf8.count
  }

  private static func split<Part>(
    _ text: Span<UInt8>, at separator: UInt8,
    _ part: (Span<UInt8>) throws(Refusal) -> Part
  ) throws(Refusal) -> [Part] {
    var parts: [Part] = []
    parts.reserveCapacity(4)
    var start = 0
    for index in 0..<text.count where text[index] == separator {
      parts.append(try part(text.extracting(start..<index)))
      start = index + 1
    }
    parts.append(try part(text.extracting(start..<text.count)))
    return parts
  }

  /// Returns the percent-decoded text. `plusIsSpace`: true for a query, in which forms encode a
  /// space as a plus sign.
  fileprivate static func unescaped(
    _ text: Span<UInt8>, plusIsSpace: Bool
  ) throws(Refusal) -> String {
    var index = 0
    while index < text.count, text[index] != UInt8(ascii: "%"), text[index] != UInt8(ascii: "+") {
      index += 1
    }
    if index == text.count {
      return text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    index = 0
    while index < text.count {
      let byte = text[index]
      index += 1
      if byte == UInt8(ascii: "%") {
        guard index + 1 < text.count, let high = HexText.digit(text[index]),
          let low = HexText.digit(text[index + 1])
        else { throw malformed("has a percent sign without two hexadecimal digits") }
        bytes.append((high << 4) | low)
        index += 2
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    guard let string = String(validating: bytes, as: UTF8.self) else {
      throw malformed("is not UTF-8 once it is percent-decoded")
    }
    return string
  }

  private static func malformed(_ fault: String) -> Refusal {
    Refusal(.badRequest, "The request target \(fault).")
  }
}

extension RequestTarget.QueryItem {
  /// Parses `name=value`; a name alone has an empty value.
  fileprivate init(parsing text: Span<UInt8>) throws(Refusal) {
    var end = 0
    while end < text.count, text[end] != UInt8(ascii: "=") { end += 1 }
    name = try RequestTarget.unescaped(text.extracting(0..<end), plusIsSpace: true)
    let start = min(end + 1, text.count)
    value = try RequestTarget.unescaped(text.extracting(start..<text.count), plusIsSpace: true)
  }
}

// MARK: writing

extension RequestTarget {
  /// The target in origin form, or in absolute form if it has a host. All bytes of the path and the
  /// query that are not unreserved are percent-encoded.
  package var text: String {
    var bytes: [UInt8] = authority.map { Array("http://\($0)".utf8) } ?? []
    if path.isEmpty { bytes.append(UInt8(ascii: "/")) }
    for segment in path {
      bytes.append(UInt8(ascii: "/"))
      RequestTarget.escape(segment, into: &bytes)
    }
    for (index, item) in query.enumerated() {
      bytes.append(index == 0 ? UInt8(ascii: "?") : UInt8(ascii: "&"))
      RequestTarget.escape(item.name, into: &bytes)
      bytes.append(UInt8(ascii: "="))
      RequestTarget.escape(item.value, into: &bytes)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func escape(_ text: String, into bytes: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in text.utf8 {
      if ByteSet.unreserved.contains(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
  }
}

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
  package init?(_ text: some StringProtocol) {
    guard let authority = String(text).withUTF8Bytes({ Authority(parsing: $0) }) else { return nil }
    self = authority
  }

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

  fileprivate static func string(_ text: Span<UInt8>) -> String {
    text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }
}

/// Range of bytes that a request asks for with `Range` (RFC 9110 section 14). One range is served;
/// fields that cannot be parsed, and several ranges at once, are ignored, as the RFC allows.
package enum ByteRange: Hashable, Sendable {
  /// No range: all bytes.
  case whole
  /// These bytes, at least one.
  case part(Range<Int>)
  /// There are no such bytes: 416.
  case unsatisfiable

  /// `field`: the value of `Range`; nil if there is none or more than one. `size`: the number of
  /// bytes that exist.
  package init(_ field: String?, of size: Int) {
    self = field.flatMap { ByteRange.parse($0.utf8, size) } ?? .whole
  }

  /// Parses `bytes=first-last`, `bytes=first-` or `bytes=-count`; nil for anything else.
  private static func parse(_ text: String.UTF8View, _ size: Int) -> ByteRange? {
    let unit: StaticString = "bytes="
    let start = text.prefix(unit.utf8CodeUnitCount)
    guard text.count > start.count,
      String(Substring(start)).withUTF8Bytes({ equalIgnoringCase($0, unit) })
    else { return nil }
    let ends = text.dropFirst(start.count).split(
      separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    if ends[0].isEmpty {
      guard let count = number(ends[1]) else { return nil }
      if count == 0 { return .unsatisfiable }
      return size == 0 ? .whole : .part(max(0, size - count)..<size)
    }
    guard let first = number(ends[0]) else { return nil }
    var last = Int.max
    if !ends[1].isEmpty {
      guard let named = number(ends[1]), named >= first else { return nil }
      last = named
    }
    return first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
  }

  /// Parses digits only. A number that is too large becomes `Int.max`.
  private static func number(_ text: Substring.UTF8View) -> Int? {
    guard !text.isEmpty else { return nil }
    var number = 0
    for byte in text {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tenfold.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
      number = overflow || carry ? Int.max : sum
    }
    return number
  }
}

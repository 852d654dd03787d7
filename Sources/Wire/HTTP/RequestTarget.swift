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

  package init(path: [String], query: [QueryItem] = []) {
    self.path = path
    self.query = query
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
  /// Reads a target in origin form or absolute form (RFC 9112 section 3.2). Scheme and host of the
  /// absolute form are not kept: there is one relay behind this connection.
  init(parsing text: Span<UInt8>) throws(Refusal) {
    guard text.count > 0 else { throw RequestTarget.malformed("is empty") }
    let target = ByteSet.target
    for index in 0..<text.count where !target.contains(text[index]) {
      throw RequestTarget.malformed("has a character that must be percent-encoded")
    }
    let start = try RequestTarget.pathStart(text)
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

  /// Returns the index at which the path begins. Scheme and host are skipped after validation.
  private static func pathStart(_ text: Span<UInt8>) throws(Refusal) -> Int {
    if text[0] == UInt8(ascii: "/") { return 0 }
    guard
      let authority = [schemeEnd(text, "http://"), schemeEnd(text, "https://")]
        .compactMap({ $0 }).first
    else { throw malformed("is neither a path nor an http URL") }
    var end = authority
    while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?") {
      end += 1
    }
    guard end > authority else { throw malformed("has no host") }
    guard Authority.isWellFormed(text.extracting(authority..<end)) else {
      throw malformed("has a malformed host")
    }
    return end
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

  private static func malformed(_ what: String) -> Refusal {
    Refusal(.badRequest, "The request target \(what).")
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
  /// The target in origin form; all bytes that are not unreserved are percent-encoded.
  package var text: String {
    var bytes: [UInt8] = path.isEmpty ? [UInt8(ascii: "/")] : []
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

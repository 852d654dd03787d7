import LockstepJSON
import LockstepModel

/// Framing of a message's body: the rule that gives its length (RFC 9112 section 6.3).
package enum HTTPFraming: Hashable, Sendable {
  /// There is no body.
  case none
  /// The number of bytes in Content-Length.
  case length(Int)
  case chunked
  /// All bytes until the connection ends; only in responses.
  case untilClose
}

/// A request without its body.
package struct HTTPRequestHead: Hashable, Sendable {
  /// A token, unchanged: methods are case-sensitive.
  package var method: String
  package var target: RequestTarget
  /// 0 or 1: HTTP/1.0 or HTTP/1.1.
  package var minorVersion: Int
  package var headers: HTTPHeaders
  package var framing: HTTPFraming
  /// True if the connection stays open for another request after the answer to this one.
  package var keepsAlive: Bool
  /// True if the client waits for `100 Continue` before it sends the body.
  package var expectsContinue: Bool
}

/// A response without its body.
package struct HTTPResponseHead: Hashable, Sendable {
  /// 101, or 200 to 599 (up to 999 from a peer with statuses of its own).
  package var status: Int
  package var minorVersion: Int
  package var headers: HTTPHeaders
  package var framing: HTTPFraming
  /// True if the connection may be used for another request.
  package var keepsAlive: Bool
}

package enum HTTPRequestEvent: Hashable, Sendable {
  case head(HTTPRequestHead)
  /// A chunk of the body, never empty.
  case body([UInt8])
  /// The request is complete. Follows every head.
  case end
}

package enum HTTPResponseEvent: Hashable, Sendable {
  case head(HTTPResponseHead)
  /// A chunk of the body, never empty.
  case body([UInt8])
  /// The response is complete. Follows every head.
  case end
}

/// Header fields in their order, stored in wire format: two allocations for any number of them, and
/// a `String` only for a value that is asked for.
package struct HTTPHeaders: Hashable, Sendable {
  /// One line per field: `Name: value` and CR LF.
  package private(set) var lines: [UInt8] = []
  private var fields: [Field] = []

  private struct Field: Hashable, Sendable {
    var start: Int32
    var nameCount: Int32
    var valueCount: Int32

    var name: Range<Int> { Int(start)..<Int(start + nameCount) }
    var value: Range<Int> {
      Int(start + nameCount) + 2..<Int(start + nameCount) + 2 + Int(valueCount)
    }
  }

  package init() {}

  package var count: Int { fields.count }

  /// The value of the first field of this name, in any case; nil if there is none. Bytes that are
  /// not UTF-8 become U+FFFD.
  package subscript(name: StaticString) -> String? { valueRange(of: name).map(text) }

  /// Returns the bytes of the same value.
  package func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
    valueRange(of: name).map { lines[$0] }
  }

  /// Returns the values of all fields of this name, in order.
  package func values(_ name: StaticString) -> [String] {
    var values: [String] = []
    var next = index(of: name)
    while let index = next {
      values.append(text(fields[index].value))
      next = self.index(of: name, from: index + 1)
    }
    return values
  }

  /// Returns the bytes of the value of the only field of this name; nil if there is none or more
  /// than one.
  package func onlyBytes(of name: StaticString) -> ArraySlice<UInt8>? {
    guard let only = index(of: name), index(of: name, from: only + 1) == nil else { return nil }
    return lines[fields[only].value]
  }

  package func contains(_ name: StaticString) -> Bool { index(of: name) != nil }

  /// Returns the number of fields with this name.
  package func count(of name: StaticString) -> Int {
    var count = 0
    var next = index(of: name)
    while let index = next {
      count += 1
      next = self.index(of: name, from: index + 1)
    }
    return count
  }

  /// Returns the members of all fields of this name, which are comma-separated lists (RFC 9110
  /// section 5.6.1), without empty members. Quoted strings are not parsed: none of the fields that
  /// are read as lists has any.
  package func list(_ name: StaticString) -> [String] {
    var members: [String] = []
    _ = contains(in: name) { member in
      members.append(text(member))
      return false
    }
    return members
  }

  /// True if the list of this name has the member `token`, in any case.
  package func listContains(_ token: StaticString, in name: StaticString) -> Bool {
    contains(in: name) { equalIgnoringCase(lines.span.extracting($0), token) }
  }

  /// True if the list of this name has the member `token`, in the same case.
  package func listContainsExactly(_ token: StaticString, in name: StaticString) -> Bool {
    let (characters, count) = (token.utf8Start, token.utf8CodeUnitCount)
    return contains(in: name) { member in
      guard member.count == count else { return false }
      for index in 0..<count where lines[member.lowerBound + index] != characters[index] {
        return false
      }
      return true
    }
  }

  /// True if `isMeant` is true for the range of any member of the list of this name.
  private func contains(in name: StaticString, _ isMeant: (Range<Int>) -> Bool) -> Bool {
    var next = index(of: name)
    while let index = next {
      let value = fields[index].value
      var start = value.lowerBound
      while start < value.upperBound {
        var end = start
        while end < value.upperBound, lines[end] != UInt8(ascii: ",") { end += 1 }
        let member = trimmed(start..<end)
        if !member.isEmpty, isMeant(member) { return true }
        start = end + 1
      }
      next = self.index(of: name, from: index + 1)
    }
    return false
  }

  /// Adds a field. `name` is ours, a token. `value` may be foreign: a control character in it
  /// becomes a space, so that no value can end its line and begin another.
  package mutating func append(_ name: StaticString, _ value: String) {
    let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    let token = ByteSet.token
    var isName = !name.isEmpty
    for index in 0..<name.count { isName = isName && token.contains(name[index]) }
    precondition(isName, "not a valid field name")
    let start = beginLine()
    lines.append(contentsOf: name)
    appendSeparator()
    let valueStart = lines.count
    let isPlain = value.withUTF8Bytes { value in
      value.withUnsafeBufferPointer { lines.append(contentsOf: $0) }
      return value.isFieldContent
    }
    if !isPlain {
      for index in valueStart..<lines.count where !lines[index].isFieldContent {
        lines[index] = UInt8(ascii: " ")
      }
    }
    endLine(from: start, nameCount: name.count)
  }

  /// Adds a received field whose name ends before `colon`. The line is already validated.
  mutating func append(line: Span<UInt8>, colon: Int, value: Range<Int>) {
    let start = beginLine()
    let isUsual = value.lowerBound == colon + 2 && value.upperBound == line.count
    if isUsual, line[colon + 1] == UInt8(ascii: " ") {
      line.withUnsafeBufferPointer { lines.append(contentsOf: $0) }
    } else {
      line.extracting(0..<colon).withUnsafeBufferPointer { lines.append(contentsOf: $0) }
      appendSeparator()
      line.extracting(value).withUnsafeBufferPointer { lines.append(contentsOf: $0) }
    }
    endLine(from: start, nameCount: colon)
  }

  private mutating func beginLine() -> Int {
    if fields.isEmpty {
      // Enough for most messages.
      lines.reserveCapacity(480)
      fields.reserveCapacity(8)
    }
    return lines.count
  }

  private mutating func appendSeparator() {
    lines.append(UInt8(ascii: ":"))
    lines.append(UInt8(ascii: " "))
  }

  private mutating func endLine(from start: Int, nameCount: Int) {
    let valueCount = lines.count - start - nameCount - 2
    lines.append(UInt8(ascii: "\r"))
    lines.append(UInt8(ascii: "\n"))
    fields.append(
      Field(
        start: Int32(start), nameCount: Int32(nameCount), valueCount: Int32(valueCount)))
  }

  /// Returns the range of the value of the first field of this name.
  private func valueRange(of name: StaticString) -> Range<Int>? {
    index(of: name).map { fields[$0].value }
  }

  /// Returns the index of the first field of this name, from `start` on.
  private func index(of name: StaticString, from start: Int = 0) -> Int? {
    let count = Int32(name.utf8CodeUnitCount)
    var index = start
    while index < fields.count {
      if fields[index].nameCount == count,
        equalIgnoringCase(lines.span.extracting(fields[index].name), name)
      {
        return index
      }
      index += 1
    }
    return nil
  }

  private func text(_ range: Range<Int>) -> String {
    String(decoding: lines[range], as: UTF8.self)
  }

  /// Returns the range without the blanks at both ends.
  private func trimmed(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, lines[start].isBlank { start += 1 }
    while end > start, lines[end - 1].isBlank { end -= 1 }
    return start..<end
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (StaticString, String)...) {
    for (name, value) in elements { append(name, value) }
  }
}

/// True if `bytes` equal `text`, ignoring the case of ASCII letters, as for names in HTTP.
package func equalIgnoringCase(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
  guard bytes.count == text.utf8CodeUnitCount else { return false }
  let characters = UnsafeRawPointer(text.utf8Start)
  var index = 0
  while index < bytes.count {
    // Eight bytes at a time, as long as they are the same.
    while index + 8 <= bytes.count,
      bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
        == characters.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    {
      index += 8
    }
    guard index < bytes.count else { break }
    let character = characters.load(fromByteOffset: index, as: UInt8.self)
    guard bytes[index] == character || bytes[index].lowercased == character.lowercased else {
      return false
    }
    index += 1
  }
  return true
}

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
        "At most \(Limits.headerCount) header fields of \(Limits.headerBytes) bytes are allowed.")
    }
    var (first, last) = (colon + 1, line.count)
    while first < last, line[first].isBlank { first += 1 }
    while last > first, line[last - 1].isBlank { last -= 1 }
    headers.append(line: line, colon: colon, value: first..<last)
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
    guard line.extracting(colon + 1..<line.count).isFieldContent else {
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
        throw Refusal(.badRequest, "HTTP/1.0 has no Transfer-Encoding; send Content-Length.")
      }
      guard headers.count(of: "Transfer-Encoding") == 1, equalIgnoringCase(coding.span, "chunked")
      else {
        throw Refusal(.unsupportedTransferCoding, "Send the body unencoded, or chunked.")
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

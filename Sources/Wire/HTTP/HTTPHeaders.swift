/// Header fields in their order, kept as they stand on the wire: two allocations however many
/// there are, and a `String` only for a value that is asked for.
package struct HTTPHeaders: Hashable, Sendable {
  /// `Name: value` and CR LF, a line a field.
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

  /// The value of the first field of this name, whatever its case; nil where there is none. Bytes
  /// that are no UTF-8 show as U+FFFD.
  package subscript(name: StaticString) -> String? { place(of: name).map(text) }

  /// The bytes of the same value.
  package func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
    place(of: name).map { lines[$0] }
  }

  /// The values of all fields of this name, in order.
  package func values(_ name: StaticString) -> [String] {
    var values: [String] = []
    for field in fields where isNamed(field, name) { values.append(text(field.value)) }
    return values
  }

  package func contains(_ name: StaticString) -> Bool { place(of: name) != nil }

  /// How many fields have this name.
  package func count(of name: StaticString) -> Int {
    var count = 0
    for field in fields where isNamed(field, name) { count += 1 }
    return count
  }

  /// The members of all fields of this name, which are lists with commas between them (RFC 9110
  /// section 5.6.1). Empty members are left out. Quoted strings are not looked into: none of the
  /// fields that are read as lists has any.
  package func list(_ name: StaticString) -> [String] {
    var members: [String] = []
    _ = contains(in: name) { member in
      members.append(text(member))
      return false
    }
    return members
  }

  /// Whether the list of this name has the member `token`, whatever its case.
  package func listContains(_ token: StaticString, in name: StaticString) -> Bool {
    contains(in: name) { equalIgnoringCase(lines.span.extracting($0), token) }
  }

  /// Whether any member of the list of this name is as `isMeant` says of its place.
  private func contains(in name: StaticString, _ isMeant: (Range<Int>) -> Bool) -> Bool {
    for field in fields where isNamed(field, name) {
      var start = field.value.lowerBound
      while start < field.value.upperBound {
        var end = start
        while end < field.value.upperBound, lines[end] != UInt8(ascii: ",") { end += 1 }
        let member = trimmed(start..<end)
        if !member.isEmpty, isMeant(member) { return true }
        start = end + 1
      }
    }
    return false
  }

  /// Adds a field. `name` is ours, a token. `value` may come from outside: a control character in
  /// it becomes a space, so that no value can ever end its line and begin another.
  package mutating func append(_ name: StaticString, _ value: String) {
    let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    let token = ByteSet.token
    precondition(!name.isEmpty && name.allSatisfy(token.contains), "not the name of a field")
    let start = beginLine()
    lines.append(contentsOf: name)
    appendSeparator()
    let valueStart = lines.count
    lines.append(contentsOf: value.utf8)
    for index in valueStart..<lines.count where !lines[index].isFieldContent {
      lines[index] = UInt8(ascii: " ")
    }
    endLine(from: start, nameCount: name.count)
  }

  /// Adds a field that came in. Both parts are known to hold only what they may.
  mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
    let start = beginLine()
    name.withUnsafeBufferPointer { lines.append(contentsOf: $0) }
    appendSeparator()
    value.withUnsafeBufferPointer { lines.append(contentsOf: $0) }
    endLine(from: start, nameCount: name.count)
  }

  private mutating func beginLine() -> Int {
    if fields.isEmpty {
      // What most messages have.
      lines.reserveCapacity(256)
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

  /// Where the value of the first field of this name stands.
  private func place(of name: StaticString) -> Range<Int>? {
    for field in fields where isNamed(field, name) { return field.value }
    return nil
  }

  private func isNamed(_ field: Field, _ name: StaticString) -> Bool {
    Int(field.nameCount) == name.utf8CodeUnitCount
      && equalIgnoringCase(lines.span.extracting(field.name), name)
  }

  private func text(_ place: Range<Int>) -> String {
    String(decoding: lines[place], as: UTF8.self)
  }

  /// Without the blanks at both ends.
  private func trimmed(_ place: Range<Int>) -> Range<Int> {
    var (start, end) = (place.lowerBound, place.upperBound)
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

/// Whether `bytes` are `text` but for the case of ASCII letters, as names in HTTP are.
package func equalIgnoringCase(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
  guard bytes.count == text.utf8CodeUnitCount else { return false }
  for index in 0..<bytes.count where bytes[index] != text.utf8Start[index] {
    guard bytes[index].lowercased == text.utf8Start[index].lowercased else { return false }
  }
  return true
}

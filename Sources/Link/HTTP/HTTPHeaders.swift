/// Header fields in their order, kept as they stand on the wire: two allocations however many
/// there are, and a `String` only for a value that is asked for.
package struct HTTPHeaders: Hashable, Sendable {
  /// `Name: value` and CR LF, a line a field.
  private(set) var lines: [UInt8] = []
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
  package subscript(name: String) -> String? {
    for field in fields where isNamed(field, name) { return text(lines[field.value]) }
    return nil
  }

  /// The values of all fields of this name, in order.
  package func values(_ name: String) -> [String] {
    fields.filter { isNamed($0, name) }.map { text(lines[$0.value]) }
  }

  package func contains(_ name: String) -> Bool { fields.contains { isNamed($0, name) } }

  /// The members of all fields of this name, which are lists with commas between them (RFC 9110
  /// section 5.6.1). Empty members are left out. Quoted strings are not looked into: none of the
  /// fields that are read as lists has any.
  package func list(_ name: String) -> [String] {
    fields.filter { isNamed($0, name) }.flatMap { field in
      lines[field.value].split(separator: UInt8(ascii: ",")).map(trimmed)
    }.filter { !$0.isEmpty }.map(text)
  }

  /// Whether the list of this name has the member `token`, whatever its case.
  package func listContains(_ token: String, in name: String) -> Bool {
    list(name).contains { equalIgnoringCase($0.utf8, token.utf8) }
  }

  /// Adds a field. `name` is ours, a token. `value` may come from outside: a control character in
  /// it becomes a space, so that no value can ever end its line and begin another.
  package mutating func append(_ name: String, _ value: String) {
    precondition(
      !name.isEmpty && name.utf8.allSatisfy(ByteSet.token.contains), "not the name of a field")
    let start = lines.count
    lines += name.utf8
    lines += ": ".utf8
    for byte in value.utf8 { lines.append(byte.isFieldContent ? byte : UInt8(ascii: " ")) }
    add(start: start, nameCount: name.utf8.count, valueCount: value.utf8.count)
  }

  /// Adds a field that came in. Both parts are known to hold only what they may.
  mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
    let start = lines.count
    name.withUnsafeBufferPointer { lines.append(contentsOf: $0) }
    lines += ": ".utf8
    value.withUnsafeBufferPointer { lines.append(contentsOf: $0) }
    add(start: start, nameCount: name.count, valueCount: value.count)
  }

  private mutating func add(start: Int, nameCount: Int, valueCount: Int) {
    lines += "\r\n".utf8
    fields.append(
      Field(
        start: Int32(start), nameCount: Int32(nameCount), valueCount: Int32(valueCount)))
  }

  private func isNamed(_ field: Field, _ name: String) -> Bool {
    Int(field.nameCount) == name.utf8.count && equalIgnoringCase(lines[field.name], name.utf8)
  }

  private func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  private func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var bytes = bytes.drop(while: \.isBlank)
    while let last = bytes.last, last.isBlank { bytes.removeLast() }
    return bytes
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { append(name, value) }
  }
}

/// Whether two texts are equal but for the case of ASCII letters, as names in HTTP are.
func equalIgnoringCase(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Bool {
  left.lazy.map(\.lowercased).elementsEqual(right.lazy.map(\.lowercased))
}

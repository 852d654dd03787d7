/// JSON value as a tree (RFC 8259), for content that must be examined: an app's fields, a reply, a
/// file. The wire's hot path uses `JSONScanner` and leaves `fields` as bytes.
///
/// Numbers keep their text, so that nothing is lost; they are equal if they have the same value.
/// Strings are equal if their bytes are. Objects are equal regardless of the order of their
/// members.
@usableFromInline
package indirect enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  /// Members in their original order; each name occurs once.
  case object([JSONMember])
}

/// One member of a JSON object.
@usableFromInline
package struct JSONMember: Hashable, Sendable {
  @usableFromInline package var name: String
  @usableFromInline package var value: JSONValue

  @usableFromInline
  package init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }

  @usableFromInline
  package static func == (left: JSONMember, right: JSONMember) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: name)
    hasher.combine(value)
  }
}

extension JSONValue: Hashable {
  // `String` compares by canonical equivalence; here two texts with different bytes are two values,
  // as they are for every other reader of the same JSON.
  @usableFromInline
  package static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)):
      left.count == right.count && left.sortedByName() == right.sortedByName()
    case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
    }
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value)
    case .string(let value): hasher.combine(bytesOf: value)
    case .array(let value): hasher.combine(value)
    case .object(let members): hasher.combine(members.sortedByName())
    }
  }
}

extension [JSONMember] {
  /// Returns the members in the order of their names' bytes, which is the canonical order.
  func sortedByName() -> [JSONMember] {
    sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }
}

extension Hasher {
  fileprivate mutating func combine(bytesOf text: String) {
    for byte in text.utf8 { combine(byte) }
    // No UTF-8 text contains this byte, so adjacent texts cannot run together.
    combine(UInt8(0xFF))
  }
}

extension JSONValue {
  /// The member of that name; nil if there is none, and for all values but objects.
  @usableFromInline
  package subscript(_ name: String) -> JSONValue? {
    guard let index = index(of: name), case .object(let members) = self else { return nil }
    return members[index].value
  }

  /// The text of a string; nil for anything else.
  @usableFromInline
  package var string: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  /// The number of a number; nil for anything else.
  @usableFromInline
  package var number: JSONNumber? {
    guard case .number(let value) = self else { return nil }
    return value
  }

  /// The value of a whole number that fits; nil for anything else.
  @usableFromInline package var int64: Int64? { number?.int64 }

  @usableFromInline
  package var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  /// The elements of an array; nil for anything else.
  @usableFromInline
  package var array: [JSONValue]? {
    guard case .array(let value) = self else { return nil }
    return value
  }

  /// The members of an object, in their order; nil for anything else.
  @usableFromInline
  package var members: [JSONMember]? {
    guard case .object(let value) = self else { return nil }
    return value
  }

  @usableFromInline
  package var isNull: Bool {
    guard case .null = self else { return false }
    return true
  }

  /// Returns this object with the member set: in its old place, or at the end if it is new. With
  /// nil the member is removed. A value that is not an object counts as an empty one. Copies the
  /// object: use `setting(_:)` for more than a few members.
  @usableFromInline
  package func setting(_ name: String, to value: JSONValue?) -> JSONValue {
    var members = members ?? []
    switch (index(of: name), value) {
    case (let index?, let value?): members[index].value = value
    case (let index?, nil): members.remove(at: index)
    case (nil, let value?): members.append(JSONMember(name, value))
    case (nil, nil): break
    }
    return .object(members)
  }

  /// Returns this object with all these members set, the later of two of one name, in one pass for
  /// any number of them. A value that is not an object counts as an empty one.
  @usableFromInline
  package func setting(_ changes: [JSONMember]) -> JSONValue {
    var members = members ?? []
    // Names are compared by their bytes: `String` would treat two spellings of one letter as equal.
    var indexes = Dictionary(
      members.enumerated().map { (Array($1.name.utf8), $0) },
      uniquingKeysWith: { first, _ in first })
    for change in changes {
      let name = Array(change.name.utf8)
      if let index = indexes[name] {
        members[index].value = change.value
      } else {
        indexes[name] = members.count
        members.append(change)
      }
    }
    return .object(members)
  }

  private func index(of name: String) -> Int? {
    guard case .object(let members) = self else { return nil }
    return members.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
  }
}

// There is deliberately no `nil` literal: where a JSONValue may be absent, it would mean null.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  @usableFromInline package init(booleanLiteral value: Bool) { self = .bool(value) }

  @usableFromInline package init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }

  @usableFromInline package init(stringLiteral value: String) { self = .string(value) }

  @usableFromInline package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// A name may occur once.
  @usableFromInline
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    let members = elements.map { JSONMember($0.0, $0.1) }
    precondition(!members.hasDuplicateName, "an object literal has a duplicate name")
    self = .object(members)
  }
}

extension JSONValue {
  /// Reads a whole JSON text (RFC 8259): one value, at most `JSONScanner.depthMax` deep, with only
  /// white space around it. A repeated name in an object is a fault.
  @usableFromInline
  package init(parsing bytes: [UInt8]) throws(JSONFault) {
    var scanner = JSONScanner(bytes.span.bytes)
    self = try scanner.value()
    try scanner.finish()
  }

  @usableFromInline
  package init(parsing text: String) throws(JSONFault) {
    try self.init(parsing: Array(text.utf8))
  }

  /// Returns nil if `bytes` is not such a text; for callers that do not need the fault.
  package init?(ifJSON bytes: [UInt8]) {
    do throws(JSONFault) {
      try self.init(parsing: bytes)
    } catch {
      return nil
    }
  }

  /// Returns the canonical form: members sorted by the bytes of their names, no white space, no
  /// unnecessary escape, each number in its only form. Equal values give the same bytes.
  @usableFromInline
  package func serialized() -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.value(self)
    return writer.finish()
  }

  /// `serialized()` as text.
  @usableFromInline package var text: String { String(decoding: serialized(), as: UTF8.self) }
}

extension JSONScanner {
  /// Reads the next value as a tree.
  package mutating func value() throws(JSONFault) -> JSONValue {
    switch try kind() {
    case .null:
      try null()
      return .null
    case .bool: return .bool(try bool())
    case .number: return .number(try number())
    case .string: return .string(try string())
    case .array:
      try enterArray()
      var elements: [JSONValue] = []
      while try nextElement() { elements.append(try value()) }
      return .array(elements)
    case .object: return .object(try members())
    }
  }

  private mutating func members() throws(JSONFault) -> [JSONMember] {
    let start = position
    try enterObject()
    var members: [JSONMember] = []
    while let name = try nextName() {
      members.append(JSONMember(try string(name), try value()))
    }
    guard !members.hasDuplicateName else { throw JSONFault(.duplicateName, at: start) }
    return members
  }
}

extension [JSONMember] {
  /// True if a name occurs twice. Sorts, so that neither many members nor chosen names make it
  /// slow.
  var hasDuplicateName: Bool {
    guard count > 1 else { return false }
    let sorted = sortedByName()
    return zip(sorted, sorted.dropFirst()).contains { $0.name.utf8.elementsEqual($1.name.utf8) }
  }
}

extension JSONWriter {
  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .bool(let value): bool(value)
    case .number(let value): number(value)
    case .string(let value): string(value)
    case .array(let elements):
      beginArray()
      for element in elements { self.value(element) }
      endArray()
    case .object(let members):
      beginObject()
      for member in members.sortedByName() {
        name(member.name)
        self.value(member.value)
      }
      endObject()
    }
  }
}

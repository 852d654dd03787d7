extension JSONValue {
  /// Reads a whole JSON text (RFC 8259): one value, at most `Limits.jsonDepth` deep, with only
  /// white space around it. A repeated name in an object is a fault.
  public init(parsing bytes: [UInt8]) throws(JSONFault) {
    var scanner = JSONScanner(bytes.span.bytes)
    self = try scanner.value()
    try scanner.finish()
  }

  public init(parsing text: String) throws(JSONFault) {
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
  public func serialized() -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.value(self)
    return writer.finish()
  }

  /// `serialized()` as text.
  public var text: String { String(decoding: serialized(), as: UTF8.self) }
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

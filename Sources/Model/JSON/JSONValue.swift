/// JSON value as a tree (RFC 8259), for content that must be examined: an app's fields, a reply, a
/// file. The wire's hot path uses `JSONScanner` and leaves `fields` as bytes.
///
/// Numbers keep their text, so that nothing is lost; they are equal if they have the same value.
/// Strings are equal if their bytes are. Objects are equal regardless of the order of their
/// members.
public indirect enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  /// Members in their original order; each name occurs once.
  case object([JSONMember])
}

/// One member of a JSON object.
public struct JSONMember: Hashable, Sendable {
  public var name: String
  public var value: JSONValue

  public init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }

  public static func == (left: JSONMember, right: JSONMember) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: name)
    hasher.combine(value)
  }
}

extension JSONValue: Hashable {
  // `String` compares by canonical equivalence; here two texts with different bytes are two values,
  // as they are for every other reader of the same JSON.
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
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

  public func hash(into hasher: inout Hasher) {
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

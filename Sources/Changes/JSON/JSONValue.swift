/// A JSON value as a tree (RFC 8259), for what must be looked into: an app's fields, a reply, a
/// file. The wire's hot path uses `JSONScanner` and leaves `fields` as bytes.
///
/// Numbers keep their text, so that nothing is lost on the way; they are equal when they are the
/// same number. Objects are equal whatever the order of their members.
public indirect enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  /// Members in the order in which they stood; a name stands once.
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
}

import LockstepJSON

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Encodes values as JSON trees, for the fields of records.
///
/// Dates are whole milliseconds since 1970, data is Base64, and the elements of a `Set` are sorted,
/// so that equal values give the same bytes on every device.
enum FieldsEncoder {
  static func encode(_ value: some Encodable) throws -> JSONValue {
    let node = EncodedNode()
    try node.encode(value, at: [])
    return node.json
  }
}

/// A place in the encoded tree, filled by containers.
private final class EncodedNode {
  enum Content {
    case value(JSONValue)
    case object([(name: String, node: EncodedNode)])
    case array([EncodedNode])
  }

  var content: Content?

  /// An empty object if nothing was encoded.
  var json: JSONValue {
    switch content {
    case nil: .object([])
    case .value(let value): value
    case .object(let members): .object(members.map { JSONMember($0.name, $0.node.json) })
    case .array(let elements): .array(elements.map(\.json))
    }
  }

  func member(_ name: String) -> EncodedNode {
    let node = EncodedNode()
    var members: [(name: String, node: EncodedNode)] = []
    if case .object(let known)? = content { members = known }
    members.removeAll { $0.name.utf8.elementsEqual(name.utf8) }
    members.append((name: name, node: node))
    content = .object(members)
    return node
  }

  func element() -> EncodedNode {
    let node = EncodedNode()
    var elements: [EncodedNode] = []
    if case .array(let known)? = content { elements = known }
    elements.append(node)
    content = .array(elements)
    return node
  }

  func encode<Value: Encodable>(_ value: Value, at path: [any CodingKey]) throws {
    switch value {
    case let date as Date:
      let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
      guard let whole = Int64(exactly: milliseconds) else {
        throw Self.invalid(value, path, "the date is out of range")
      }
      content = .value(.number(JSONNumber(whole)))
    case let data as Data: content = .value(.string(data.base64EncodedString()))
    case let url as URL: content = .value(.string(url.absoluteString))
    case let value as any JSONFields: content = .value(value.json)
    default:
      try value.encode(to: TreeEncoder(node: self, codingPath: path))
      if value is any UnorderedElements, case .array(let elements) = content {
        let values = elements.map(\.json).sorted {
          $0.serialized().lexicographicallyPrecedes($1.serialized())
        }
        content = .value(.array(values))
      }
    }
  }

  func encode(_ value: Double, at path: [any CodingKey]) throws {
    guard value.isFinite, let number = JSONNumber("\(value)") else {
      throw Self.invalid(value, path, "JSON has no number for it")
    }
    content = .value(.number(number))
  }

  static func invalid(_ value: Any, _ path: [any CodingKey], _ reason: String) -> EncodingError {
    .invalidValue(value, .init(codingPath: path, debugDescription: reason))
  }
}

/// A collection without an order of its own.
private protocol UnorderedElements {}

extension Set: UnorderedElements {}

private struct TreeEncoder: Encoder, SingleValueEncodingContainer {
  let node: EncodedNode
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if node.content == nil { node.content = .object([]) }
    return KeyedEncodingContainer(ObjectContainer(node: node, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if node.content == nil { node.content = .array([]) }
    return ArrayContainer(node: node, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { node.content = .value(.null) }
  func encode(_ value: Bool) throws { node.content = .value(.bool(value)) }
  func encode(_ value: String) throws { node.content = .value(.string(value)) }
  func encode(_ value: Double) throws { try node.encode(value, at: codingPath) }
  func encode(_ value: Float) throws {
    guard value.isFinite, let number = JSONNumber("\(value)") else {
      throw EncodedNode.invalid(value, codingPath, "JSON has no number for it")
    }
    node.content = .value(.number(number))
  }
  func encode(_ value: Int) throws { try whole(value) }
  func encode(_ value: Int8) throws { try whole(value) }
  func encode(_ value: Int16) throws { try whole(value) }
  func encode(_ value: Int32) throws { try whole(value) }
  func encode(_ value: Int64) throws { try whole(value) }
  func encode(_ value: UInt) throws { try whole(value) }
  func encode(_ value: UInt8) throws { try whole(value) }
  func encode(_ value: UInt16) throws { try whole(value) }
  func encode(_ value: UInt32) throws { try whole(value) }
  func encode(_ value: UInt64) throws { try whole(value) }
  func encode(_ value: some Encodable) throws { try node.encode(value, at: codingPath) }

  private func whole(_ value: some FixedWidthInteger) throws {
    guard let number = JSONNumber(String(value)) else {
      throw EncodedNode.invalid(value, codingPath, "JSON has no number for it")
    }
    node.content = .value(.number(number))
  }
}

private struct ObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: EncodedNode
  let codingPath: [any CodingKey]

  private func encoder(_ key: some CodingKey) -> TreeEncoder {
    TreeEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
  }

  mutating func encodeNil(forKey key: Key) throws { try encoder(key).encodeNil() }
  mutating func encode(_ value: some Encodable, forKey key: Key) throws {
    try encoder(key).encode(value)
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
    -> KeyedEncodingContainer<Nested>
  {
    encoder(key).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder(key).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { encoder(SuperKey()) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
}

private struct ArrayContainer: UnkeyedEncodingContainer {
  let node: EncodedNode
  let codingPath: [any CodingKey]

  var count: Int {
    guard case .array(let elements)? = node.content else { return 0 }
    return elements.count
  }

  private func encoder() -> TreeEncoder {
    TreeEncoder(node: node.element(), codingPath: codingPath)
  }

  mutating func encodeNil() throws { try encoder().encodeNil() }
  mutating func encode(_ value: some Encodable) throws { try encoder().encode(value) }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type)
    -> KeyedEncodingContainer<Nested>
  {
    encoder().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    encoder().unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { encoder() }
}

/// The key under which a class encodes its superclass.
struct SuperKey: CodingKey {
  let stringValue = "super"
  let intValue: Int? = nil

  init() {}
  init?(stringValue: String) { nil }
  init?(intValue: Int) { nil }
}

/// A value that is its own JSON tree.
protocol JSONFields {
  var json: JSONValue { get }
}

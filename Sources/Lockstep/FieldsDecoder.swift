import LockstepJSON

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes values from the fields of records.
///
/// A missing field has the zero value of its type: nil, false, 0, "", an empty collection. So a
/// record of an older version of the app, which did not have the field, is still readable. A value
/// of the wrong kind is an error.
enum FieldsDecoder {
  static func decode<Value: Decodable>(_ type: Value.Type, from json: JSONValue) throws -> Value {
    try TreeDecoder(value: json, codingPath: []).decode(type)
  }
}

private struct TreeDecoder: Decoder, SingleValueDecodingContainer {
  /// nil: the field is missing.
  let value: JSONValue?
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let members = try read("an object", nothing: []) { $0.members }
    return KeyedDecodingContainer(
      MembersContainer(
        members: Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first },
        codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    ElementsContainer(
      elements: try read("an array", nothing: []) { $0.array }, codingPath: codingPath)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value?.isNull ?? true }
  func decode(_ type: Bool.Type) throws -> Bool {
    try read("a Boolean", nothing: false) { $0.bool }
  }
  func decode(_ type: String.Type) throws -> String {
    try read("a text", nothing: "") { $0.string }
  }
  func decode(_ type: Double.Type) throws -> Double {
    try read("a number", nothing: 0) { $0.number.flatMap { Double($0.text) } }
  }
  func decode(_ type: Float.Type) throws -> Float {
    try read("a number", nothing: 0) { $0.number.flatMap { Float($0.text) } }
  }
  func decode(_ type: Int.Type) throws -> Int { try whole() }
  func decode(_ type: Int8.Type) throws -> Int8 { try whole() }
  func decode(_ type: Int16.Type) throws -> Int16 { try whole() }
  func decode(_ type: Int32.Type) throws -> Int32 { try whole() }
  func decode(_ type: Int64.Type) throws -> Int64 { try whole() }
  func decode(_ type: UInt.Type) throws -> UInt { try whole() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try whole() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try whole() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try whole() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try whole() }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if type == Date.self {
      let milliseconds = try decode(Double.self)
      return try cast(Date(timeIntervalSince1970: milliseconds / 1_000))
    }
    if type == Data.self {
      return try cast(
        try read("a Base64 text", nothing: Data()) {
          $0.string.flatMap { Data(base64Encoded: $0) }
        })
    }
    if type == URL.self {
      return try cast(
        try read("an address", nothing: nil) { $0.string.flatMap { URL(string: $0) } })
    }
    return try Value(from: self)
  }

  private func cast<Value>(_ value: Any?) throws -> Value {
    guard let value = value as? Value else { throw fault("a \(Value.self)") }
    return value
  }

  private func whole<Value: FixedWidthInteger>() throws -> Value {
    try read("a whole number", nothing: 0) { value in
      if let exact = value.int64 { return Value(exactly: exact) }
      return value.number.flatMap { Value($0.canonicalText) }
    }
  }

  /// Returns `nothing` for a missing field.
  private func read<Value>(
    _ kind: String, nothing: Value, _ convert: (JSONValue) -> Value?
  ) throws -> Value {
    guard let value else { return nothing }
    guard let converted = convert(value) else { throw fault(kind) }
    return converted
  }

  private func fault(_ kind: String) -> DecodingError {
    let field = codingPath.map(\.stringValue).joined(separator: ".")
    return .typeMismatch(
      JSONValue.self,
      .init(
        codingPath: codingPath,
        debugDescription: "\(field.isEmpty ? "the record" : field) must be \(kind)"))
  }
}

private struct MembersContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [String: JSONValue]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { members.keys.sorted().compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  private func decoder(_ key: some CodingKey) -> TreeDecoder {
    TreeDecoder(value: members[key.stringValue], codingPath: codingPath + [key])
  }

  func decodeNil(forKey key: Key) throws -> Bool { decoder(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
    -> KeyedDecodingContainer<Nested>
  {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { decoder(SuperKey()) }
  func superDecoder(forKey key: Key) throws -> any Decoder { decoder(key) }
}

private struct ElementsContainer: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(elements: [JSONValue], codingPath: [any CodingKey]) {
    self.elements = elements
    self.codingPath = codingPath
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  private mutating func next() throws -> TreeDecoder {
    guard currentIndex < elements.count else {
      throw DecodingError.valueNotFound(
        JSONValue.self,
        .init(codingPath: codingPath, debugDescription: "the array has no further element"))
    }
    currentIndex += 1
    return TreeDecoder(value: elements[currentIndex - 1], codingPath: codingPath)
  }

  mutating func decodeNil() throws -> Bool {
    guard currentIndex < elements.count, elements[currentIndex].isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next().decode(type)
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws
    -> KeyedDecodingContainer<Nested>
  {
    try next().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try next() }
}

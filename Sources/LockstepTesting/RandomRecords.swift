import Lockstep
import LockstepModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Draws values of a Codable type: small numbers, few texts, short collections, so that concurrent
/// edits often meet.
struct RandomValues {
  var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// Throws for types that accept only certain texts or numbers, unless they are `CaseIterable`.
  mutating func draw<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let source = RandomSource(random.branch())
    return try RandomDecoder(source: source, codingPath: []).decode(type)
  }

  /// Returns a sentence, with the next step, about a type whose values cannot be drawn.
  static func explanation<Record>(of error: DecodingError, drawing type: Record.Type) -> String {
    let reason =
      switch error {
      case .dataCorrupted(let context), .keyNotFound(_, let context),
        .typeMismatch(_, let context), .valueNotFound(_, let context):
        context.debugDescription
      @unknown default: "\(error)"
      }
    return """
      values of \(type) cannot be drawn: \(reason)
      make a type that accepts only certain values CaseIterable, or draw the records by `samples`
      """
  }
}

/// Randomness that all parts of one decoding share.
private final class RandomSource {
  private var random: SeededRandom

  init(_ random: SeededRandom) { self.random = random }

  func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
}

private struct RandomDecoder: Decoder, SingleValueDecodingContainer {
  let source: RandomSource
  let codingPath: [any CodingKey]
  /// True for a type that did not accept a short text: texts are identifiers (RFC 9562).
  var drawsIdentifiers = false
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RandomMembers(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    RandomElements(decoder: self, count: source.below(3))
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { source.below(3) == 0 }
  func decode(_ type: Bool.Type) throws -> Bool { source.below(2) == 0 }
  func decode(_ type: String.Type) throws -> String {
    let number = source.below(5)
    if drawsIdentifiers { return "00000000-0000-4000-8000-00000000000\(number)" }
    return ["", "a", "b", "é", "電"][number]
  }

  func decode(_ type: Double.Type) throws -> Double { Double(source.below(5)) / 2 }
  func decode(_ type: Float.Type) throws -> Float { Float(source.below(5)) / 2 }
  func decode(_ type: Int.Type) throws -> Int { source.below(5) }
  func decode(_ type: Int8.Type) throws -> Int8 { Int8(source.below(5)) }
  func decode(_ type: Int16.Type) throws -> Int16 { Int16(source.below(5)) }
  func decode(_ type: Int32.Type) throws -> Int32 { Int32(source.below(5)) }
  func decode(_ type: Int64.Type) throws -> Int64 { Int64(source.below(5)) }
  func decode(_ type: UInt.Type) throws -> UInt { UInt(source.below(5)) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { UInt8(source.below(5)) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { UInt16(source.below(5)) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { UInt32(source.below(5)) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { UInt64(source.below(5)) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let drawn = special(type) as? Value { return drawn }
    if let cases = type as? any CaseIterable.Type, let drawn = one(of: cases) as? Value {
      return drawn
    }
    do {
      return try Value(from: self)
    } catch DecodingError.dataCorrupted(let context) {
      var decoder = self
      decoder.drawsIdentifiers = true
      do {
        return try Value(from: decoder)
      } catch {
        // The first error names a text that a person may recognize.
        throw DecodingError.dataCorrupted(context)
      }
    }
  }

  private func special(_ type: any Decodable.Type) -> Any? {
    if type == Date.self { return Date(timeIntervalSince1970: Double(source.below(5))) }
    if type == Data.self { return Data((0..<source.below(3)).map { UInt8($0) }) }
    if type == URL.self { return URL(string: "https://example.org/\(source.below(3))") }
    if type == SyncedCounter.self {
      var counter = SyncedCounter()
      counter.add(source.below(5) - 1)
      return counter
    }
    return nil
  }

  private func one<Cases: CaseIterable>(of type: Cases.Type) -> Any? {
    let cases = Array(type.allCases)
    return cases.isEmpty ? nil : cases[source.below(cases.count)]
  }
}

private struct RandomMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: RandomDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }
  /// Keys of a dictionary.
  var allKeys: [Key] {
    // Digits, since a dictionary may have integers as keys.
    ["1", "2"].prefix(decoder.source.below(3)).compactMap { Key(stringValue: $0) }
  }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) throws -> Bool { decoder.decodeNil() }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder.decode(type)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
    -> KeyedDecodingContainer<Nested>
  {
    try decoder.container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { decoder }
  func superDecoder(forKey key: Key) throws -> any Decoder { decoder }
}

private struct RandomElements: UnkeyedDecodingContainer {
  let decoder: RandomDecoder
  let count: Int?
  private(set) var currentIndex = 0

  init(decoder: RandomDecoder, count: Int) {
    self.decoder = decoder
    self.count = count
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var isAtEnd: Bool { currentIndex >= count ?? 0 }

  mutating func decodeNil() throws -> Bool { false }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    currentIndex += 1
    return try decoder.decode(type)
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws
    -> KeyedDecodingContainer<Nested>
  {
    currentIndex += 1
    return try decoder.container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    currentIndex += 1
    return try decoder.unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { decoder }
}

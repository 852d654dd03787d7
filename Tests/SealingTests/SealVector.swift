import Foundation
import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepSealing

/// One line of `Vectors/Seals.jsonl`: a case of an independent implementation (`seals.py`), with
/// the result that every program must have.
struct SealVector {
  /// Kinds of lines, each with the number of its lines. A test reads all of each kind.
  enum Kind: String, CaseIterable {
    case keys, phrase, wrap, unwrap, x25519, ring, deviceKey, nextKeys, joined
    case name, record, chunk, open

    var count: Int {
      switch self {
      case .keys: 4
      case .phrase: 12
      case .wrap: 4
      case .unwrap: 40
      case .x25519: 10
      case .ring: 5
      case .deviceKey: 2
      case .nextKeys: 3
      case .joined: 5
      case .name: 10
      case .record: 61
      case .chunk: 9
      case .open: 144
      }
    }
  }

  let value: JSONValue

  subscript(_ member: String) -> JSONValue? { value["case"]?[member] }

  var note: String { value["note"]?.string ?? "" }

  func expect(_ member: String) -> String? { value["expect"]?[member]?.string }

  func version(_ member: String) throws -> RecordVersion {
    let version = try #require(value[member]?["version"])
    let made = try #require(version["made"]?.array).map { try id($0) }
    let floor = try #require(version["floor"]?.int64)
    let vector = try #require(VersionVector(entries: made, floor: floor))
    return try #require(RecordVersion(try id(version), madeOn: vector))
  }

  private func id(_ value: JSONValue) throws -> VersionID {
    VersionID(
      writer: try #require(value["writer"]?.string.flatMap { WriterID(text: $0) }),
      number: try #require(value["number"]?.int64))
  }

  // MARK: the file

  static func all() throws -> [SealVector] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appending(path: "Vectors/Seals.jsonl"))
    return try [UInt8](data).split(separator: UInt8(ascii: "\n")).map {
      SealVector(value: try JSONValue(parsing: Array($0)))
    }
  }

  static func all(_ kind: Kind) throws -> [SealVector] {
    let vectors = try all().filter { $0.value["kind"]?.string == kind.rawValue }
    #expect(vectors.count == kind.count)
    return vectors
  }

  // MARK: parts of a case

  func name(_ member: String) throws -> Name {
    try #require(self[member]?.string.flatMap { Name($0) })
  }

  func device(_ member: String) throws -> DeviceID {
    try #require(self[member]?.string.flatMap { DeviceID(text: $0) })
  }

  /// Returns the bytes of hexadecimal digits.
  func bytes(_ member: String) throws -> [UInt8] {
    try #require(self[member]?.string.flatMap { HexText.bytes(of: $0) })
  }

  /// Returns keys in the form in which a home keeps them.
  func sealingKeys(_ member: String) throws -> SealingKeys {
    try #require(self[member].flatMap { SealingKeys(stored: $0) })
  }
}

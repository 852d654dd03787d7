import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepSealing

/// Test vectors for records and chunks: every program that seals or opens must reproduce them.
struct SealVectorTests {
  @Test func namesAreTheSame() throws {
    for vector in try SealVector.all(.name) {
      let nameSecret = try vector.bytes("nameSecret")
      let generation = try #require(KeyGeneration(secret: nameSecret))
      let keys = try #require(AccountKeys(nameSecret: nameSecret, generations: [generation]))
      let seal = ZoneSeal(keys.keys(of: try vector.name("zone")))
      #expect(seal.relayName(of: try vector.name("name")).text == vector.expect("name"))
    }
  }

  @Test func recordsAreSealedAlikeAndOpen() throws {
    for vector in try SealVector.all(.record) {
      let record = try record(
        vector, by: vector.device("author"), fields: try text(vector["fields"]))
      let saver = try vector.device("device")
      let shown: Set<Name> = vector["shown"]?.bool == true ? [record.type] : []
      let seal = ZoneSeal(
        try keys(vector).keys(of: record.zone), shownTypes: shown)
      let version = try vector.version("case")
      var sealed = seal.sealed(record, version: version, savedBy: saver)
      #expect(sealed.device == saver)
      if saver == record.device { #expect(seal.sealed(record, version: version) == sealed) }
      sealed.tag = 1
      let fields = try #require(sealed.fields)
      #expect(sealed.name.text == vector.expect("name"), "\(vector.note)")
      #expect(sealed.type.text == vector.expect("type"), "\(vector.note)")
      if let length = vector.value["expect"]?["length"]?.int64 {
        #expect(Int64(fields.count) == length)
        #expect(hex(SHA256.hash(fields)) == vector.expect("fieldsHash"), "\(vector.note)")
      } else {
        #expect(
          String(decoding: fields, as: UTF8.self) == vector.expect("fields"), "\(vector.note)")
      }
      let opened = try seal.opened(sealed)
      #expect(opened.record.fields == record.fields)
      #expect(opened.record.device == record.device)
      #expect(opened.version == version)
    }
  }

  @Test func whatOpensAndWhatDoesNotIsTheSame() throws {
    for vector in try SealVector.all(.open) {
      let record = try record(
        vector, by: vector.device("device"), fields: vector["fields"]?.string)
      let seal = ZoneSeal(try keys(vector).keys(of: record.zone))
      do throws(SealFault) {
        let opened = try seal.opened(record)
        #expect(vector.expect("fault") == nil, "\(vector.note)")
        #expect(opened.record.name.text == vector.expect("name"), "\(vector.note)")
        #expect(opened.record.type.text == vector.expect("type"), "\(vector.note)")
        let expected = try? vector.version("expect")
        #expect(opened.version == expected, "\(vector.note)")
        #expect(opened.record.device.text == vector.expect("author"), "\(vector.note)")
        let fields = opened.record.fields.map { String(decoding: $0, as: UTF8.self) }
        #expect(fields == vector.expect("fields"), "\(vector.note)")
      } catch {
        #expect(error.kind == vector.expect("fault"), "\(vector.note)")
      }
    }
  }

  @Test func chunksAreSealedAlike() throws {
    for vector in try SealVector.all(.chunk) {
      let generation = try #require(KeyGeneration(secret: try vector.bytes("secret")))
      let keys = try #require(
        AccountKeys(nameSecret: generation.secret, generations: [generation]))
      let seal = ZoneSeal(keys.keys(of: try vector.name("zone")))
      let chunk = Array(try #require(try text(vector["bytes"])).utf8)
      let sealed = seal.sealed(chunk: chunk)
      #expect(hex(SHA256.hash(sealed)) == vector.expect("hash"))
      if let expected = vector.expect("sealed") { #expect(hex(sealed) == expected) }
      #expect(seal.opened(chunk: sealed) == chunk)
    }
  }

  // MARK: parts of a case

  private func keys(_ vector: SealVector) throws -> AccountKeys {
    let generation = try #require(KeyGeneration(secret: try vector.bytes("secret")))
    return try #require(
      AccountKeys(nameSecret: try vector.bytes("nameSecret"), generations: [generation]))
  }

  private func record(
    _ vector: SealVector, by author: DeviceID, fields: String?
  ) throws -> Record {
    let chunks = try #require(vector["chunks"]?.array).compactMap {
      $0.string.flatMap { ChunkHash(text: $0) }
    }
    return Record(
      zone: try vector.name("zone"), name: try vector.name("name"),
      type: try vector.name("type"), fields: fields.map { Array($0.utf8) },
      modifiedAt: try #require(vector["modifiedAt"]?.int64),
      device: author,
      tag: vector["tag"]?.int64 ?? 0, chunks: chunks)
  }

  /// Returns a text that is given as such, or by a repeated part; nil for null.
  private func text(_ value: JSONValue?) throws -> String? {
    let value = try #require(value)
    if value.isNull { return nil }
    if let text = value.string { return text }
    let count = Int(try #require(value["count"]?.int64))
    let unit = try #require(value["unit"]?.string)
    return try #require(value["head"]?.string) + String(repeating: unit, count: count)
      + #require(value["tail"]?.string)
  }

  private func hex(_ bytes: [UInt8]) -> String { HexText.text(of: bytes) }
}

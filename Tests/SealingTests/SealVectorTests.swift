import Foundation
import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepSealing

/// Test vectors of an independent implementation (`Vectors/seals.py`): every program that seals or
/// opens must reproduce them.
struct SealVectorTests {
  @Test func keysAreDerivedAlike() throws {
    let vectors = try vectors("keys", count: 4)
    for vector in vectors {
      let keys = try keys(vector)
      let zone = try name(vector["zone"])
      let generation = try #require(keys.generations.first)
      #expect(generation.id == vector.expect("id"))
      #expect(generation.checkWords == vector.expect("checkWords"))
      #expect(KeyPhrase.text(of: generation) == vector.expect("phrase"))
      let zoneKeys = keys.keys(of: zone)
      #expect(zoneKeys.generations.map { hex($0.key) } == [vector.expect("zoneKey")])
      #expect(hex(zoneKeys.names) == vector.expect("nameZoneKey"))
      let seed = ZoneSeal(zoneKeys).chunkSeed
      #expect(HexText.text(seed) == vector.expect("chunkSeed"))
    }
  }

  @Test func keysAreWrappedAlikeAndOpen() throws {
    for vector in try vectors("wrap", count: 3) {
      let account = try #require(vector["account"]?.string.flatMap { AccountID(text: $0) })
      let letters = Array(try #require(vector["letters"]?.string).utf8)
      let keys = try #require(vector["keys"].flatMap { SealingKeys(stored: $0) })
      let salt = try bytes(vector["salt"])
      let own = try WrappedKeys.text(of: keys, account: account, secret: letters, salt: salt)
      #expect(try WrappedKeys.keys(in: own, account: account, secret: letters) == keys)
      let wrapped = try #require(vector.expect("wrapped"))
      #expect(try WrappedKeys.keys(in: wrapped, account: account, secret: letters) == keys)
    }
  }

  @Test func wrappedKeysOpenForTheSamePeople() throws {
    for vector in try vectors("unwrap", count: 37) {
      let account = try #require(vector["account"]?.string.flatMap { AccountID(text: $0) })
      let letters = Array(try #require(vector["letters"]?.string).utf8)
      let wrapped = try #require(vector["wrapped"]?.string)
      do throws(WrappedKeys.Fault) {
        let keys = try WrappedKeys.keys(in: wrapped, account: account, secret: letters)
        let expected = vector.value["expect"]?["keys"].flatMap { SealingKeys(stored: $0) }
        #expect(keys == expected, "\(vector.note)")
      } catch {
        let fault =
          switch error {
          case .malformed, .tooLong, .noMemory: ["form", "malformed"]
          case .wrongSecret: ["secret"]
          case .otherAccount: ["account"]
          }
        #expect(fault.contains(vector.expect("fault") ?? ""), "\(vector.note): \(error)")
      }
    }
  }

  @Test func namesAreTheSame() throws {
    for vector in try vectors("name", count: 10) {
      let nameSecret = try bytes(vector["nameSecret"])
      let generation = try #require(KeyGeneration(secret: nameSecret))
      let keys = try #require(AccountKeys(nameSecret: nameSecret, generations: [generation]))
      let seal = ZoneSeal(keys.keys(of: try name(vector["zone"])))
      #expect(seal.relayName(of: try name(vector["name"])).text == vector.expect("name"))
    }
  }

  @Test func recordsAreSealedAlikeAndOpen() throws {
    for vector in try vectors("record", count: 61) {
      let record = try record(
        vector, by: vector["author"], fields: try text(vector["fields"]))
      let saver = try device(vector["device"])
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
    for vector in try vectors("open", count: 144) {
      let record = try record(
        vector, by: vector["device"], fields: vector["fields"]?.string)
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
    for vector in try vectors("chunk", count: 9) {
      let generation = try #require(KeyGeneration(secret: try bytes(vector["secret"])))
      let keys = try #require(
        AccountKeys(nameSecret: generation.secret, generations: [generation]))
      let seal = ZoneSeal(keys.keys(of: try name(vector["zone"])))
      let chunk = Array(try #require(try text(vector["bytes"])).utf8)
      let sealed = seal.sealed(chunk: chunk)
      #expect(hex(SHA256.hash(sealed)) == vector.expect("hash"))
      if let expected = vector.expect("sealed") { #expect(hex(sealed) == expected) }
      #expect(seal.opened(chunk: sealed) == chunk)
    }
  }

  @Test func phrasesAreReadAlike() throws {
    for vector in try vectors("phrase", count: 12) {
      let phrase = try #require(vector["phrase"]?.string)
      do throws(KeyPhrase.Fault) {
        let generation = try KeyPhrase.generation(from: phrase)
        #expect(hex(generation.secret) == vector.expect("secret"))
      } catch {
        let number = vector.value["expect"]?["number"]?.int64
        switch error {
        case .letters(let count):
          #expect(vector.expect("fault") == "letters" && number == Int64(count))
        case .word(let place):
          #expect(vector.expect("fault") == "word" && number == Int64(place))
        case .checksum: #expect(vector.expect("fault") == "checksum")
        }
      }
    }
  }

  // MARK: the file

  private struct Vector {
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
  }

  private func vectors(_ kind: String, count: Int) throws -> [Vector] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appending(path: "Vectors/Seals.jsonl"))
    let all = try [UInt8](data).split(separator: UInt8(ascii: "\n")).map {
      Vector(value: try JSONValue(parsing: Array($0)))
    }
    let vectors = all.filter { $0.value["kind"]?.string == kind }
    #expect(vectors.count == count)
    return vectors
  }

  private func keys(_ vector: Vector) throws -> AccountKeys {
    let generation = try #require(KeyGeneration(secret: try bytes(vector["secret"])))
    return try #require(
      AccountKeys(nameSecret: try bytes(vector["nameSecret"]), generations: [generation]))
  }

  private func record(
    _ vector: Vector, by author: JSONValue?, fields: String?
  ) throws -> Record {
    let chunks = try #require(vector["chunks"]?.array).compactMap {
      $0.string.flatMap { ChunkHash(text: $0) }
    }
    return Record(
      zone: try name(vector["zone"]), name: try name(vector["name"]),
      type: try name(vector["type"]), fields: fields.map { Array($0.utf8) },
      modifiedAt: try #require(vector["modifiedAt"]?.int64),
      device: try device(author),
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

  private func name(_ value: JSONValue?) throws -> Name {
    try #require(value?.string.flatMap { Name($0) })
  }

  private func device(_ value: JSONValue?) throws -> DeviceID {
    try #require(value?.string.flatMap { DeviceID(text: $0) })
  }

  private func bytes(_ value: JSONValue?) throws -> [UInt8] {
    try #require(value?.string.flatMap { HexText.bytes(of: $0) })
  }

  private func hex(_ bytes: [UInt8]) -> String { HexText.text(of: bytes) }
}

import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepApps

struct VaultRecordTests {
  private let seal: VaultSeal
  private let empty: ChunkHash

  init() throws {
    seal = VaultSeal(try #require(VaultKey(bytes: Array(1...16))))
    empty = try #require(ChunkHash(bytes: SHA256.hash([])))
  }

  private func manifest(_ file: String) -> VaultManifest {
    VaultManifest(file: file, size: 0, sha256: empty, chunks: [])
  }

  private func read(
    _ name: Name, _ fields: JSONValue, type: Name = VaultApp.fileType
  ) -> VaultRecord {
    let record = Record(
      zone: VaultApp.zone, name: name, type: type, fields: fields.serialized(),
      modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 1)
    return VaultRecord(record, seal)
  }

  @Test func aRecordStandsForItsOwnFileAlone() throws {
    let name = try #require(seal.recordName(of: "diary.txt"))
    let sealed = read(name, seal.fields(of: manifest("diary.txt"), chunks: []))
    #expect(!sealed.isPlain)
    #expect(try sealed.version(of: "diary.txt", isPlain: false).manifest.size == 0)
    #expect(throws: VaultRecord.Mismatch.sealed) {
      try sealed.version(of: "diary.txt", isPlain: true)
    }
    #expect(throws: VaultRecord.Mismatch.unreadable) { try sealed.version(of: "a", isPlain: false) }
    let plain = read(
      Name(trusted: "diary.txt"), VaultSeal.plain.fields(of: manifest("diary.txt"), chunks: []))
    #expect(plain.isPlain)
    #expect(try plain.version(of: "diary.txt", isPlain: true).manifest.size == 0)
    #expect(throws: VaultRecord.Mismatch.notSealed) {
      try plain.version(of: "diary.txt", isPlain: false)
    }
  }

  /// A manifest without chunks needs no key, whatever file it names: the sealed file, a file with
  /// the name of the record, or another one.
  @Test(arguments: ["diary.txt", nil, "other"])
  func aPlainRecordUnderASealedNameIsNotTheFile(_ file: String?) throws {
    let name = try #require(seal.recordName(of: "diary.txt"))
    let fields = VaultSeal.plain.fields(of: manifest(file ?? name.text), chunks: [])
    #expect(throws: VaultRecord.Mismatch.notSealed) {
      try read(name, fields).version(of: "diary.txt", isPlain: false)
    }
  }

  /// A type needs no key either: also sealed contents are not the file's under another type.
  @Test func aRecordOfAnotherTypeIsNotTheFile() throws {
    let note = Name(trusted: "Note")
    let name = try #require(seal.recordName(of: "diary.txt"))
    for fields in [["a": 1], seal.fields(of: manifest("diary.txt"), chunks: [])] {
      let record = read(name, fields, type: note)
      #expect(record.contents == nil)
      #expect(throws: VaultRecord.Mismatch.otherType) {
        try record.version(of: "diary.txt", isPlain: false)
      }
    }
    let plain = read(
      Name(trusted: "diary.txt"), VaultSeal.plain.fields(of: manifest("diary.txt"), chunks: []),
      type: note)
    #expect(throws: VaultRecord.Mismatch.otherType) {
      try plain.version(of: "diary.txt", isPlain: true)
    }
  }

  /// Names are compared by their bytes.
  @Test func anotherSpellingOfANameIsAnotherFile() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    let name = try #require(seal.recordName(of: composed))
    let record = read(name, seal.fields(of: manifest(composed), chunks: []))
    #expect(try record.version(of: composed, isPlain: false).manifest.file == composed)
    #expect(throws: VaultRecord.Mismatch.unreadable) {
      try record.version(of: decomposed, isPlain: false)
    }
  }
}

import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing
import Testing

@testable import LockstepApps

/// The vault of an account whose records are sealed: the keys of its zone seal its files.
struct VaultZoneSealTests {
  private let first: VaultSeal
  /// After new keys were made.
  private let second: VaultSeal
  private let formerKey: VaultKey
  private let former: VaultSeal
  /// After a vault with a key of its own moved to the sealed zone.
  private let moved: VaultSeal

  init() throws {
    let keys = try [1, 2].map { try Self.zoneKeys(generations: $0) }
    first = VaultSeal(keys[0], former: [])
    second = VaultSeal(keys[1], former: [])
    formerKey = try #require(VaultKey(bytes: Array(1...16)))
    former = VaultSeal(formerKey)
    moved = VaultSeal(keys[1], former: [formerKey])
  }

  @Test func aFileIsAReferenceToItsSealedChunks() throws {
    let (manifest, chunks) = try file("vault.db", ["a", "b", "a"])
    let fields = first.fields(of: manifest, chunks: chunks)
    #expect(first.recordName(of: "vault.db")?.text == "vault.db")
    let reference = try #require(FileReference.references(in: fields).first)
    #expect(reference.name == "vault.db" && reference.chunks == chunks)
    #expect(reference.seal?.zone == VaultApp.zone)
    let contents = try #require(first.contents(of: fields, record: try name("vault.db")))
    #expect(contents.manifest == manifest && contents.chunks == chunks)
    // A sealed zone takes no chunks that are not sealed.
    let app = VaultApp()
    #expect(app.chunks(in: fields, of: VaultApp.fileType).count == 2)
    let type = VaultApp.fileType
    #expect(app.unsealedChunks(in: fields, of: type, zone: VaultApp.zone).isEmpty)
    #expect(app.unsealedChunks(in: fields, of: type, zone: Name(trusted: "Memos")).count == 2)
    let plain = VaultSeal.plain.fields(of: manifest, chunks: manifest.chunks)
    #expect(app.unsealedChunks(in: plain, of: type, zone: VaultApp.zone).count == 2)
    let own = former.fields(of: manifest, chunks: chunks)
    #expect(app.unsealedChunks(in: own, of: type, zone: VaultApp.zone).isEmpty)
  }

  /// No device without the keys that were made later opens what is sealed with them.
  @Test func laterKeysOpenEarlierChunksAndNotTheReverse() throws {
    let chunk: [UInt8] = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
    let earlier = try written("vault.db", by: first)
    let later = try written("vault.db", by: second)
    #expect(first.opened(first.sealed(chunk), of: earlier) == chunk)
    #expect(second.opened(first.sealed(chunk), of: earlier) == chunk)
    #expect(second.opened(second.sealed(chunk), of: later) == chunk)
    #expect(first.opened(second.sealed(chunk), of: later) == nil)
    #expect(first.opened(second.sealed(chunk), of: earlier) == nil)
    #expect(second.opened(chunk, of: later) == nil)
    #expect(first.sealed(chunk) != second.sealed(chunk) && first.chunkSeed != second.chunkSeed)
    // A new version shares no chunk with one of before.
    #expect(!second.sharesChunks(with: earlier) && second.sharesChunks(with: later))
  }

  @Test func theLargestChunkAndTheLargestManifestFit() throws {
    let chunk = [UInt8](repeating: 7, count: first.chunkBytesMax)
    #expect(first.sealed(chunk).count <= Limits.chunkBytes)
    let chunks = (0..<Limits.chunksPerRecord).map { "\($0)" }
    let (manifest, hashes) = try file(String(repeating: "\u{1F600}", count: 63), chunks)
    let fields = first.fields(of: manifest, chunks: hashes)
    #expect(fields.serialized().count * 4 / 3 < Limits.recordBytes * 3 / 4)
    let record = try name(manifest.file)
    #expect(first.contents(of: fields, record: record)?.manifest == manifest)
  }

  @Test func whatDoesNotFitItsRecordIsUnreadable() throws {
    let (manifest, chunks) = try file("vault.db", ["a", "b"])
    let fields = first.fields(of: manifest, chunks: chunks)
    let record = try name("vault.db")
    #expect(first.contents(of: fields, record: try name("other.db")) == nil)
    for (member, value) in [
      ("name", "../vault.db"), ("name", "other.db"), ("bytes", 0), ("chunks", []),
      ("parts", "AAAA"), ("parts", nil), ("sha256", "short"), ("seal", [:]),
      ("seal", ["zone": "Memos", "key": "0000000000000000"]),
    ] as [(String, JSONValue?)] {
      #expect(first.contents(of: fields.setting(member, to: value), record: record) == nil)
    }
  }

  /// In a zone whose records are not sealed, anyone may write this form.
  @Test func theFormOfASealedZoneCountsForNothingInAnother() throws {
    let (manifest, chunks) = try file("vault.db", ["a"])
    let fields = first.fields(of: manifest, chunks: chunks)
    for seal in [former, nil] {
      #expect(!VaultSeal.isSealed(fields, seal))
      let reader = VaultSeal.reader(of: fields, seal)
      #expect(reader?.contents(of: fields, record: try name("vault.db")) == nil)
    }
    let sealed = former.fields(of: manifest, chunks: chunks)
    let record = try #require(former.recordName(of: "vault.db")).text
    let own = Version(name: record, fields: sealed, modifiedAt: 1, device: "mac")
    let forged = Version(name: record, fields: fields, modifiedAt: 9, device: "stranger")
    let seal = former
    #expect(
      VaultFileResolver(seal: { seal }).resolve(Conflict(base: nil, local: own, server: forged))
        == .merged(fields: sealed, copies: []))
  }

  /// Its record keeps its name, so that no file is there twice; what is written into it is sealed
  /// with the zone's keys.
  @Test func aFileOfBeforeKeepsItsRecord() throws {
    let (manifest, chunks) = try file("vault.db", ["a"])
    let record = try #require(former.recordName(of: "vault.db"))
    #expect(moved.recordNames(of: "vault.db") == [record, try name("vault.db")])
    let before = try #require(
      moved.contents(of: former.fields(of: manifest, chunks: chunks), record: record))
    #expect(before.manifest == manifest && !moved.sharesChunks(with: before))
    #expect(moved.opened(former.sealed([1, 2]), of: before) == [1, 2])
    #expect(second.contents(of: former.fields(of: manifest, chunks: chunks), record: record) == nil)
    let after = moved.fields(of: manifest, chunks: chunks)
    #expect(moved.contents(of: after, record: record)?.manifest == manifest)
    // A copy keeps the chunks, and so the key.
    let copy = try #require(moved.copy(of: before, as: "copy.db"))
    #expect(copy.name == former.recordName(of: "copy.db") && copy.fields["sealed"] != nil)
    #expect(moved.contents(of: copy.fields, record: copy.name)?.chunks == chunks)
    // A file that the relay could read is exposed until it is sealed.
    let plain = VaultSeal.plain.fields(of: manifest, chunks: manifest.chunks)
    let exposed = try #require(moved.contents(of: plain, record: try name("vault.db")))
    #expect(moved.isExposed(exposed) && !moved.isExposed(before))
  }

  @Test func aFileMayHaveTheNameOfTheKeysRecord() throws {
    let (manifest, chunks) = try file("key", ["a"])
    let record = try #require(first.recordName(of: "key"))
    #expect(record != VaultApp.keyRecord)
    let fields = first.fields(of: manifest, chunks: chunks)
    #expect(first.contents(of: fields, record: record)?.manifest == manifest)
    #expect(first.contents(of: fields, record: VaultApp.keyRecord) == nil)
  }

  @Test func twoVersionsAreBothKept() throws {
    let (manifest, chunks) = try file("vault.db", ["a"])
    let (newManifest, newChunks) = try file("vault.db", ["b"])
    let record = try #require(former.recordName(of: "vault.db")).text
    let seal = moved
    let resolver = VaultFileResolver(seal: { seal })
    let newer = Version(
      name: record, fields: moved.fields(of: newManifest, chunks: newChunks),
      modifiedAt: 1_772_366_400_001, device: "mac")
    for fields in [
      moved.fields(of: manifest, chunks: chunks), former.fields(of: manifest, chunks: chunks),
      VaultSeal(try Self.zoneKeys(generations: 1), former: []).fields(of: manifest, chunks: chunks),
    ] {
      let older = Version(
        name: record, fields: fields, modifiedAt: 1_772_366_400_000, device: "mac")
      guard
        case .merged(let kept, let copies) = resolver.resolve(
          Conflict(base: nil, local: older, server: newer)), let copy = copies.first
      else {
        Issue.record("the conflict was not resolved")
        continue
      }
      #expect(kept == newer.fields && copies.count == 1)
      let copied = moved.contents(of: copy.fields, record: try name(copy.name))
      #expect(copied?.manifest.file == "vault_conflict_2026-03-01T12-00-00.000Z.db")
      #expect(copied?.manifest.sha256 == manifest.sha256 && copied?.chunks == chunks)
      #expect(
        resolver.resolve(Conflict(base: nil, local: newer, server: older))
          == .merged(fields: kept, copies: copies))
    }
  }

  @Test func theFormerKeyIsReadFromItsRecord() throws {
    let key = FormerVaultKey.recordKey(of: formerKey)
    var record = Record(
      zone: key.zone, name: key.name, type: VaultApp.keyType,
      fields: FormerVaultKey.fields(of: formerKey).serialized(), modifiedAt: 1,
      device: DeviceID(rawValue: 1), tag: 1)
    #expect(FormerVaultKey.key(in: record) == formerKey)
    record.name = VaultApp.keyRecord
    #expect(FormerVaultKey.key(in: record) == nil)
    record.name = key.name
    record.type = VaultApp.fileType
    #expect(FormerVaultKey.key(in: record) == nil)
  }

  // MARK: parts

  private static func zoneKeys(generations: UInt8) throws -> ZoneKeys {
    let all = try (1...generations).map {
      try #require(KeyGeneration(secret: [UInt8](repeating: $0, count: KeyGeneration.count)))
    }
    let names = [UInt8](repeating: 9, count: 32)
    return try #require(AccountKeys(nameSecret: names, generations: all)).keys(of: VaultApp.zone)
  }

  private func name(_ text: String) throws -> Name { try #require(Name(text)) }

  private func hash(_ text: String) throws -> ChunkHash {
    try #require(ChunkHash(bytes: SHA256.hash(Array(text.utf8))))
  }

  /// Returns a file of these chunks, and their hashes at the relay.
  private func file(
    _ name: String, _ chunks: [String]
  ) throws -> (VaultManifest, [ChunkHash]) {
    let manifest = VaultManifest(
      file: name, size: 12_345, sha256: try hash(chunks.joined()), chunks: try chunks.map(hash))
    return (manifest, try chunks.map { try hash("sealed " + $0) })
  }

  private func written(_ file: String, by seal: VaultSeal) throws -> VaultSeal.Contents {
    let (manifest, chunks) = try self.file(file, ["a"])
    let fields = seal.fields(of: manifest, chunks: chunks)
    return try #require(seal.contents(of: fields, record: try name(file)))
  }
}

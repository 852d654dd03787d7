import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepApps

struct VaultSealTests {
  private let seal: VaultSeal
  private let otherSeal: VaultSeal

  init() throws {
    seal = VaultSeal(try #require(VaultKey(bytes: Array(1...16))))
    otherSeal = VaultSeal(try #require(VaultKey(bytes: Array(2...17))))
  }

  @Test func aPlainVaultIsAsTheDeviceSeesIt() throws {
    let manifest = try manifest(chunks: 1)
    let name = try #require(VaultSeal.plain.recordName(of: manifest.file))
    #expect(name.text == "vault.db")
    let fields = VaultSeal.plain.fields(of: manifest, chunks: manifest.chunks)
    let contents = try #require(VaultSeal.plain.contents(of: fields, record: name))
    #expect(contents.manifest == manifest)
    #expect(contents.chunks == manifest.chunks)
    #expect(VaultSeal.plain.opened(VaultSeal.plain.sealed([1, 2, 3]), of: contents) == [1, 2, 3])
    #expect(VaultSeal.plain.chunkSeed == 0)
  }

  /// A plain manifest in the record of another file, plain or sealed, is invalid.
  @Test func aPlainRecordOfAnotherNameIsUnreadable() throws {
    let manifest = try manifest(chunks: 0)
    let fields = VaultSeal.plain.fields(of: manifest, chunks: [])
    let sealed = try #require(seal.recordName(of: manifest.file))
    for name in [sealed, Name(trusted: "other.db"), Name(trusted: "!")] {
      #expect(VaultSeal.plain.contents(of: fields, record: name) == nil)
    }
  }

  @Test func whatIsSealedComesBack() throws {
    let manifest = try manifest(chunks: 3)
    let (name, fields, chunks) = try sealed(manifest)
    let contents = try #require(seal.contents(of: fields, record: name))
    #expect(contents.manifest == manifest && contents.chunks == chunks)
    #expect(seal.fields(of: manifest, chunks: chunks).serialized() == fields.serialized())
  }

  /// The record contains neither the file's name, nor a hash of its content, nor its size.
  @Test func theRelaySeesNothingOfTheManifest() throws {
    let manifest = try manifest(chunks: 2)
    let (name, fields, _) = try sealed(manifest)
    let seen = name.text + String(decoding: fields.serialized(), as: UTF8.self)
    for secret in ["vault", manifest.sha256.text, manifest.chunks[0].text, "12345"] {
      #expect(!seen.contains(secret))
    }
    #expect(name != otherSeal.recordName(of: manifest.file))
    #expect(fields.members?.map(\.name) == ["sealed", "key", "chunks"])
  }

  @Test func whatWasMovedOrChangedIsUnreadable() throws {
    let manifest = try manifest(chunks: 2)
    let (name, fields, chunks) = try sealed(manifest)
    let other = try #require(seal.recordName(of: "other.db"))
    #expect(seal.contents(of: fields, record: other) == nil)
    #expect(otherSeal.contents(of: fields, record: name) == nil)
    let texts = chunks.map { JSONValue.string($0.text) }
    for chunks in [
      .array(texts.reversed()), .array([texts[0]]), .array(texts + [texts[0]]), .array([]),
      .array([texts[0], "short"]), .null, "none",
    ] as [JSONValue] {
      #expect(seal.contents(of: fields.setting("chunks", to: chunks), record: name) == nil)
    }
    let text = try #require(fields["sealed"]?.string)
    for broken in [
      "", "AAAA", "not Base64!", String(text.dropLast(4)), text + "AAAA",
      text.otherLetter(at: 30),
    ] {
      let changed = fields.setting("sealed", to: .string(broken))
      #expect(seal.contents(of: changed, record: name) == nil)
    }
    #expect(seal.contents(of: fields.setting("key", to: "0000000000000000"), record: name) == nil)
    #expect(seal.contents(of: manifest.fields, record: name) == nil)
    #expect(VaultSeal.plain.contents(of: fields, record: name) == nil)
  }

  /// A device with the key wrote data that is not a manifest, or wrote it under another record's
  /// name.
  @Test func whatIsNoManifestInsideIsUnreadable() throws {
    let manifest = try manifest(chunks: 1)
    let name = try #require(seal.recordName(of: "../vault.db"))
    var astray = manifest
    astray.file = "../vault.db"
    #expect(
      seal.contents(of: seal.fields(of: astray, chunks: manifest.chunks), record: name) == nil)
    var more = manifest
    more.chunks.append(manifest.sha256)
    let file = try #require(seal.recordName(of: manifest.file))
    #expect(seal.contents(of: seal.fields(of: more, chunks: manifest.chunks), record: file) == nil)
  }

  @Test func chunksAreAlwaysSealedAlike() throws {
    let (name, fields, _) = try sealed(manifest(chunks: 0))
    let contents = try #require(seal.contents(of: fields, record: name))
    let chunk: [UInt8] = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
    let sealed = seal.sealed(chunk)
    #expect(sealed == seal.sealed(chunk) && sealed.count <= chunk.count + VaultSeal.overhead)
    #expect(seal.opened(sealed, of: contents) == chunk)
    #expect(otherSeal.opened(sealed, of: contents) == nil && otherSeal.sealed(chunk) != sealed)
    var broken = sealed
    broken[500] ^= 1
    for bytes in [broken, [], chunk] { #expect(seal.opened(bytes, of: contents) == nil) }
  }

  @Test func theLargestManifestFitsIntoARecord() throws {
    var manifest = try manifest(chunks: Limits.chunksPerRecord)
    manifest.file = String(repeating: "\u{1F600}", count: 63)
    manifest.size = .max
    let (name, fields, _) = try sealed(manifest)
    #expect(fields.serialized().count < Limits.recordBytes)
    #expect(seal.contents(of: fields, record: name)?.manifest == manifest)
  }

  private func manifest(chunks: Int) throws -> VaultManifest {
    VaultManifest(
      file: "vault.db", size: 12_345, sha256: try hash("all"),
      chunks: try (0..<chunks).map { try hash("chunk \($0)") })
  }

  private func sealed(
    _ manifest: VaultManifest
  ) throws -> (name: Name, fields: JSONValue, chunks: [ChunkHash]) {
    let chunks = try manifest.chunks.map { try hash("sealed " + $0.text) }
    let name = try #require(seal.recordName(of: manifest.file))
    return (name, seal.fields(of: manifest, chunks: chunks), chunks)
  }

  private func hash(_ text: String) throws -> ChunkHash {
    try #require(ChunkHash(bytes: SHA256.hash(Array(text.utf8))))
  }
}

extension String {
  /// Returns the string with another letter at that position.
  fileprivate func otherLetter(at place: Int) -> String {
    var letters = Array(utf8)
    letters[place] = letters[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    return String(decoding: letters, as: UTF8.self)
  }
}

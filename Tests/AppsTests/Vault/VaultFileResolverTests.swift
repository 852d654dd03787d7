import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

struct VaultFileResolverTests {
  private func file(_ name: String, _ hash: String) -> JSONValue {
    ["file": .string(name), "size": 1, "sha256": .string(hash), "chunks": [.string(hash)]]
  }

  private func resolve(_ local: Version, _ server: Version) -> Resolution {
    VaultFileResolver().resolve(Conflict(base: nil, local: local, server: server))
  }

  @Test func bothAreKept() {
    let older = version(file("vault.db", "a"), at: 1_772_366_400_000, by: "mac")
    let newer = version(file("vault.db", "b"), at: 1_772_366_400_001, by: "mac")
    let name = "vault_conflict_2026-03-01T12-00-00.000Z.db"
    let expected = Resolution.merged(
      fields: newer.fields, copies: [.init(name: name, fields: file(name, "a"))])
    #expect(resolve(older, newer) == expected)
    #expect(resolve(newer, older) == expected)
  }

  @Test func theSameBytesAreNoConflict() {
    let local = version(file("vault.db", "a").setting("note", to: 1), at: 2)
    let server = version(file("vault.db", "a"), at: 1)
    #expect(resolve(local, server) == .merged(fields: server.fields, copies: []))
  }

  @Test func aChangeOutlivesADelete() {
    let local = version(file("vault.db", "a"), at: 1)
    #expect(resolve(local, version(nil, at: 9)) == .merged(fields: local.fields, copies: []))
    #expect(resolve(version(nil, at: 9), version(nil, at: 8)) == .merged(fields: nil, copies: []))
  }

  @Test(arguments: [
    ("vault.db", "vault", ".db"), ("vault", "vault", ""), (".hidden", ".hidden", ""),
    ("my.vault.db", "my.vault", ".db"), ("密码.db", "密码", ".db"), ("vault.", "vault", "."),
    (".a.b", ".a", ".b"), ("..", ".", "."),
  ])
  func theNameIsPartedAtTheLastDot(_ file: String, _ stem: String, _ extension: String) {
    #expect(
      VaultFileResolver.conflictName(of: file, modifiedAt: 0)
        == stem + "_conflict_1970-01-01T00-00-00.000Z" + `extension`)
  }

  @Test func aLongNameStaysAName() {
    let long = String(repeating: "密", count: 84) + ".db"
    let name = VaultFileResolver.conflictName(of: long, modifiedAt: 5)
    #expect(Name(name) != nil && name.hasSuffix("_conflict_1970-01-01T00-00-00.005Z.db"))
  }

  @Test func sealedVersionsAreJudgedByWhatStandsInside() throws {
    let key = try #require(VaultKey(bytes: Array(1...16)))
    let seal = VaultSeal(key)
    let name = try #require(seal.recordName(of: "vault.db")).text
    func sealed(_ file: String, _ number: UInt8, at modifiedAt: Int64) throws -> Version {
      let hash = try #require(ChunkHash(bytes: Array(repeating: number, count: 32)))
      let manifest = VaultManifest(file: file, size: 1, sha256: hash, chunks: [hash])
      return Version(
        name: name, fields: seal.fields(of: manifest, chunks: [hash]), modifiedAt: modifiedAt,
        device: "mac")
    }
    let older = try sealed("vault.db", 1, at: 1_772_366_400_000)
    let newer = try sealed("vault.db", 2, at: 1_772_366_400_001)
    let copy = "vault_conflict_2026-03-01T12-00-00.000Z.db"
    let record = try #require(seal.recordName(of: copy))
    let fields = try #require(try sealed(copy, 1, at: 0).fields)
    let expected = Resolution.merged(
      fields: newer.fields, copies: [.init(name: record.text, fields: fields)])
    let resolver = VaultFileResolver(seal: { seal })
    #expect(resolver.resolve(Conflict(base: nil, local: older, server: newer)) == expected)
    #expect(resolver.resolve(Conflict(base: nil, local: newer, server: older)) == expected)
    #expect(seal.contents(of: fields, record: record)?.manifest.file == copy)
    // The same bytes, saved twice.
    let again = try sealed("vault.db", 2, at: 1_772_366_400_009)
    #expect(
      resolver.resolve(Conflict(base: nil, local: again, server: newer))
        == .merged(fields: newer.fields, copies: []))
    // Without the key, or with another one, the versions cannot be compared; the conflict stays
    // open.
    for key in [nil, VaultKey(bytes: Array(2...17))] {
      let resolver = VaultFileResolver(seal: { key.map(VaultSeal.init) })
      #expect(resolver.resolve(Conflict(base: nil, local: older, server: newer)) == .ask)
      #expect(
        resolver.resolve(Conflict(base: nil, local: newer, server: newer))
          == .merged(fields: newer.fields, copies: []))
    }
  }

  /// The writer of a plain record under a sealed file's name may not have the key.
  @Test func aVersionInTheClearGivesWayToASealedOne() throws {
    let key = try #require(VaultKey(bytes: Array(1...16)))
    let seal = VaultSeal(key)
    let hash = try #require(ChunkHash(bytes: Array(repeating: 1, count: 32)))
    let manifest = VaultManifest(file: "vault.db", size: 1, sha256: hash, chunks: [hash])
    let name = try #require(seal.recordName(of: "vault.db")).text
    let sealed = Version(
      name: name, fields: seal.fields(of: manifest, chunks: [hash]), modifiedAt: 5,
      device: "mac")
    for modifiedAt in [1, 9] as [Int64] {
      let plain = Version(
        name: name, fields: file(name, "a"), modifiedAt: modifiedAt, device: "stranger")
      for (local, server) in [(sealed, plain), (plain, sealed)] {
        let conflict = Conflict(base: nil, local: local, server: server)
        #expect(
          VaultFileResolver(seal: { seal }).resolve(conflict)
            == .merged(fields: sealed.fields, copies: []))
        // Without the key, a device cannot verify the sealed version.
        #expect(VaultFileResolver().resolve(conflict) == .ask)
      }
    }
  }

  @Test(arguments: ["vault.db", "vault", ".hidden", "my.vault.db", "密码.db", "vault.", ".a.b"])
  func aCopysNameTellsItsFile(file: String) {
    let copy = VaultFileResolver.conflictName(of: file, modifiedAt: 1_772_366_400_000)
    #expect(VaultFileResolver.original(ofCopy: copy) == file)
    let next = VaultFileResolver.conflictName(of: copy, modifiedAt: 5)
    #expect(VaultFileResolver.original(ofCopy: next) == copy)
    #expect(VaultFileResolver.original(ofCopy: file) == nil)
  }

  @Test(arguments: [
    "vault_conflict_2026-03-01.db", "_conflict_2026-03-01T12-00-00.000Z", "vault_conflict_.db",
    "vault_conflict_2026-03-01T12-00-00.000Zx.db", "vault_conflict_2026-03-01T12:00:00.000Z.db",
    "vault_conflict_2026-03-01T12-00-00.000Z.a.b", "",
  ])
  func anotherNameIsNoCopys(file: String) {
    #expect(VaultFileResolver.original(ofCopy: file) == nil)
  }
}

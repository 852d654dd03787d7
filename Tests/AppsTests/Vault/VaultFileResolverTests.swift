import Apps
import Changes
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
}

import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepApps

struct VaultManifestTests {
  private let hash = String(repeating: "a", count: 64)

  @Test func fieldsComeBack() throws {
    let chunk = try #require(ChunkHash(text: hash))
    let manifest = VaultManifest(
      file: "vault.db", size: 7, sha256: chunk, chunks: [chunk, chunk])
    #expect(VaultManifest(fields: manifest.fields) == manifest)
  }

  @Test(arguments: ["", ".", "..", "../vault.db", "a/b", "/etc/passwd", "a\u{0}b"])
  func aNameThatLeadsElsewhereIsNone(name: String) {
    #expect(!VaultManifest.isName(name))
    let fields: JSONValue = [
      "file": .string(name), "size": 0, "sha256": .string(hash), "chunks": [],
    ]
    #expect(VaultManifest(fields: fields) == nil)
  }

  @Test func whatIsNoManifestIsNone() {
    let good: JSONValue = [
      "file": "vault.db", "size": 0, "sha256": .string(hash), "chunks": [],
    ]
    #expect(VaultManifest(fields: good) != nil)
    #expect(VaultManifest(fields: good.setting("size", to: -1)) == nil)
    #expect(VaultManifest(fields: good.setting("sha256", to: "short")) == nil)
    #expect(VaultManifest(fields: good.setting("chunks", to: ["short"])) == nil)
    #expect(VaultManifest(fields: ["file": "vault.db"]) == nil)
  }
}

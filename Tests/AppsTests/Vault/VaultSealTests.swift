import Apps
import Changes
import Testing

struct VaultSealTests {
  @Test func aPlainVaultIsAsTheDeviceSeesIt() throws {
    let piece = try #require(ChunkHash(text: String(repeating: "a", count: 64)))
    let manifest = VaultManifest(file: "vault.db", size: 7, sha256: piece, pieces: [piece])
    let name = try #require(VaultSeal.plain.recordName(of: manifest.file))
    #expect(name.text == "vault.db")
    let fields = VaultSeal.plain.fields(of: manifest, pieces: [piece])
    let contents = try #require(VaultSeal.plain.contents(of: fields, record: name))
    #expect(contents.manifest == manifest)
    #expect(contents.pieces == [piece])
    #expect(VaultSeal.plain.opened(VaultSeal.plain.sealed([1, 2, 3])) == [1, 2, 3])
  }
}

import LockstepCommandLine
import LockstepModel
import LockstepStorageSQLite
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct BackupManifestTests {
  private var manifest: BackupManifest {
    var counts = StoreCounts(schema: 2)
    (counts.accounts, counts.devices, counts.records, counts.chunks) = (1, 2, 3, 4)
    (counts.chunkBytes, counts.databaseBytes) = (5 << 20, 6 << 10)
    return BackupManifest(
      madeAt: 7, version: "0.1.0", counts: counts, lacking: 0, databaseHash: "ab")
  }

  @Test func whatIsWrittenIsRead() throws {
    let folder = try TemporaryFolder()
    try folder.write(manifest.json.serialized(), to: "backup.json")
    #expect(try BackupManifest.read(from: folder.path) == manifest)
    #expect(
      manifest.counts.text
        == "1 account, 2 devices, 3 records (6.0 KiB), 4 chunks of files (5.0 MiB)")
  }

  @Test func whatIsNoneIsTold() throws {
    let folder = try TemporaryFolder()
    let none = #expect(throws: CommandFailure.self) { try BackupManifest.read(from: folder.path) }
    #expect(none?.message?.contains("is no backup") == true)
    let broken = manifest.json.setting("databaseSha256", to: nil)
    for text in ["", "{}", broken.text, manifest.json.setting("format", to: 0).text] {
      try folder.write(text, to: "backup.json")
      let failure = #expect(throws: CommandFailure.self) {
        try BackupManifest.read(from: folder.path)
      }
      #expect(failure?.message?.contains("damaged") == true)
    }
  }

  @Test func aFileIsKnownByItsHash() throws {
    let folder = try TemporaryFolder()
    try folder.write("abc", to: "file")
    // Example from FIPS 180-4.
    #expect(
      try BackupManifest.hash(of: folder.path("file")) { true }
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(try BackupManifest.hash(of: folder.path("file")) { false } == nil)
  }
}

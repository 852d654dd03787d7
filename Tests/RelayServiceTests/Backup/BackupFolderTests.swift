import Foundation
import LockstepCommandLine
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct BackupFolderTests {
  private let directory: TemporaryFolder
  private var path: String { directory.path("backups") }
  private let noon: Int64 = 1_772_366_400_000

  init() throws { directory = try TemporaryFolder() }

  /// Makes a backup that `BackupFolder` considers complete. Returns its name.
  private func make(_ wall: Int64) throws -> String {
    let folder = try BackupFolder(path, wall: wall)
    try FolderTree.makeFile(folder.draft + "/" + BackupManifest.name).write([])
    try folder.finish(copied: true)
    return String(folder.finalPath.dropFirst(path.count + 1))
  }

  @Test func namesAreTimesInTheirOrder() throws {
    let names = try [noon + 86_400_000, noon, noon, noon].map { try make($0) }
    #expect(
      names == [
        "2026-03-02T12-00-00Z", "2026-03-01T12-00-00Z", "2026-03-01T12-00-00Z-02",
        "2026-03-01T12-00-00Z-03",
      ])
    #expect(try BackupFolder.backups(in: path) == names.sorted())
    #expect(try BackupFolder.backup(path) == path + "/2026-03-02T12-00-00Z")
    #expect(try BackupFolder.backup(path + "/" + names[1]) == path + "/" + names[1])
  }

  @Test func whatIsNoWholeBackupIsNone() throws {
    let failure = #expect(throws: CommandFailure.self) { try BackupFolder.backup(path) }
    #expect(failure?.message?.contains("there is no backup in \(path)") == true)
    _ = try make(noon)
    for name in ["2026-03-09T12-00-00Z", "2026-03-09T12-00-00Z.partial", "other"] {
      try FolderTree.make(path + "/" + name)
    }
    try directory.write("", to: "backups/other/backup.json")
    #expect(try BackupFolder.backups(in: path) == ["2026-03-01T12-00-00Z"])
  }

  @Test func oneIsMadeAtATimeAndWhatACrashLeftIsGone() throws {
    _ = try make(noon)
    try FolderTree.make(path + "/2026-02-01T12-00-00Z.partial")
    try FolderTree.make(path + "/mine.partial")
    let folder = try BackupFolder(path, wall: noon + 5_000)
    #expect(!FolderTree.exists(path + "/2026-02-01T12-00-00Z.partial"))
    #expect(FolderTree.exists(path + "/mine.partial"), "it is not ours")
    let failure = #expect(throws: CommandFailure.self) { try BackupFolder(path, wall: noon) }
    #expect(failure?.message?.contains("another backup") == true)
    try folder.discard()
    #expect(try BackupFolder.backups(in: path) == ["2026-03-01T12-00-00Z"])
  }

  @Test func theOldestGo() throws {
    let names = try (0..<4).map { try make(noon + $0 * 1_000) }
    let folder = try BackupFolder(path, wall: noon + 9_000)
    #expect(try folder.removeOldest(keeping: 9) == [])
    #expect(try folder.removeOldest(keeping: 2) == Array(names.prefix(2)))
    #expect(try BackupFolder.backups(in: path) == Array(names.suffix(2)))
    try folder.discard()
  }

  @Test func aFolderThatWasMadeForItGoesWithIt() throws {
    try BackupFolder(path, wall: noon).discard()
    #expect(!directory.has("backups"))
  }
}

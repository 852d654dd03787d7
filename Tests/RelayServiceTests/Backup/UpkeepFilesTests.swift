import Glibc
import LockstepCommandLine
import LockstepRelay
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct UpkeepFilesTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aResultIsReadAsItWasRecorded() throws {
    #expect(UpkeepFiles.read(from: folder.path) == StoreUpkeep())
    let backup = BackupResult(
      at: 7, path: "/b/\"x\"", bytes: 9, isGood: true, detail: "", goodAt: 7)
    try UpkeepFiles.record(backup, ofStore: folder.path)
    let check = CheckResult(at: 8, findings: 2, target: .backup)
    try UpkeepFiles.record(check, ofStore: folder.path)
    #expect(UpkeepFiles.read(from: folder.path) == StoreUpkeep(backup: backup, check: check))
    var status = stat()
    #expect(stat(folder.path + "/" + UpkeepFiles.backup, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
  }

  @Test func aFailureKeepsTheTimeOfTheLastSuccess() throws {
    let failure = CommandFailure(String(repeating: "x", count: 5_000))
    try UpkeepFiles.record(failure: failure, at: 3, ofStore: folder.path)
    #expect(UpkeepFiles.read(from: folder.path).backup?.goodAt == nil)
    try UpkeepFiles.record(
      BackupResult(at: 5, path: "/b", bytes: 1, isGood: true, goodAt: 5), ofStore: folder.path)
    try UpkeepFiles.record(failure: failure, at: 9, ofStore: folder.path)
    let backup = try #require(UpkeepFiles.read(from: folder.path).backup)
    #expect(!backup.isGood && backup.at == 9 && backup.goodAt == 5 && backup.path.isEmpty)
    #expect(backup.detail.count == 1_000)
  }

  @Test func aFileThatIsNoResultCountsAsNone() throws {
    let path = folder.path + "/" + UpkeepFiles.check
    for text in [
      "", "{", "[]", "{}", #"{"at":-1,"ok":true,"findings":0,"target":"store"}"#,
      #"{"at":1,"findings":-1,"target":"store"}"#, #"{"at":1,"findings":0,"target":"x"}"#,
      #"{"at":1e400,"findings":0,"target":"store"}"#, String(repeating: " ", count: 20_000),
    ] {
      let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      let bytes = Array(text.utf8)
      #expect(write(file, bytes, bytes.count) == bytes.count)
      close(file)
      #expect(UpkeepFiles.read(from: folder.path).check == nil, "\(text.prefix(60))")
    }
    unlink(path)
    mkfifo(path, 0o600)
    #expect(UpkeepFiles.read(from: folder.path).check == nil)
    try UpkeepFiles.record(CheckResult(at: 1, findings: 0, target: .store), ofStore: folder.path)
    #expect(UpkeepFiles.read(from: folder.path).check?.isGood == true)
  }

  @Test func aLinkIsReplacedAndNotFollowed() throws {
    let other = folder.path + "/other"
    close(open(other, O_WRONLY | O_CREAT, 0o600))
    for name in [UpkeepFiles.check, UpkeepFiles.check + ".new"] {
      #expect(symlink(other, folder.path + "/" + name) == 0)
    }
    try UpkeepFiles.record(CheckResult(at: 1, findings: 0, target: .store), ofStore: folder.path)
    var status = stat()
    #expect(stat(other, &status) == 0 && status.st_size == 0)
    #expect(UpkeepFiles.read(from: folder.path).check?.at == 1)
  }
}

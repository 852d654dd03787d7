import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

struct VaultKeyFileTests {
  private let folder: TemporaryFolder
  private let file: VaultKeyFile
  private let key: VaultKey
  private let other: VaultKey

  init() throws {
    folder = try TemporaryFolder()
    file = VaultKeyFile(HomeFolder(path: folder.path))
    key = try #require(VaultKey(bytes: Array(0..<16)))
    other = try #require(VaultKey(bytes: Array(1...16)))
  }

  @Test func aKeyIsForItsOwnerAlone() throws {
    #expect(try file.key() == nil)
    try file.store(key)
    #expect(try file.key() == key)
    var status = stat()
    #expect(stat(folder.path + "/vault.key", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600 && status.st_size == 33)
    #expect(try ExportFolder.names(in: folder.path) == ["vault.key"])
  }

  @Test func whoeverMakesAKeyFirstMadeIt() throws {
    #expect(try file.storeNew(key) == key)
    #expect(try file.storeNew(other) == key)
    #expect(try file.newKey() == key && (try file.key()) == nil)
    #expect(try ExportFolder.names(in: folder.path) == ["vault.key.new"])
  }

  @Test func aNewKeyBecomesTheKeyOnce() throws {
    _ = try file.storeNew(key)
    try file.promoteNew()
    #expect(try file.key() == key && (try file.newKey()) == nil)
    // As if another process has just done it.
    try file.promoteNew()
    #expect(try file.key() == key)
    _ = try file.storeNew(other)
    try file.removeNew()
    try file.removeNew()
    #expect(try file.newKey() == nil)
  }

  @Test(arguments: [
    "", "\n", "000102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e\n",
    "000102030405060708090a0b0c0d0e0g\n", String(repeating: "00", count: 200) + "\n",
  ])
  func whatIsNoKeyIsSaidToBeNone(text: String) throws {
    let descriptor = open(folder.path + "/vault.key", O_WRONLY | O_CREAT, 0o600)
    try PlainFile(path: "key", descriptor: descriptor).write(Array(text.utf8))
    #expect(throws: CommandFailure.self) { try file.key() }
  }

  @Test func whoLeavesLeavesNoKey() throws {
    try file.store(key)
    _ = try file.storeNew(other)
    let descriptor = open(folder.path + "/vault.key.0011223344556677", O_WRONLY | O_CREAT, 0o600)
    close(descriptor)
    try HomeFolder(path: folder.path).removeData()
    #expect(try ExportFolder.names(in: folder.path)?.contains { $0.hasPrefix("vault") } == false)
  }

  @Test func withoutAFolderThereIsNoKey() throws {
    let nowhere = VaultKeyFile(HomeFolder(path: folder.path + "/none"))
    #expect(try nowhere.key() == nil)
    #expect(throws: CommandFailure.self) { try nowhere.store(key) }
  }
}

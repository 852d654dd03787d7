import Lockstep
import LockstepCommandLine
import LockstepCrypto
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

struct VaultRegistryTests {
  private let folder: TemporaryFolder
  private let home: HomeFolder

  init() throws {
    folder = try TemporaryFolder()
    home = HomeFolder(path: folder.path)
  }

  private var entry: VaultEntry {
    get throws {
      try folder.write("hello", to: "a.db")
      var entry = VaultEntry(name: "vault.db", path: folder.path("a.db"))
      let (content, signature) = try FileContent.hash(entry.path)
      entry.isPlain = true
      entry.isHeld = true
      entry.agreed = content
      entry.seen = .init(signature: signature, content: content)
      entry.folder = FolderMark(signature)
      entry.swap = FileSwap(
        path: entry.path, temporary: entry.path + ".x", incoming: content, expected: nil)
      return entry
    }
  }

  @Test func aHomeWithoutFilesHasNone() throws {
    #expect(try VaultRegistry(home: home).entries == [])
  }

  @Test func whatWasPutIsThereAfterACrash() throws {
    let entry = try entry
    var registry = try VaultRegistry(home: home)
    try registry.store(entry)
    try registry.store(VaultEntry(name: "other", path: "/other"))
    let again = try VaultRegistry(home: home)
    #expect(again.entries == registry.entries)
    #expect(again["vault.db"] == entry)
    #expect(again["none"] == nil)
  }

  @Test func anEntryIsReplacedAndRemovedByItsName() throws {
    var entry = try entry
    var registry = try VaultRegistry(home: home)
    try registry.store(entry)
    entry.agreed = nil
    try registry.store(entry)
    #expect(registry.entries == [entry])
    try registry.remove(["vault.db"])
    #expect(try VaultRegistry(home: home).entries == [])
  }

  @Test func aDamagedRegistryIsToldWithTheNextStep() throws {
    try folder.write("{", to: "vault.json")
    #expect {
      _ = try VaultRegistry(home: home)
    } throws: { error in
      (error as? CommandFailure)?.message?.contains("move it away") == true
    }
  }

  @Test func namesThatLeadElsewhereAreNotRead() {
    #expect(VaultEntry(["name": "../a", "path": "/a"]) == nil)
    #expect(VaultEntry(["name": "a", "path": "a"]) == nil)
    #expect(VaultEntry(["name": "a"]) == nil)
  }

  @Test func aRegistryThatCannotBeWrittenHasNotChanged() throws {
    var registry = try VaultRegistry(home: HomeFolder(path: folder.path("none")))
    #expect(throws: CommandFailure.self) {
      try registry.store(VaultEntry(name: "a", path: "/a"))
    }
    #expect(registry.entries == [])
  }
}

import Glibc
import LockstepApps
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

/// Tests with real folders, real homes, and mostly a real relay.
struct VaultEngineTests {
  @Test(arguments: VaultStage.Sealing.allCases)
  func aFileArrivesAndFollows(_ sealing: VaultStage.Sealing) throws {
    let stage = try VaultStage(devices: 2, sealing: sealing)
    try stage.write("hello", 0)
    _ = try stage.add(0)
    #expect(try stage.settled(0).map(\.state) == [.synced])
    try stage.until(1) { try self.isAdded(stage, 1) }
    try stage.settled(1)
    #expect(try stage.read(1) == "hello")
    try stage.write("changed on the other", 1)
    try stage.until(0) { try stage.read(0) == "changed on the other" }
    try stage.end()
  }

  /// Returns false if the file's record has not arrived yet.
  private func isAdded(_ stage: VaultStage, _ device: Int) throws -> Bool {
    if case .success = try stage.add(device) { true } else { false }
  }

  /// A device of a sealed account that had the vault's own key gives it to the others. A file's
  /// record keeps its name, so that no file is there twice, and what is written from now on is
  /// sealed with the account's keys.
  @Test func aVaultOfBeforeGoesOnInASealedZone() throws {
    let stage = try VaultStage(devices: 2, sealing: .zone)
    try stage.close(0)
    let seal = VaultSeal(try VaultStage.ownKey)
    try VaultKeyFile(stage.home(0)).store(try VaultStage.ownKey)
    let name = try #require(seal.recordName(of: "vault.db"))
    try stage.write(seal.fields(of: try emptyFile(), chunks: []), as: name, 0)
    try stage.open(0)
    try stage.until(1) { try self.isAdded(stage, 1) }
    try stage.settled(1)
    #expect(try stage.read(1) == "" && VaultKeyFile(stage.home(1)).key() == nil)
    try stage.write("changed", 1)
    _ = try stage.add(0)
    try stage.until(0) { try stage.read(0) == "changed" }
    let records = try stage.records(0)
    #expect(records.map(\.name) == [name])
    #expect(records.first?.value?["seal"]?["zone"]?.string == VaultApp.zone.text)
    try stage.end()
  }

  /// A file that was added to be readable at the relay is sealed as soon as the account's records
  /// are.
  @Test func aPlainFileIsSealedOnceItsZoneIs() throws {
    let stage = try VaultStage(devices: 1, sealing: .zone)
    try stage.close(0)
    let fields = VaultSeal.plain.fields(of: try emptyFile(), chunks: [])
    try stage.write(fields, as: Name(trusted: "vault.db"), 0)
    try stage.write("", 0)
    var registry = try VaultRegistry(home: stage.home(0))
    var entry = VaultEntry(name: "vault.db", path: stage.path(0, "vault.db"))
    entry.isPlain = true
    try registry.store(entry)
    try stage.open(0)
    try stage.until(0) { try stage.records(0).first?.value?["seal"] != nil }
    try stage.until(0) { files in files.first?.state == .synced && !files[0].isPlain }
    guard
      case .failure(let reason) = try stage.ask(
        0, ["do": "add", "path": .string(stage.path(0, "other.db")), "plain": true])
    else {
      Issue.record("a plain file was added")
      return
    }
    #expect(reason.contains("without --plain"))
    try stage.end()
  }

  private func emptyFile() throws -> VaultManifest {
    let hash = try #require(ChunkHash(bytes: SHA256.hash([])))
    return VaultManifest(file: "vault.db", size: 0, sha256: hash, chunks: [])
  }

  @Test(arguments: VaultStage.Sealing.allCases)
  func whatBothHadBeforeIsKeptOnBoth(_ sealing: VaultStage.Sealing) throws {
    let stage = try VaultStage(devices: 2, sealing: sealing)
    try stage.write("of the first", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    try stage.write("of the second", 1)
    try stage.makeNewer(1)
    _ = try stage.add(1)
    try stage.until(0) { try stage.all(0).count == 2 }
    try stage.until(1) { try stage.all(1) == stage.all(0) }
    #expect(try Set(stage.all(0).values) == ["of the first", "of the second"])
    // The newer version keeps the name.
    #expect(try stage.read(1) == "of the second")
    try stage.end()
  }

  @Test func whatHasNotGoneUpIsNotInStepAfterARestart() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write("hello", 0)
    _ = try stage.add(0)
    #expect(try stage.settled(0).map(\.state) == [.uploading])
    try stage.close(0)
    try stage.open(0)
    #expect(try stage.settled(0).map(\.state) == [.uploading])
    try stage.end()
  }

  @Test func aCopyThatIsDeletedIsDeletedEverywhere() throws {
    let stage = try VaultStage(devices: 2)
    for device in 0...1 {
      try stage.write("of \(device)", device)
      _ = try stage.add(device)
      try stage.settled(device)
    }
    try stage.until(0) { try stage.all(0).count == 2 }
    try stage.until(1) { try stage.all(1) == stage.all(0) }
    let copy = try #require(try stage.all(0).keys.first { $0 != "vault.db" })
    #expect(unlink(stage.path(0, copy)) == 0)
    try stage.until(1) { try stage.all(1).count == 1 }
    try stage.until(0) { files in files.map(\.name) == ["vault.db"] }
    #expect(try stage.all(0) == stage.all(1))
    try stage.end()
  }

  @Test func whatIsDeletedAndMadeAgainWasNeverGone() throws {
    let stage = try VaultStage(devices: 2)
    try stage.write("first", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    try stage.until(1) { try self.isAdded(stage, 1) }
    try stage.settled(1)
    #expect(unlink(stage.path(0, "vault.db")) == 0)
    try stage.until(0) { files in files.first?.state == .syncing }
    try stage.write("second", 0)
    try stage.until(1) { try stage.read(1) == "second" }
    // The event is written after the file has arrived.
    try stage.until(1) { _ in try VaultHistory(home: stage.home(1)).last(100).count == 2 }
    let events = try VaultHistory(home: stage.home(1)).last(100).compactMap { $0["what"]?.string }
    #expect(events == ["received", "received"])
    try stage.end()
  }

  @Test func whatAKilledDownloadLeftIsGoneAfterTheNextStart() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write("kept", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    try stage.close(0)
    let entry = try #require(try VaultRegistry(home: stage.home(0))["vault.db"])
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let engine = VaultEngine(stage.home(0), try Mailbox(isBlocking: true), log: log) { _ in }
    try stage.write("half of it", 0, FilePath.name(of: engine.temporary(entry)))
    try stage.open(0)
    try stage.settled(0)
    #expect(try stage.all(0) == ["vault.db": "kept"])
    try stage.end()
  }

  @Test func aFolderThatIsGoneIsNoDelete() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write("kept", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    #expect(rename(stage.path(0), stage.folder.path("elsewhere")) == 0)
    try stage.until(0) { files in
      files.first?.state == .error && files.first?.reason?.contains("is not there") == true
    }
    // An empty folder in its place, as if a disk is not mounted.
    #expect(mkdir(stage.path(0), 0o700) == 0)
    try stage.until(0) { files in files.first?.reason?.contains("another one") == true }
    #expect(rmdir(stage.path(0)) == 0)
    #expect(rename(stage.folder.path("elsewhere"), stage.path(0)) == 0)
    try stage.until(0) { files in files.first?.state != .error }
    #expect(try stage.read(0) == "kept")
    let history = try VaultHistory(home: stage.home(0)).last(100)
    #expect(!history.contains { $0["what"] == "deleted" })
    try stage.end()
  }

  @Test func aFileThatAProgramHasOpenIsReplacedOnceItIsClosed() throws {
    let stage = try VaultStage(devices: 2)
    try stage.write("first", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    try stage.until(1) { try self.isAdded(stage, 1) }
    try stage.settled(1)
    let writer = open(stage.path(1, "vault.db"), O_RDWR)
    try stage.write("second", 0)
    try stage.until(1) { files in files.first?.isWaiting == true }
    #expect(try stage.read(1) == "first")
    close(writer)
    try stage.until(1) { try stage.read(1) == "second" }
    try stage.end()
  }

  @Test func rightsStayWhatTheyWere() throws {
    let stage = try VaultStage(devices: 2)
    try stage.write("first", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    try stage.until(1) { try self.isAdded(stage, 1) }
    try stage.settled(1)
    #expect(try stage.folder.rights("1/vault.db") == 0o600)
    #expect(chmod(stage.path(1, "vault.db"), 0o644) == 0)
    try stage.write("second", 0)
    try stage.until(1) { try stage.read(1) == "second" }
    #expect(try stage.folder.rights("1/vault.db") == 0o644)
    try stage.end()
  }

  @Test func aSmallChangeOfALargeFileSendsLittle() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    var random = SeededRandom(seed: 1)
    let bytes = (0..<4_000_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    try stage.write(bytes, 0)
    _ = try stage.add(0)
    try stage.settled(0)
    try stage.write([1] + bytes, 0)
    try stage.until(0) { _ in try VaultHistory(home: stage.home(0)).last(9).count == 2 }
    let sent = try VaultHistory(home: stage.home(0)).last(9).compactMap { $0["bytes"]?.int64 }
    #expect(sent[0] == 4_000_000)
    #expect(sent[1] > 0 && sent[1] <= 1_000_000, "\(sent)")
    try stage.end()
  }

  @Test func whatChangedWhileNobodyLookedIsFound() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write("first", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    try stage.close(0)
    try stage.write("second", 0)
    try stage.open(0)
    try stage.until(0) { _ in try VaultHistory(home: stage.home(0)).last(9).count == 2 }
    try stage.end()
  }

  @Test func whatCannotBeKeptIsRefusedWithTheNextStep() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write("a", 0)
    _ = try stage.add(0)
    func refusal(_ request: JSONValue) throws -> String {
      guard case .failure(let reason) = try stage.ask(0, request) else { return "" }
      return reason
    }
    func added(_ path: String, _ name: String? = nil) throws -> String {
      let request: JSONValue = ["do": "add", "path": .string(path), "plain": true]
      return try refusal(request.setting("name", to: name.map { .string($0) }))
    }
    #expect(try added(stage.path(0, "none.db")).contains("the account has none called"))
    // The mirror answers each person in their language.
    let folder: JSONValue = [
      "do": "add", "path": .string(stage.path(0)), "plain": true, "language": "zh-Hans",
    ]
    let answer = try refusal(folder)
    #expect(answer.hasSuffix("/0 是文件夹；请逐个添加其中的文件"), "\(answer)")
    #expect(try added(stage.path(0, "none/none.db")).contains("is not there"))
    #expect(try added(stage.path(0)).contains("is a folder"))
    #expect(try added(stage.home(0).path + "/replica.sqlite").contains("in the home"))
    #expect(try added(stage.path(0, "vault.db"), "other").contains("synced already, as vault.db"))
    #expect(try added("vault.db").contains("absolute path"))
    try stage.write("b", 0, "b.db")
    #expect(try added(stage.path(0, "b.db"), "vault.db").contains("another name"))
    #expect(try added(stage.path(0, "b.db"), "../x").contains("is no name for a file"))
    #expect(mkfifo(stage.path(0, "pipe"), 0o600) == 0)
    #expect(try added(stage.path(0, "pipe")).contains("not a regular file"))
    #expect(try refusal(["do": "forget", "name": "none"]).contains("vault status"))
    #expect(try refusal(["do": "dance"]).contains("does not know"))
    try stage.end()
  }

  @Test func withoutTheKeyNothingIsSealed() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write("a", 0)
    let request: JSONValue = ["do": "add", "path": .string(stage.path(0, "vault.db"))]
    guard case .failure(let reason) = try stage.ask(0, request) else {
      Issue.record("it was added")
      return
    }
    #expect(reason.contains("vault unlock"))
    try stage.end()
  }

  @Test func aForgottenFileStaysAndIsLookedAtNoMore() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write("a", 0)
    _ = try stage.add(0)
    try stage.settled(0)
    _ = try stage.ask(0, ["do": "forget", "name": "vault.db"])
    try stage.until(0) { files in files.isEmpty }
    #expect(try stage.read(0) == "a")
    #expect(try VaultRegistry(home: stage.home(0)).entries == [])
    try stage.end()
  }

  /// The mirror's thread ends with the home, whatever it is doing.
  @Test func closingDoesNotWaitForALargeFile() throws {
    let stage = try VaultStage(devices: 1, hasRelay: false)
    try stage.write([UInt8](repeating: 7, count: 60_000_000), 0)
    _ = try stage.add(0)
    try stage.close(0)
    try stage.open(0)
    try stage.until(0) { files in files.first?.state == .uploading }
    try stage.end()
  }
}

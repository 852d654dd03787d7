import Glibc
import LockstepCrypto
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

/// Changes that another program makes between the check and the replacement are made before the
/// call here: the swap has been planned by then.
struct FileSwapTests {
  private let folder: TemporaryFolder
  private let path: String
  private let temporary: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("vault.db")
    temporary = folder.path(".vault.db.lockstep-1")
  }

  private static func hash(_ text: String) -> ChunkHash? {
    ChunkHash(bytes: SHA256.hash(Array(text.utf8)))
  }

  /// Returns a swap that replaces `expected` with `incoming`; nil means no file.
  private func swap(_ incoming: String?, over expected: String?) throws -> FileSwap {
    if let incoming { try folder.write(incoming, to: ".vault.db.lockstep-1") }
    return FileSwap(
      path: path, temporary: temporary, incoming: incoming.flatMap(Self.hash),
      expected: expected.flatMap(Self.hash))
  }

  private func text(_ path: String) throws -> String {
    let name = FilePath.name(of: path)
    return String(decoding: try folder.bytes(name), as: UTF8.self)
  }

  /// Writes a new file and renames it to the path, as editors do.
  private func another(_ text: String) throws {
    try folder.write(text, to: "other")
    #expect(rename(folder.path("other"), path) == 0)
  }

  @Test(arguments: [true, false])
  func whatIsExpectedIsReplaced(_ canExchange: Bool) throws {
    try folder.write("old", to: "vault.db")
    let end = try swap("new", over: "old").replace(canExchange: canExchange)
    #expect(end == .done)
    #expect(try text(path) == "new")
    #expect(try folder.contents() == ["vault.db"])
  }

  @Test(arguments: [true, false])
  func whatWasWrittenInPlaceMeanwhileIsKept(_ canExchange: Bool) throws {
    try folder.write("old", to: "vault.db")
    let swap = try swap("new", over: "old")
    try folder.write("newer still", to: "vault.db")
    guard case .kept(let place) = try swap.replace(canExchange: canExchange) else {
      Issue.record("nothing was kept")
      return
    }
    #expect(try text(place) == "newer still")
    #expect(try text(path) == "new")
  }

  @Test(arguments: [true, false])
  func whatWasRenamedOverItMeanwhileIsKept(_ canExchange: Bool) throws {
    try folder.write("old", to: "vault.db")
    let swap = try swap("new", over: "old")
    try another("by an editor")
    guard case .kept(let place) = try swap.replace(canExchange: canExchange) else {
      Issue.record("nothing was kept")
      return
    }
    #expect(try text(place) == "by an editor")
  }

  @Test(arguments: [true, false])
  func aFileThatVanishedMeanwhileStaysAway(_ canExchange: Bool) throws {
    #expect(try swap("new", over: "old").replace(canExchange: canExchange) == .changed)
    #expect(try folder.contents() == [])
  }

  @Test func aFileThatAppearedMeanwhileStays() throws {
    let swap = try swap("new", over: nil)
    try folder.write("by somebody", to: "vault.db")
    #expect(try swap.replace() == .changed)
    #expect(try text(path) == "by somebody")
    #expect(try folder.contents() == ["vault.db"])
  }

  @Test func whereNothingStandsTheFileIsPut() throws {
    #expect(try swap("new", over: nil).replace() == .done)
    #expect(try text(path) == "new")
    #expect(try folder.contents() == ["vault.db"])
  }

  @Test func aFolderIsNotReplaced() throws {
    let swap = try swap("new", over: "old")
    #expect(mkdir(path, 0o700) == 0)
    #expect(try swap.replace() == .changed)
    #expect(try folder.contents() == ["vault.db"])
  }

  @Test func aFileThatAProgramWritesIsNotReplaced() throws {
    try folder.write("old", to: "vault.db")
    let swap = try swap("new", over: "old")
    let writer = open(path, O_RDWR)
    #expect {
      _ = try swap.replace()
    } throws: { error in
      if case .waiting = error as? VaultFault { true } else { false }
    }
    #expect(try text(path) == "old")
    #expect(try folder.contents() == ["vault.db"])
    close(writer)
    #expect(try self.swap("new", over: "old").replace() == .done)
  }

  @Test func whatIsExpectedIsRemoved() throws {
    try folder.write("old", to: "vault.db")
    #expect(try swap(nil, over: "old").remove() == .done)
    #expect(try folder.contents() == [])
  }

  @Test func whatChangedMeanwhileIsNotRemoved() throws {
    try folder.write("changed", to: "vault.db")
    #expect(try swap(nil, over: "old").remove() == .changed)
    #expect(try text(path) == "changed")
    #expect(try swap(nil, over: "changed").remove() == .done)
    #expect(try swap(nil, over: "changed").remove() == .changed)
  }

  // MARK: after a crash

  @Test func aCrashBeforeTheExchangeChangesNothing() throws {
    try folder.write("old", to: "vault.db")
    #expect(try swap("new", over: "old").recover() == .done)
    #expect(try text(path) == "old")
    #expect(try folder.contents() == ["vault.db"])
  }

  @Test func aCrashAfterTheExchangeLeavesTheNewOne() throws {
    let swap = try swap("new", over: "old")
    try folder.write("new", to: "vault.db")
    try folder.write("old", to: ".vault.db.lockstep-1")
    #expect(swap.recover() == .done)
    #expect(try text(path) == "new")
    #expect(try folder.contents() == ["vault.db"])
  }

  @Test func aCrashAfterTheExchangeKeepsWhatNobodyHadSeen() throws {
    let swap = try swap("new", over: "old")
    try folder.write("new", to: "vault.db")
    try folder.write("by an editor", to: ".vault.db.lockstep-1")
    #expect(swap.recover() == .kept(at: temporary))
    #expect(try text(temporary) == "by an editor")
  }

  @Test func aCrashWhileTheOldOneWasAsideBringsItBack() throws {
    let swap = try swap("new", over: "old")
    try folder.write("old", to: ".vault.db.lockstep-1.old")
    #expect(swap.recover() == .done)
    #expect(try text(path) == "old")
    #expect(try folder.contents() == ["vault.db"])
  }

  @Test func aCrashWithinARemovalEndsIt() throws {
    try folder.write("old", to: ".vault.db.lockstep-1")
    #expect(try swap(nil, over: "old").recover() == .done)
    #expect(try folder.contents() == [])
    try folder.write("by an editor", to: ".vault.db.lockstep-1")
    #expect(try swap(nil, over: "old").recover() == .done)
    #expect(try text(path) == "by an editor")
  }

  @Test func itSurvivesItsJSON() throws {
    for swap in [
      try swap("new", over: "old"), try swap(nil, over: "old"), try swap("a", over: nil),
    ] {
      #expect(FileSwap(swap.json) == swap)
    }
    #expect(FileSwap(["path": "/a"]) == nil)
    #expect(FileSwap(nil) == nil)
  }
}

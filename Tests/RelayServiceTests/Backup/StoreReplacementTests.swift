import Foundation
import LockstepCommandLine
import LockstepStorageSQLite
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct StoreReplacementTests {
  private let directory: TemporaryFolder
  private let replacement: StoreReplacement
  private var store: String { replacement.store }

  init() throws {
    directory = try TemporaryFolder()
    let store = directory.path("store")
    replacement = StoreReplacement(store: store, draft: store + "/new.partial", wall: 0)
    try make("old", in: store)
    try make("new", in: replacement.draft)
  }

  private func make(_ content: String, in folder: String) throws {
    try FileManager.default.createDirectory(
      atPath: folder + "/chunks", withIntermediateDirectories: true)
    for name in ["zones.sqlite", "chunks/piece"] {
      try Data(content.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
    }
  }

  private func content(_ path: String) throws -> String {
    try String(contentsOfFile: path, encoding: .utf8)
  }

  @Test func theNewTakesThePlaceOfTheOldWhichStays() throws {
    let aside = try #require(try replacement.run(opening: 0xab))
    #expect(aside == store + "/replaced-1970-01-01T00-00-00Z")
    for (folder, expected) in [(store, "new"), (aside, "old")] {
      #expect(try content(folder + "/zones.sqlite") == expected)
      #expect(try content(folder + "/chunks/piece") == expected)
    }
    #expect(try content(store + "/opening") == "00000000000000ab 00000000000000ab\n")
    #expect(!replacement.isIncomplete && !FolderTree.exists(replacement.draft))
  }

  @Test func twoInOneSecondAreKeptApart() throws {
    let first = try replacement.run(opening: nil)
    #expect(!FolderTree.exists(store + "/opening"))
    try make("newer", in: replacement.draft)
    let second = try replacement.run(opening: nil)
    #expect(second == first.map { $0 + "-2" })
    #expect(try content(store + "/zones.sqlite") == "newer")
  }

  /// No relay opens a store that is half replaced.
  @Test func whatStoppedHalfwayIsSeenAndDoneAgain() throws {
    try FileManager.default.moveItem(
      atPath: replacement.draft + "/zones.sqlite", toPath: directory.path("elsewhere"))
    #expect(throws: CommandFailure.self) { try replacement.run(opening: nil) }
    #expect(replacement.isIncomplete)
    #expect(throws: (any Error).self) { try SQLiteZoneStore(directory: store, opening: 1) }
    try make("new", in: replacement.draft)
    _ = try replacement.run(opening: nil)
    #expect(!replacement.isIncomplete)
    #expect(try content(store + "/chunks/piece") == "new")
  }

  @Test func whereNothingWasNothingIsMovedAside() throws {
    for name in replacement.existingParts {
      try FileManager.default.removeItem(atPath: store + "/" + name)
    }
    #expect(try replacement.run(opening: nil) == nil)
    #expect(try content(store + "/zones.sqlite") == "new")
  }
}

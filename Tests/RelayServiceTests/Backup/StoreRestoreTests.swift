import Foundation
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import Stages
import Testing

@testable import LockstepRelayService

struct StoreRestoreTests {
  private let stage: BackupStage

  init() throws {
    stage = try BackupStage()
    try stage.fill()
  }

  /// Returns the names in the store's folder, except for SQLite's files of an empty log.
  private func contents() throws -> Set<String> {
    Set(
      try FileManager.default.contentsOfDirectory(atPath: stage.store).filter {
        !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
      })
  }

  @Test func whatIsRestoredIsAnOlderCopyAndNothingIsLost() throws {
    let (place, _) = try stage.backUp()
    let later = try stage.open()
    try stage.add(Array("later".utf8), number: 8, to: later)
    later.close()
    let outcome = try stage.restore(place, isForced: true)
    let aside = try #require(outcome.aside)
    #expect(aside == stage.store + "/replaced-1970-01-01T00-00-00Z")
    #expect(
      try contents() == [
        "chunks", "lock", "opening", "zones.sqlite", "replaced-1970-01-01T00-00-00Z",
      ]
    )
    let found = try stage.inspect(stage.store)
    #expect(found.faults.isEmpty && found.counts.records == 1)
    let store = try stage.open()
    #expect(store.wasRestored)
    store.close()
    // The former store is as it was.
    #expect(try stage.inspect(aside).counts.records == 2)
    #expect(try stage.inspect(aside).faults.isEmpty)
    #expect(try stage.inspect(place).faults.isEmpty)
  }

  @Test func itGoesIntoAFolderThatIsNotThere() throws {
    let (place, _) = try stage.backUp()
    try FileManager.default.removeItem(atPath: stage.store)
    #expect(try stage.restore(place).aside == nil)
    #expect(try contents() == ["chunks", "lock", "opening", "zones.sqlite"])
    #expect(try stage.inspect(stage.store).faults.isEmpty)
    #expect(try stage.open().wasRestored)
  }

  @Test func aStoreThatIsThereOrHeldIsLeftAlone() throws {
    let (place, _) = try stage.backUp()
    let before = try contents()
    let refusal = #expect(throws: CommandFailure.self) { try stage.restore(place) }
    #expect(refusal?.message?.contains("--force") == true)
    let store = try stage.open()
    let held = #expect(throws: CommandFailure.self) { try stage.restore(place, isForced: true) }
    #expect(held?.message?.contains("stop it first") == true)
    store.close()
    #expect(try contents() == before)
  }

  @Test func anInterruptionLeavesTheStoreAsItWas() throws {
    let (place, _) = try stage.backUp()
    let before = try contents()
    for questions in 0..<6 {
      var left = questions
      #expect(throws: Interruption.failure("the restore")) {
        try stage.restore(place, isForced: true) {
          left -= 1
          return left >= 0
        }
      }
      #expect(try contents() == before)
    }
  }

  @Test func aDamagedBackupIsRefused() throws {
    let (place, _) = try stage.backUp()
    let before = try contents()
    let name = place + "/" + BackupStage.chunk(7)
    try FileManager.default.removeItem(atPath: name)
    let failure = #expect(throws: CommandFailure.self) {
      try stage.restore(place, isForced: true)
    }
    #expect(failure?.message?.contains("pieceMissing") == true)
    #expect(failure?.message?.contains("nothing was changed") == true)
    #expect(try contents() == before)
  }

  /// For each moment at which the machine may stop: no relay opens the store, and the same command
  /// completes the restore.
  @Test func aRestoreThatDidNotEndIsDoneAgain() throws {
    let (place, _) = try stage.backUp()
    for parts in [[], ["zones.sqlite"], ["zones.sqlite", "chunks"], ["chunks", "opening"]] {
      for part in parts { try FileManager.default.removeItem(atPath: stage.store + "/" + part) }
      try stage.directory.write("", to: "store/restoring")
      try FileManager.default.createDirectory(
        atPath: stage.store + "/restored.partial/chunks", withIntermediateDirectories: true)
      #expect(throws: StorageError.self) { try stage.open() }
      _ = try stage.restore(place, isForced: true)
      #expect(!stage.directory.has("store/restoring"))
      #expect(!stage.directory.has("store/restored.partial"))
      let store = try stage.open()
      #expect(store.wasRestored)
      store.close()
      #expect(try stage.inspect(stage.store).faults.isEmpty)
    }
  }
}

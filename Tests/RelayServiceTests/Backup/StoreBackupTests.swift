import Foundation
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import Stages
import Testing

@testable import LockstepRelayService

struct StoreBackupTests {
  private let stage: BackupStage

  init() throws {
    stage = try BackupStage()
    try stage.fill()
  }

  @Test func aBackupIsWholeAndTellsWhatItIs() throws {
    let (place, outcome) = try stage.backUp(wall: 1_772_366_400_000)
    #expect(place == stage.backups + "/2026-03-01T12-00-00Z")
    #expect((outcome.linked, outcome.copied) == (1, 0) && outcome.faults.isEmpty)
    let manifest = try BackupManifest.read(from: place)
    #expect(manifest == outcome.manifest && manifest.madeAt == 1_772_366_400_000)
    #expect(manifest.counts.accounts == 1 && manifest.counts.chunks == 1 && manifest.lacking == 0)
    #expect(
      try Set(FileManager.default.contentsOfDirectory(atPath: place))
        == ["backup.json", "chunks", "zones.sqlite"])
    #expect(try stage.inspect(place).faults.isEmpty)
  }

  @Test func aStoreThatIsOpenIsBackedUpAsItIsThen() throws {
    let store = try stage.open()
    try stage.add(Array("more".utf8), number: 8, to: store)
    let (place, outcome) = try stage.backUp()
    #expect(outcome.manifest.counts.records == 2 && outcome.linked == 2)
    try stage.add(Array("later".utf8), number: 9, to: store)
    #expect(try stage.inspect(place).counts.records == 2)
    store.close()
  }

  @Test func aChunkThatTheStoreLacksIsToldAndLeftOut() throws {
    let path = stage.store + "/" + BackupStage.chunk(7)
    for damage in ["wrong", nil] {
      if let damage {
        try stage.directory.write(Array((damage).utf8), to: "store/" + BackupStage.chunk(7))
      } else {
        try FileManager.default.removeItem(atPath: path)
      }
      let (place, outcome) = try stage.backUp()
      #expect(
        outcome.faults.map(\.code) == [damage == nil ? "pieceMissing" : "pieceDamaged"])
      #expect(outcome.manifest.lacking == 1)
      let found = try stage.inspect(place)
      #expect(found.faults.isEmpty && found.lostChunks == 1, "\(found)")
      #expect(!FolderTree.exists(place + "/" + BackupStage.chunk(7)))
    }
  }

  /// An account is removed with its chunks after one of two was taken over: the database is copied
  /// again, and the backup contains nothing of the account.
  @Test func whatIsRemovedMeanwhileIsNotInTheBackup() throws {
    let store = try stage.open()
    defer { store.close() }
    try stage.add(Array("more".utf8), number: 8, to: store)
    let files = try FileChunkStore(directory: RelayStore.chunks(in: stage.store))
    var questions = 0
    let (place, outcome) = try stage.backUp {
      questions += 1
      guard questions == 2 else { return true }
      do {
        _ = try store.commit([.removeAccount(stage.account)], wall: 0)
        _ = try files.perform(.removeAll(of: stage.account))
      } catch {
        Issue.record("\(error)")
      }
      return true
    }
    #expect(questions > 2 && outcome.linked == 1 && outcome.faults.isEmpty)
    #expect(outcome.manifest.counts.accounts == 0 && outcome.manifest.counts.chunks == 0)
    let found = try stage.inspect(place)
    #expect(found.faults.isEmpty && found.strayFiles == 0)
  }

  @Test func anInterruptionLeavesNothingAtAll() throws {
    for questions in 0..<3 {
      var left = questions
      #expect(throws: Interruption.failure("the backup")) {
        try stage.backUp {
          left -= 1
          return left >= 0
        }
      }
      #expect(!stage.directory.has("backups"))
    }
  }

  @Test func aDamagedDatabaseIsNotBackedUp() throws {
    let store = try stage.open()
    try stage.add([UInt8](repeating: 1, count: 9), number: 8, to: store)
    store.close()
    var bytes = try stage.directory.bytes("store/zones.sqlite")
    for place in stride(from: 3 * 4_096, to: bytes.count, by: 512) { bytes[place] ^= 0xFF }
    try stage.directory.write(bytes, to: "store/zones.sqlite")
    #expect(throws: CommandFailure.self) { try stage.backUp() }
    #expect(!stage.directory.has("backups"))
  }
}

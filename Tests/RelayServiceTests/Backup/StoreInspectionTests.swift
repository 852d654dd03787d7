import Foundation
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import Stages
import Testing

@testable import LockstepRelayService

struct StoreInspectionTests {
  private let stage: BackupStage

  init() throws {
    stage = try BackupStage()
    try stage.fill()
  }

  @Test func aWholeStoreIsToldInWordsAndAsJSON() throws {
    let found = try stage.inspect(stage.store)
    #expect(found.faults.isEmpty && found.badChunks.isEmpty && found.strayFiles == 0)
    #expect(found.text(of: "/s").hasPrefix("/s: 1 account, 1 device, 1 record ("))
    #expect(found.text(of: "/s").hasSuffix("no faults"))
    let json = found.json(of: "/s")
    #expect(json["isWhole"]?.bool == true && json["pieces"]?.int64 == 1)
    #expect(json["faults"]?.array?.isEmpty == true)
  }

  @Test func whatIsWrongWithChunksIsTold() throws {
    let name = "store/" + BackupStage.chunk(7)
    try stage.directory.write(Array("wrong".utf8), to: name)
    try stage.directory.write(Array("x".utf8), to: "store/" + BackupStage.chunk(8))
    let damaged = try stage.inspect(stage.store)
    #expect(damaged.faults.map(\.code) == ["pieceDamaged"] && damaged.strayFiles == 1)
    #expect(damaged.faults[0].account == stage.account)
    #expect(damaged.text(of: "s").contains("files of no chunk: 1"))
    let json = try #require(damaged.json(of: "s")["faults"]?.array?.first)
    #expect(json["code"]?.string == "pieceDamaged")
    #expect(json["account"]?.string == stage.account.text)
    try FileManager.default.removeItem(atPath: stage.directory.path(name))
    #expect(try stage.inspect(stage.store).faults.map(\.code) == ["pieceMissing"])
  }

  @Test func whatARestoreLostIsNoFault() throws {
    try FileManager.default.removeItem(atPath: stage.store + "/" + BackupStage.chunk(7))
    let store = try SQLiteZoneStore(directory: stage.store, opening: 1, declareRestored: true)
    store.close()
    let found = try stage.inspect(stage.store)
    #expect(found.faults.isEmpty && found.lostChunks == 1)
    #expect(found.text(of: "s").contains("an earlier restore lost: 1"))
  }

  @Test func aFileThatIsNoDatabaseIsTold() throws {
    try stage.directory.write([UInt8](repeating: 7, count: 9_000), to: "store/zones.sqlite")
    #expect(try stage.inspect(stage.store).faults.map(\.code) == ["databaseDamaged"])
  }

  @Test func faultsOfAKindAreBounded() {
    var found = StoreInspection()
    for _ in 0..<1_000 { found.addFault("one", nil, "x") }
    found.addFault("other", nil, "x")
    #expect(found.faults.count == Limits.shownFaults + 1)
  }

  @Test func anInterruptionEndsIt() throws {
    #expect(throws: Interruption.failure("the check")) {
      try StoreInspector(
        folder: stage.store, progress: BackupStage.silence, interruption: Interruption { true },
        work: "the check"
      ).run()
    }
  }
}

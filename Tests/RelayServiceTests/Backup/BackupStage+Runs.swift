import LockstepCommandLine
import Stages

@testable import LockstepRelayService

extension BackupStage {
  func backUp(
    wall: Int64 = 0, isQuick: Bool = false, goesOn: @escaping () -> Bool = { true }
  ) throws -> (place: String, outcome: StoreBackup.Outcome) {
    let folder = try BackupFolder(backups, wall: wall)
    do {
      let outcome = try StoreBackup(
        store: store, folder: folder, isQuick: isQuick, madeAt: wall, opening: 99,
        progress: Self.silence, interruption: Interruption { !goesOn() }
      ).run()
      return (folder.finalPath, outcome)
    } catch {
      try folder.discard()
      throw error
    }
  }

  func restore(
    _ backup: String, isForced: Bool = false, goesOn: @escaping () -> Bool = { true }
  ) throws -> StoreRestore.Outcome {
    try StoreRestore(
      backup: backup, manifest: BackupManifest.read(from: backup), store: store,
      isForced: isForced, wall: 0, opening: 123, progress: Self.silence,
      interruption: Interruption { !goesOn() }
    ).run {}
  }

  func inspect(_ folder: String) throws -> StoreInspection {
    try StoreInspector(
      folder: folder, progress: Self.silence, interruption: Interruption { false },
      work: "the check"
    ).run()
  }
}

import Foundation
import LockstepCommandLine
import LockstepRelayService
import Stages
import Testing

@testable import LockstepDoctor

struct MachineProbeTests {
  private let progress = Progress(isShown: false) { _ in }

  @Test func withoutAStoreOnlyTheProcessIsLookedAt() {
    let checks = MachineProbe(store: nil, progress: progress).checks()
    #expect(checks.map(\.name) == ["open-files"])
    #expect(MachineProbe.openFiles.hard >= MachineProbe.openFiles.soft)
  }

  @Test func aStoreThatIsWholeIsOkAndOneWithoutAChunkIsNot() throws {
    let stage = try BackupStage()
    try stage.fill()
    let look = MachineProbe(store: .folder(stage.store), progress: progress)
    let whole = look.checks()
    #expect(whole.map(\.name) == ["open-files", "store", "disk"])
    #expect(whole[1].verdict == .ok, "\(whole[1])")
    try FileManager.default.removeItem(atPath: RelayStore.chunks(in: stage.store))
    #expect(look.checks()[1].verdict == .problem)
  }

  @Test func whereThereIsNoStoreThatIsAProblem() throws {
    let stage = try BackupStage()
    let checks = MachineProbe(store: .folder(stage.backups), progress: progress).checks()
    #expect(checks[1].verdict == .problem && checks[1].seen.contains("no store"))
    #expect(checks[2].verdict == .skipped, "a folder that is not there has no room")
  }
}

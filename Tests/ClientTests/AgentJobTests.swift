import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

struct AgentJobTests {
  @Test func eachLaneDoesItsOwnWork() throws {
    let harness = try ReplicaHarness()
    var replica = harness.replica
    let files = MemoryChunkStore()
    let job = AgentJob.commit(ReplicaJob(task: .load, clock: harness.clock))
    guard case .commit(let outcome) = AgentWork.perform(job, on: &replica, files: files),
      case .success(.loaded) = outcome.result
    else {
      Issue.record("the home was not read")
      return
    }
    let file = ChunkFile(account: AccountID(rawValue: 7), number: 1)
    let append = AgentJob.file(.append(file, [1]))
    guard case .file(.success(.done)) = AgentWork.perform(append, on: &replica, files: files)
    else {
      Issue.record("the file was not begun")
      return
    }
    #expect(files.counts == (0, 1))
  }
}

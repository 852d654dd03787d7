import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepStorage

/// Chunk files of a device, and the thread that works on them. A crash keeps the complete files.
package final class FileWorker {
  private typealias Completion = (JobID, Agent.FileOutcome) -> Void

  private let worker: VirtualWorker<(JobID, ChunkRequest, Completion)>
  private let disk: Disk

  private final class Disk {
    var files = MemoryChunkStore()
  }

  init(timeline: Timeline, random: SeededRandom) {
    let disk = Disk()
    self.disk = disk
    worker = VirtualWorker(
      timeline: timeline, random: random,
      pace: .init(
        effect: Span.microseconds(50)...Span.milliseconds(5),
        outcome: Span.microseconds(10)...Span.milliseconds(1),
        portions: WorkPortions(cost: 1, lightCost: 1))
    ) { works in
      let outcomes = works.map { AgentWork.perform($0.1, on: disk.files) }
      return {
        for (work, outcome) in zip(works, outcomes) { work.2(work.0, outcome) }
      }
    }
  }

  var isIdle: Bool { worker.isIdle }

  func add(
    _ id: JobID, _ request: ChunkRequest,
    completion: @escaping (JobID, Agent.FileOutcome) -> Void
  ) {
    worker.add((id, request, completion))
  }

  /// Drops all jobs, as the end of the process does.
  func drop() {
    worker.drop()
    disk.files = disk.files.reopened()
  }
}

import LockstepRuntime
import Testing

@testable import LockstepEventLoop

struct WorkerTests {
  @Test func newsReachesEveryNodeAndComesBeforeTheOutcome() throws {
    let running = try RunningGroup(
      count: 2, worker: { jobs, _ in jobs.map { ($0.job * 10, $0.job) } })
    for number in 1...200 {
      let node = number % 2
      running.order(.run(JobID(rawValue: UInt64(number)), .commit(number)), node: node)
    }
    for node in 0..<2 {
      let last = JobID(rawValue: UInt64(200 - node))
      let wanted = ScriptedReport.finished(last, Int(last.rawValue) * 10)
      // The first node gets the jobs with even numbers, up to 200; the other one those up to 199.
      try running.journal.first(of: node == 0 ? 0 : 1) { $0 == wanted ? true : nil }
    }
    waitUntil {
      (0..<2).allSatisfy { node in
        running.journal.entries(of: node).count { if case .news = $0 { true } else { false } }
          == 200
      }
    }
    let orders = (0..<2).map { node in
      running.journal.entries(of: node).compactMap { told -> Int? in
        guard case .news(let number) = told else { return nil }
        return number
      }
    }
    #expect(orders[0] == orders[1], "all nodes receive the same order")
    for node in 0..<2 {
      let entries = running.journal.entries(of: node)
      for (index, told) in entries.enumerated() {
        guard case .finished(let id, _) = told else { continue }
        #expect(Int(id.rawValue) % 2 == node, "the outcome is its origin's alone")
        #expect(entries[index - 1] == .news(Int(id.rawValue)), "right after its news")
      }
    }
    running.end()
  }

  @Test func jobsWaitingDuringABatchFormTheNextBatch() throws {
    let gate = try Mailbox<Int>(isBlocking: true)
    let sizes = RunningGroup.Box<[Int]>([])
    let running = try RunningGroup(
      worker: { jobs, _ in
        sizes.change { $0.append(jobs.count) }
        var pass: [Int] = []
        _ = gate.waitForMessages(into: &pass)
        return jobs.map { ($0.job, nil) }
      })
    running.order(.run(JobID(rawValue: 1), .commit(1)))
    waitUntil { sizes.contents.count == 1 }
    for number: UInt64 in 2...9 { running.order(.run(JobID(rawValue: number), .commit(1))) }
    running.order(.report(.news(99)))
    // Orders are handled in order, and jobs are passed on before the turn ends.
    try running.journal.first { $0 == .news(99) ? true : nil }
    running.order(.report(.news(100)))
    try running.journal.first { $0 == .news(100) ? true : nil }
    gate.post(1)
    waitUntil { sizes.contents.count == 2 }
    #expect(sizes.contents == [1, 8])
    gate.close()
    try running.journal.first { $0 == .finished(JobID(rawValue: 9), 1) ? true : nil }
    running.end()
  }

  @Test func jobsArrivingDuringALongBacklogRunInTheNextPortion() throws {
    let gate = try Mailbox<Int>(isBlocking: true)
    let portions = RunningGroup.Box<[[Int]]>([])
    // The number of a job is its cost.
    let running = try RunningGroup(
      worker: { jobs, _ in
        portions.change { $0.append(jobs.map(\.job)) }
        var pass: [Int] = []
        _ = gate.waitForMessages(into: &pass)
        return jobs.map { ($0.job, nil) }
      }, portions: WorkPortions(cost: 10, lightCost: 1),
      weigh: { WorkWeight(owner: $0 == 1 ? 1 : 2, cost: $0) })
    func order(_ id: UInt64, _ job: Int) { running.order(.run(JobID(rawValue: id), .commit(job))) }
    /// Waits until the node has passed on all earlier orders.
    func settle(_ mark: Int) throws {
      running.order(.report(.news(mark)))
      try running.journal.first { $0 == .news(mark) ? true : nil }
    }
    order(1, 7)
    waitUntil { portions.contents.count == 1 }
    for id: UInt64 in 2...5 { order(id, 8) }
    try settle(98)
    try settle(99)
    gate.post(1)
    waitUntil { portions.contents.count == 2 }
    order(6, 1)
    try settle(100)
    try settle(101)
    gate.close()
    try running.journal.first { $0 == .finished(JobID(rawValue: 5), 8) ? true : nil }
    #expect(portions.contents == [[7], [8], [1], [8], [8], [8]])
    running.end()
  }

  /// A short job needs no worker. While another job is under way it waits for that one, so that
  /// the jobs of a lane are done in their order.
  @Test func shortJobsAreDoneByTheNodeWhileTheWorkerIsIdle() throws {
    let gate = try Mailbox<Int>(isBlocking: true)
    let done = RunningGroup.Box<[String]>([])
    let running = try RunningGroup(
      worker: { jobs, _ in
        var pass: [Int] = []
        _ = gate.waitForMessages(into: &pass)
        done.change { done in done += jobs.map { "worker \($0.job)" } }
        return jobs.map { ($0.job, nil) }
      },
      shortJob: { job in
        guard job < 10 else { return nil }
        done.change { $0.append("node \(job)") }
        return (job, job + 100)
      })
    func order(_ id: UInt64, _ job: Int) { running.order(.run(JobID(rawValue: id), .commit(job))) }
    order(1, 1)
    try running.journal.first { $0 == .finished(JobID(rawValue: 1), 1) ? true : nil }
    try running.journal.first { $0 == .news(101) ? true : nil }
    order(2, 20)
    order(3, 3)
    running.order(.report(.news(99)))
    try running.journal.first { $0 == .news(99) ? true : nil }
    running.order(.report(.news(100)))
    try running.journal.first { $0 == .news(100) ? true : nil }
    #expect(done.contents == ["node 1"], "the third job waits for the second")
    gate.close()
    try running.journal.first { $0 == .finished(JobID(rawValue: 3), 3) ? true : nil }
    order(4, 4)
    try running.journal.first { $0 == .finished(JobID(rawValue: 4), 4) ? true : nil }
    #expect(done.contents == ["node 1", "worker 20", "worker 3", "node 4"])
    running.end()
  }

  /// Deferred work waits for its time, but not at the end.
  @Test func deferredWorkIsDoneInTheEnd() throws {
    let portions = RunningGroup.Box<[[Int]]>([])
    let pace = WorkPace(
      freeCost: 1, nanosecondsPerCost: 1_000_000, burstMicroseconds: 1, microsecondsPerSecond: 1,
      pauseFactor: 0, shortMicroseconds: 0, longPauseFactor: 0, quietMilliseconds: 1,
      patienceMilliseconds: 1_000, owners: 10)
    let running = try RunningGroup(
      worker: { jobs, _ in
        portions.change { $0.append(jobs.map(\.job)) }
        return jobs.map { ($0.job, nil) }
      }, portions: WorkPortions(cost: 10, lightCost: 1, pace: pace),
      weigh: { WorkWeight(owner: 1, cost: $0) })
    for id: UInt64 in 1...5 { running.order(.run(JobID(rawValue: id), .commit(8))) }
    try running.journal.first { $0 == .finished(JobID(rawValue: 5), 8) ? true : nil }
    #expect(portions.contents == [[8], [8], [8], [8], [8]])
    running.end()
  }

  @Test func newsReachesAllNodesExceptTheSender() throws {
    let running = try RunningGroup(count: 3)
    running.order(.broadcast(7), node: 1)
    for node in [0, 2] { try running.journal.first(of: node) { $0 == .news(7) ? true : nil } }
    running.end()
    #expect(!running.journal.entries(of: 1).contains(.news(7)))
  }
}

import LockstepRuntime
import Testing

@testable import LockstepEventLoop

struct LivenessCheckTests {
  @Test func everyLoopAnswersInItsNextTurn() throws {
    let running = try RunningGroup(count: 2)
    #expect(running.group.unresponsiveThreads == UnresponsiveThreads(), "there was no ping yet")
    for _ in 0..<3 {
      running.group.pingThreads()
      waitUntil { running.group.unresponsiveThreads == UnresponsiveThreads() }
    }
    running.end()
    running.group.pingThreads()
    #expect(
      running.group.unresponsiveThreads == UnresponsiveThreads(), "an ended node need not answer")
  }

  @Test func threadsThatHangAreNamed() throws {
    let gate = try Mailbox<Int>(isBlocking: true)
    let running = try RunningGroup(
      count: 2,
      worker: { jobs, _ in
        var pass: [Int] = []
        _ = gate.waitForMessages(into: &pass)
        return jobs.map { ($0.job, nil) }
      },
      change: { settings in
        let report = settings.report
        settings.report = { node, told in
          report(node, told)
          var pass: [Int] = []
          if told == .news(7) { _ = gate.waitForMessages(into: &pass) }
        }
      })
    // The second loop hangs in a report.
    running.order(.report(.news(7)), node: 1)
    try running.journal.first(of: 1) { $0 == .news(7) ? true : nil }
    running.group.pingThreads()
    waitUntil { running.group.unresponsiveThreads == UnresponsiveThreads(nodes: [1]) }
    gate.post(1)
    waitUntil { running.group.unresponsiveThreads == UnresponsiveThreads() }
    // The worker hangs in a job; its loop does not.
    running.order(.run(JobID(rawValue: 1), .commit(5)))
    waitUntil {
      running.group.pingThreads()
      return running.group.unresponsiveThreads.lanes == [.commits]
    }
    gate.post(1)
    waitUntil { running.group.unresponsiveThreads == UnresponsiveThreads() }
    running.end()
  }
}

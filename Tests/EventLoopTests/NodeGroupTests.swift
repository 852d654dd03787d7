import Glibc
import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepEventLoop

struct NodeGroupTests {
  @Test func lastReportEndsANodeAfterItsBytesHaveLeft() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    running.order(.send(id, [UInt8](repeating: 3, count: 1 << 20)))
    running.order(.close(id, .afterSending))
    running.order(.report(.last))
    #expect(socket.receiveAll().bytes.count == 1 << 20)
    #expect(running.join() == [.done])
  }

  @Test func nodeWithNothingLeftEnds() throws {
    var node = ScriptedNode()
    node.lastActions = []
    let running = try RunningGroup(count: 2, node)
    #expect(running.end() == [.done, .done])
    #expect(running.journal.entries(of: 1) == [.stopping])
  }

  @Test func nodeThatDoesNotEndIsEndedByTheBound() throws {
    var node = ScriptedNode()
    node.lastActions = []
    let running = try RunningGroup(node, stopMilliseconds: 20)
    let socket = try running.connect()
    _ = try running.journal.opened()
    #expect(running.end() == [.timedOut])
    #expect(socket.receiveAll().bytes.isEmpty)
  }

  @Test func secondStopEndsAtOnce() throws {
    var node = ScriptedNode()
    node.lastActions = []
    let running = try RunningGroup(node, stopMilliseconds: 1_000_000)
    let socket = try running.connect()
    _ = try running.journal.opened()
    running.group.stop()
    running.group.stop()
    #expect(running.join() == [.forced])
    withExtendedLifetime(socket) {}
  }

  @Test func stoppingClosesThePublicListener() throws {
    var node = ScriptedNode()
    node.lastActions = []
    let running = try RunningGroup(node)
    let early = try running.connect()
    running.group.stop()
    try running.journal.first { $0 == .stopping ? true : nil }
    #expect(throws: PlainSocket.SocketTrouble.self) { _ = try running.connect() }
    running.group.stop()
    running.join()
    withExtendedLifetime(early) {}
  }

  @Test func jobThatIsBegunIsFinishedBeforeTheEnd() throws {
    var node = ScriptedNode()
    node.lastActions = []
    let gate = try Mailbox<Int>(isBlocking: true)
    let running = try RunningGroup(
      node,
      worker: { jobs, _ in
        var pass: [Int] = []
        _ = gate.waitForMessages(into: &pass)
        return jobs.map { ($0.job, nil) }
      })
    running.order(.run(JobID(rawValue: 1), .commit(5)))
    running.group.stop()
    try running.journal.first { $0 == .stopping ? true : nil }
    gate.post(1)
    #expect(running.join() == [.done])
    #expect(running.journal.entries() == [.stopping, .finished(JobID(rawValue: 1), 5)])
  }

  @Test func ordersFromManyThreadsAllArrive() throws {
    let running = try RunningGroup()
    let group = running.group
    let threads = try (0..<4).map { thread in
      try LoopThread("orders") {
        for number in 0..<500 { group.post(.act(.report(.news(thread * 500 + number)))) }
      }
    }
    for thread in threads { thread.join() }
    waitUntil { running.journal.entries().count == 2_000 }
    #expect(Set(running.journal.entries()).count == 2_000)
    running.end()
  }

  @Test func signalIsACallOfStop() throws {
    // On a new thread, so that the signals are blocked in no other thread of the tests.
    let endings = RunningGroup.Box<[NodeEnding]>([])
    let thread = try LoopThread("signalled") {
      do {
        let signals = try Signals()
        let group = try NodeGroup<ScriptedNode>(count: 1, GroupSettings { _, _ in })
        try group.add(ScriptedNode())
        raise(SIGTERM)
        let all = try group.run(signals)
        endings.change { $0 = all }
      } catch {
        Issue.record(error)
      }
    }
    thread.join()
    #expect(endings.contents == [.done])
  }
}

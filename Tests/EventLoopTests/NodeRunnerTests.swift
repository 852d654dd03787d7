import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepEventLoop

/// Larger than the kernel's buffers of both ends: some ten megabytes on most systems.
private let moreThanBuffersHold = 24 << 20

struct NodeRunnerTests {
  @Test func echoComesBack() throws {
    var node = ScriptedNode()
    node.echoes = true
    let running = try RunningGroup(node)
    let socket = try running.connect()
    socket.send("as it was said")
    #expect(socket.receive(14) == Array("as it was said".utf8))
    #expect(running.end() == [.done])
  }

  @Test func openingHasTheListenerKind() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    #expect(running.journal.entries().contains(.opened(id, .public)))
    #expect(!id.isOutgoing)
    withExtendedLifetime(socket) {}
    running.end()
  }

  @Test func multicastReachesOpenConnectionsAndSkipsOthers() throws {
    let running = try RunningGroup()
    let sockets = try (0..<5).map { _ in try running.connect() }
    let ids = try (0..<5).map { try running.journal.opened(after: $0) }
    let gone = ConnectionID(rawValue: ids[0].rawValue + 1 << 32)
    running.order(.multicast(Array("to all".utf8), ids + [gone, .outgoing(7)]))
    for socket in sockets { #expect(socket.receive(6) == Array("to all".utf8)) }
    running.end()
  }

  @Test func framesOfOneTurnKeepTheirOrder() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    let frames = (0..<300).map { [UInt8](repeating: UInt8($0 % 251), count: $0 % 7 + 1) }
    for frame in frames { running.order(.send(id, frame)) }
    #expect(socket.receive(frames.joined().count) == Array(frames.joined()))
    running.end()
  }

  @Test func stalledReaderIsReportedAndDrains() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    var frame = [UInt8](repeating: 5, count: moreThanBuffersHold)
    for index in stride(from: 0, to: frame.count, by: 997) {
      frame[index] = UInt8(truncatingIfNeeded: index)
    }
    running.order(.send(id, frame))
    let unsent = try running.journal.first { told -> Int? in
      guard case .drained(id, let unsent) = told else { return nil }
      return unsent
    }
    #expect(unsent > 0 && unsent < frame.count)
    #expect(socket.receive(frame.count) == frame)
    try running.journal.first { $0 == .drained(id, unsent: 0) ? true : nil }
    let told = running.journal.entries().compactMap { told -> Int? in
      guard case .drained(id, let unsent) = told else { return nil }
      return unsent
    }
    #expect(told == told.sorted(by: >) && Set(told).count == told.count)
    running.end()
  }

  @Test func pausedConnectionIsNotReadUntilResumed() throws {
    var node = ScriptedNode()
    node.pausesAtOnce = true
    let running = try RunningGroup(node)
    let socket = try running.connect()
    let id = try running.journal.opened()
    socket.send("patience")
    let other = try running.connect()
    let otherID = try running.journal.opened(after: 1)
    running.order(.resumeReading(otherID))
    other.send("first")
    #expect(running.journal.received(otherID, count: 5) == Array("first".utf8))
    #expect(
      !running.journal.entries().contains {
        if case .received(id, _) = $0 { true } else { false }
      })
    running.order(.resumeReading(id))
    #expect(running.journal.received(id, count: 8) == Array("patience".utf8))
    running.end()
  }

  @Test func closeAfterSendingDeliversAllAndEndsInOrder() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    let answer = [UInt8](repeating: 7, count: moreThanBuffersHold)
    // Bytes that are never read: without lingering they would turn the end into a reset.
    socket.send([UInt8](repeating: 1, count: 1_000))
    _ = running.journal.received(id, count: 1_000)
    running.order(.send(id, answer))
    running.order(.close(id, .afterSending))
    socket.send([UInt8](repeating: 2, count: 100_000))
    let (bytes, endedInOrder) = socket.receiveAll()
    #expect(bytes == answer)
    #expect(endedInOrder)
    running.end()
    #expect(
      !running.journal.entries().contains { if case .closed = $0 { true } else { false } },
      "the node closed it and gets no more events of it")
  }

  @Test func closeNowThrowsAway() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    running.order(.send(id, [UInt8](repeating: 7, count: moreThanBuffersHold)))
    running.order(.close(id, .now))
    #expect(socket.receiveAll().bytes.count < moreThanBuffersHold)
    running.end()
  }

  @Test func resetByThePeerIsAFailure() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    socket.reset()
    #expect(try running.journal.cause(of: id) == .failed("Connection reset by peer"))
    running.end()
  }

  @Test func resetOfAPausedConnectionIsReported() throws {
    var node = ScriptedNode()
    node.pausesAtOnce = true
    let running = try RunningGroup(node)
    let socket = try running.connect()
    let id = try running.journal.opened()
    socket.reset()
    #expect(try running.journal.cause(of: id) == .failed("Connection reset by peer"))
    running.end()
  }

  @Test func endOfStreamIsReportedAndQueuedFramesAreStillSent() throws {
    let running = try RunningGroup()
    let socket = try running.connect()
    let id = try running.journal.opened()
    let answer = [UInt8](repeating: 9, count: moreThanBuffersHold)
    running.order(.send(id, answer))
    try running.journal.first { if case .drained(id, _) = $0 { true } else { nil } }
    socket.endWriting()
    #expect(try running.journal.cause(of: id) == .endOfStream)
    #expect(socket.receiveAll().bytes == answer)
    running.end()
  }

  @Test func deadlinesFireInOrderAndNotEarly() throws {
    let running = try RunningGroup()
    let start = SystemClock.instant()
    running.group.post(.deadlines([30, 10, 20]), to: 0)
    try running.journal.first { $0 == .deadline(0) ? true : nil }
    #expect(SystemClock.instant().milliseconds(since: start) >= 30)
    #expect(running.journal.entries() == [.deadline(1), .deadline(2), .deadline(0)])
    running.end()
  }

  @Test func jobsWithoutAWorkerAreDoneOnTheSpot() throws {
    let running = try RunningGroup()
    running.order(.run(JobID(rawValue: 1), .commit(4)))
    running.order(.run(JobID(rawValue: 2), .read(-4)))
    try running.journal.first { $0 == .finished(JobID(rawValue: 2), -40) ? true : nil }
    #expect(
      running.journal.entries() == [
        .news(4), .finished(JobID(rawValue: 1), 40), .finished(JobID(rawValue: 2), -40),
      ])
    running.end()
  }

  @Test func traceShowsEventsAndActionsButNoContents() throws {
    let lines = RunningGroup.Box<[String]>([])
    var node = ScriptedNode()
    node.echoes = true
    let running = try RunningGroup(
      node,
      change: { settings in
        settings.trace = { line in lines.change { $0.append(line) } }
      })
    let socket = try running.connect()
    socket.send("a secret")
    #expect(socket.receive(8).count == 8)
    running.end()
    let all = lines.contents.joined(separator: "\n")
    #expect(all.contains("< received in 0.0 8 bytes"))
    #expect(all.contains("> send in 0.0 8 bytes"))
    #expect(all.contains("> report received"))
    #expect(!all.contains("secret"))
  }
}

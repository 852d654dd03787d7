import Dispatch
import LockstepModel
import LockstepRuntime
import Synchronization
import Testing

/// The contract of `DeviceDriver`, for each driver. The one for Apple's systems runs here with
/// sockets in place of their Network framework.
struct DeviceDriverTests {
  @Test(arguments: DrivenProbe.Kind.allCases)
  func ordersArriveInTheirOrder(kind: DrivenProbe.Kind) async throws {
    let probe = try DrivenProbe(kind)
    for number in 0..<1_000 { probe.post(.say(number)) }
    probe.post(.finish)
    #expect(await probe.ended() == (0..<1_000).map { .said($0) } + [.last])
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func bytesGoThereAndBackInOrder(kind: DrivenProbe.Kind) async throws {
    let peer = LocalPeer(.echo)
    let probe = try DrivenProbe(kind)
    probe.post(.open(1, peer.address))
    await probe.reports(with: .opened(1))
    let parts = (0..<50).map { number in [UInt8](repeating: UInt8(number), count: 1 + number * 50) }
    for part in parts { probe.post(.send(1, part)) }
    let sent = Array(parts.joined())
    let reports = await probe.reports { bytes(of: 1, in: $0).count >= sent.count }
    #expect(bytes(of: 1, in: reports) == sent)
    probe.post(.close(1, .now), .finish)
    #expect(!(await probe.ended()).contains { if case .closed = $0 { true } else { false } })
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func aPeerThatIsNotThereIsReported(kind: DrivenProbe.Kind) async throws {
    let probe = try DrivenProbe(kind)
    probe.post(.open(1, LocalPeer.closedAddress))
    let reports = await probe.reports { !$0.isEmpty }
    guard case .closed(1, .connectFailed) = reports[0] else {
      Issue.record("\(reports)")
      return
    }
    probe.post(.finish)
    #expect(await probe.ended().count == 2)
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func aPeerThatNobodyJudgesIsRefused(kind: DrivenProbe.Kind) async throws {
    let peer = LocalPeer(.echo)
    guard case .host(let host, let port) = peer.address else { return }
    let probe = try DrivenProbe(kind)
    probe.post(.open(1, .screened(host, port: port, allowsLocal: true)))
    await probe.reports(with: .closed(1, .addressNotAllowed))
    probe.post(.finish)
    #expect(await probe.ended().count == 2)
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func theEndOfAStreamComesAfterItsBytes(kind: DrivenProbe.Kind) async throws {
    let peer = LocalPeer(.greeting(Array("hello".utf8)))
    let probe = try DrivenProbe(kind)
    probe.post(.open(1, peer.address))
    let reports = await probe.reports(with: .closed(1, .endOfStream))
    #expect(reports.first == .opened(1))
    #expect(reports.last == .closed(1, .endOfStream))
    #expect(bytes(of: 1, in: reports) == Array("hello".utf8))
    probe.post(.finish)
    _ = await probe.ended()
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func aPausedConnectionReceivesNothingUntilItIsResumed(kind: DrivenProbe.Kind) async throws {
    let peer = LocalPeer(.echo)
    let probe = try DrivenProbe(kind)
    probe.post(.open(1, peer.address), .open(2, peer.address))
    await probe.reports { $0.contains(.opened(1)) && $0.contains(.opened(2)) }
    probe.post(.pause(1), .send(1, [1, 2, 3]), .send(2, [4]))
    let paused = await probe.reports { bytes(of: 2, in: $0) == [4] }
    #expect(bytes(of: 1, in: paused).isEmpty)
    probe.post(.resume(1))
    #expect(bytes(of: 1, in: await probe.reports { !bytes(of: 1, in: $0).isEmpty }) == [1, 2, 3])
    probe.post(.finish)
    _ = await probe.ended()
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func theNodeLearnsHowManyBytesWait(kind: DrivenProbe.Kind) async throws {
    let peer = LocalPeer(.stalled)
    let probe = try DrivenProbe(kind)
    probe.post(.open(1, peer.address))
    await probe.reports(with: .opened(1))
    // More than the buffers of two sockets.
    probe.post(.send(1, [UInt8](repeating: 7, count: 16 << 20)))
    let waiting = await probe.reports { !unsent(of: 1, in: $0).isEmpty }
    #expect(unsent(of: 1, in: waiting)[0] > 0)
    peer.readOn()
    let sent = await probe.reports { unsent(of: 1, in: $0).last == 0 }
    #expect(unsent(of: 1, in: sent) == unsent(of: 1, in: sent).sorted(by: >))
    probe.post(.finish)
    _ = await probe.ended()
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func whatWasSentBeforeACloseArrives(kind: DrivenProbe.Kind) async throws {
    let peer = LocalPeer(.stalled)
    // The peer reads on by a job of the node. The test itself could be late on a busy machine, and
    // a driver drops a closing connection whose peer reads nothing for some seconds.
    let probe = try DrivenProbe(kind) { _, number in
      peer.readOn()
      return number
    }
    probe.post(.open(1, peer.address))
    await probe.reports(with: .opened(1))
    probe.post(.send(1, [UInt8](repeating: 7, count: 4 << 20)), .close(1, .afterSending))
    probe.post(.send(1, [8]), .run(.commit(1)))
    #expect(await peer.received() == 4 << 20)
    #expect(!probe.reports.contains { if case .closed = $0 { true } else { false } })
    probe.post(.finish)
    _ = await probe.ended()
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func aDeadlineIsNeverEarly(kind: DrivenProbe.Kind) async throws {
    let probe = try DrivenProbe(kind)
    probe.post(.wake(milliseconds: 30))
    #expect(await probe.reports { !$0.isEmpty } == [.woken(isEarly: false)])
    // A later deadline is replaced by an earlier one.
    probe.post(.wake(milliseconds: 3_600_000), .wake(milliseconds: 0))
    #expect(await probe.reports { $0.count > 1 }.last == .woken(isEarly: false))
    probe.post(.finish)
    _ = await probe.ended()
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func jobsOfALaneAreDoneInOrder(kind: DrivenProbe.Kind) async throws {
    let done = Mutex<[Int]>([])
    let probe = try DrivenProbe(kind) { _, number in
      done.withLock { $0.append(number) }
      return number
    }
    for number in 0..<200 { probe.post(.run(.commit(number))) }
    let reports = await probe.reports(with: .finished(199))
    #expect(reports == (0..<200).map { .finished($0) })
    #expect(done.withLock { $0 } == Array(0..<200))
    probe.post(.finish)
    _ = await probe.ended()
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func lanesDoNotWaitForOneAnother(kind: DrivenProbe.Kind) async throws {
    let gate = DispatchSemaphore(value: 0)
    let probe = try DrivenProbe(kind) { lane, number in
      if lane == .files { gate.wait() }
      return number
    }
    probe.post(.run(.file(1)), .run(.commit(2)), .run(.read(3)))
    let reports = await probe.reports { $0.count >= 2 }
    #expect(Set(reports) == [.finished(2), .finished(3)])
    gate.signal()
    await probe.reports(with: .finished(1))
    probe.post(.finish)
    _ = await probe.ended()
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func nothingFollowsTheLastReport(kind: DrivenProbe.Kind) async throws {
    let probe = try DrivenProbe(kind)
    probe.post(.say(1), .finish)
    #expect(await probe.ended() == [.said(1), .last])
    probe.post(.say(2))
    probe.stop()
    probe.stop()
    #expect(probe.reports == [.said(1), .last])
    #expect(probe.ends == 1)
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func theEndWaitsForTheJobs(kind: DrivenProbe.Kind) async throws {
    let gate = DispatchSemaphore(value: 0)
    let isDone = Mutex(false)
    let probe = try DrivenProbe(kind) { _, number in
      gate.wait()
      isDone.withLock { $0 = true }
      return number
    }
    probe.post(.run(.file(1)), .finish)
    await probe.reports(with: .last)
    #expect(probe.ends == 0)
    gate.signal()
    _ = await probe.ended()
    #expect(isDone.withLock { $0 })
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func aStopEndsANodeThatHasNothingToDo(kind: DrivenProbe.Kind) async throws {
    let probe = try DrivenProbe(kind)
    probe.stop()
    #expect(await probe.ended() == [.stopping])
  }

  @Test(arguments: DrivenProbe.Kind.allCases)
  func aSecondStopEndsTheNodeAtOnce(kind: DrivenProbe.Kind) async throws {
    let peer = LocalPeer(.stalled)
    let probe = try DrivenProbe(kind)
    probe.post(.open(1, peer.address))
    await probe.reports(with: .opened(1))
    probe.stop()
    await probe.reports(with: .stopping)
    #expect(probe.ends == 0)
    probe.stop()
    #expect(await probe.ended() == [.opened(1), .stopping])
  }
}

private func bytes(of connection: UInt64, in reports: DrivenProbe.Reports) -> [UInt8] {
  reports.flatMap { report -> [UInt8] in
    if case .received(connection, let bytes) = report { bytes } else { [] }
  }
}

private func unsent(of connection: UInt64, in reports: DrivenProbe.Reports) -> [Int] {
  reports.compactMap { report in
    if case .drained(connection, let unsent) = report { unsent } else { nil }
  }
}

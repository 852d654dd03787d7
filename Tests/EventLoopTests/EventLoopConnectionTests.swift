import Glibc
import LockstepModel
import LockstepRuntime
import LockstepWire
import TemporaryFolders
import Testing

@testable import LockstepEventLoop

struct EventLoopConnectionTests {
  private func isNothing(_ input: EventLoop.Input?) -> Bool {
    if case .none = input { true } else { false }
  }

  private func receivedID(_ input: EventLoop.Input?) -> ConnectionID? {
    guard case .received(let id, _) = input else { return nil }
    return id
  }

  private func closedID(_ input: EventLoop.Input?) -> ConnectionID? {
    guard case .closed(let id, _) = input else { return nil }
    return id
  }

  @Test func staleEventOfAReusedDescriptorIsNotTakenForItsSuccessors() throws {
    let loop = try LoopInHand()
    let (firstEnd, firstPeer) = try PlainSocket.pair()
    let (secondEnd, secondPeer) = try PlainSocket.pair()
    let first = loop.adopt(firstEnd)
    let second = loop.adopt(secondEnd)
    firstPeer.send("one")
    secondPeer.send("two")
    // Both events are in the kernel's answer. The first one closes the other connection, and a new
    // connection takes over its descriptor and its slot before its event is handled.
    _ = loop.value.wait(until: nil, mayWait: true)
    let told = receivedID(loop.next())
    let gone = told == first ? second : first
    loop.value.close(gone, .now)
    let (thirdEnd, thirdPeer) = try PlainSocket.pair()
    let third = loop.adopt(thirdEnd)
    #expect(third != gone)
    #expect(third.rawValue & 0xFFFF_FFFF == gone.rawValue & 0xFFFF_FFFF, "the same slot")
    #expect(isNothing(loop.next()))
    thirdPeer.send("three")
    _ = loop.value.wait(until: nil, mayWait: true)
    #expect(receivedID(loop.next()) == third)
    withExtendedLifetime((firstPeer, secondPeer)) {}
  }

  @Test func closedConnectionIsNotReportedAgain() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    peer.endWriting()
    _ = loop.value.wait(until: nil, mayWait: true)
    #expect(closedID(loop.next()) == id)
    guard case .holding(id, bytes: 0) = loop.next() else {
      Issue.record("the release was not reported")
      return
    }
    #expect(isNothing(loop.next()))
    #expect(loop.isEmpty)
    loop.value.send(id, [1])
    loop.value.close(id, .now)
    #expect(!loop.isDirty)
  }

  @Test func framesOfATurnLeaveTogetherAtTheFlush() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    loop.value.send(id, Array("a".utf8))
    loop.value.multicast(Array("bc".utf8), [id, id])
    loop.value.send(id, [])
    var waiting = [UInt8](repeating: 0, count: 16)
    #expect(recv(peer.rawValue, &waiting, 16, Int32(MSG_DONTWAIT)) == -1)
    loop.value.flush()
    #expect(peer.receive(5) == Array("abcbc".utf8))
    #expect(!loop.isDirty && isNothing(loop.next()))
  }

  @Test func aFrameForACrowdLeavesAfterOthers() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    // The same socket under many numbers shows the order.
    let ids = (0..<Limits.crowdConnections).map { _ in
      loop.adopt(dup(end))
    }
    let id = loop.adopt(end)
    loop.value.multicast(Array("c".utf8), ids)
    loop.value.multicast(Array("m".utf8), [id])
    loop.value.send(id, Array("a".utf8))
    loop.value.flush()
    let all = "ma" + String(repeating: "c", count: ids.count)
    #expect(peer.receive(all.utf8.count) == Array(all.utf8))
    #expect(!loop.isDirty)
  }

  @Test func unsentBytesAreReportedInTheSameTurn() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    loop.value.send(id, [UInt8](repeating: 1, count: 4 << 20))
    loop.value.flush()
    guard case .holding(id, let held) = loop.next(), case .drained(id, let unsent) = loop.next()
    else {
      Issue.record("not reported")
      return
    }
    #expect(unsent < 4 << 20)
    #expect(held > 4 << 20, "a frame is held whole until the last of it has left")
    loop.value.send(id, [2])
    #expect(!loop.isDirty, "the kernel reports it; the write is not retried")
    #expect(peer.receive(4 << 20 - unsent).count == 4 << 20 - unsent)
    _ = loop.value.wait(until: nil, mayWait: true)
    guard case .holding(id, _) = loop.next(), case .drained(id, let rest) = loop.next() else {
      Issue.record("not reported")
      return
    }
    #expect(rest < unsent + 1)
  }

  @Test func aPeerThatEndsItsStreamMayStillBeAnswered() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    peer.send("question")
    shutdown(peer.rawValue, Int32(SHUT_WR))
    _ = loop.value.wait(until: nil, mayWait: true)
    guard case .received(id, count: 8) = loop.next() else {
      Issue.record("the bytes were not reported")
      return
    }
    _ = loop.value.wait(until: nil, mayWait: true)
    guard case .closed(id, .endOfStream) = loop.next() else {
      Issue.record("the end was not reported")
      return
    }
    loop.value.send(id, Array("answer".utf8))
    #expect(isNothing(loop.next()))
    loop.value.send(id, Array("too late".utf8))
    loop.value.flush()
    #expect(peer.receiveAll().bytes == Array("answer".utf8))
    guard case .holding(id, bytes: 0) = loop.next() else {
      Issue.record("the release was not reported")
      return
    }
    #expect(loop.isEmpty)
  }

  @Test func aClosedConnectionIsHeldUntilItsPeerHasTakenAll() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    loop.value.send(id, [UInt8](repeating: 1, count: 4 << 20))
    loop.value.close(id, .afterSending)
    loop.value.flush()
    #expect(isNothing(loop.next()), "it still holds bytes")
    var left = 4 << 20
    var isReleased = false
    while left > 0 {
      #expect(!isReleased || left < 1 << 20, "the kernel holds the last of it")
      left -= peer.receive(min(65_536, left)).count
      _ = loop.value.wait(until: nil, mayWait: false)
      while let input = loop.next() {
        if case .holding(id, bytes: 0) = input { isReleased = true }
      }
    }
    #expect(isReleased)
  }

  @Test func peerThatHungUpWhilePausedCostsNoTurnsAndIsReadLater() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    loop.value.setReading(id, isPaused: true)
    peer.send("last words")
    shutdown(peer.rawValue, Int32(SHUT_RDWR))
    _ = loop.value.wait(until: nil, mayWait: true)
    #expect(isNothing(loop.next()))
    _ = loop.value.wait(until: nil, mayWait: false)
    #expect(isNothing(loop.next()))
    loop.value.setReading(id, isPaused: false)
    _ = loop.value.wait(until: nil, mayWait: true)
    #expect(receivedID(loop.next()) == id)
    _ = loop.value.wait(until: nil, mayWait: true)
    #expect(closedID(loop.next()) == id)
  }

  @Test func failedWriteStillReadsEarlierBytesOfThePeer() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    peer.send("no, because")
    shutdown(peer.rawValue, Int32(SHUT_RDWR))
    loop.value.send(id, [1])
    loop.value.flush()
    #expect(isNothing(loop.next()))
    _ = loop.value.wait(until: nil, mayWait: true)
    #expect(receivedID(loop.next()) == id)
    _ = loop.value.wait(until: nil, mayWait: true)
    guard case .closed(id, .failed("Broken pipe")) = loop.next() else {
      Issue.record("the failure was not reported")
      return
    }
  }

  @Test func closingConnectionThatTakesNothingIsGivenUp() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    loop.value.send(id, [UInt8](repeating: 1, count: 4 << 20))
    loop.value.close(id, .afterSending)
    loop.value.flush()
    #expect(loop.isClosing)
    loop.advance(milliseconds: Limits.stalledMilliseconds + 1_000)
    #expect(loop.isEmpty)
    withExtendedLifetime(peer) {}
  }

  @Test func lingeringEndsWithItsTime() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    loop.value.send(id, [1])
    loop.value.close(id, .afterSending)
    loop.value.flush()
    #expect(peer.receive(2) == [1], "the end is sent to the peer")
    #expect(loop.isClosing)
    loop.advance(milliseconds: Limits.lingerMilliseconds + 1_000)
    #expect(loop.isEmpty)
  }

  @Test func silentHandshakeIsCutInTimeAndNoSoonerThanThat() throws {
    let folder = try TemporaryFolder()
    let loop = try LoopInHand()
    let listener = try loop.listenSecurely(in: folder)
    let client = try PlainSocket(to: listener.address)
    waitUntil {
      _ = loop.value.wait(until: nil, mayWait: false)
      return isNothing(loop.next()) && !loop.isEmpty
    }
    loop.advance(milliseconds: Limits.handshakeMilliseconds - 1_000)
    #expect(isNothing(loop.next()))
    loop.advance(milliseconds: 2_000)
    guard case .connectionRejected(.handshakeTimedOut) = loop.next() else {
      Issue.record("no connection was rejected")
      return
    }
    #expect(loop.isEmpty)
    #expect(client.receive(1).isEmpty)
  }

  @Test func oldestHandshakeIsEvictedForANewOne() throws {
    let folder = try TemporaryFolder()
    let loop = try LoopInHand()
    let listener = try loop.listenSecurely(in: folder)
    var limits = LoopLimits()
    limits.handshakesAtOnce = 2
    loop.value.handshakes = HandshakeQueue(limits)
    func come() throws -> PlainSocket {
      let activeCount = loop.value.handshakes.activeCount
      let client = try PlainSocket(to: listener.address)
      waitUntil {
        _ = loop.value.wait(until: nil, mayWait: false)
        return !isNothing(loop.next()) || loop.value.handshakes.activeCount > activeCount
      }
      return client
    }
    let first = try come()
    let second = try come()
    _ = try come()
    #expect(loop.value.handshakes.activeCount == 2)
    #expect(first.receive(1).isEmpty, "the longest is cut off")
    loop.value.dropHandshakes()
    #expect(second.receive(1).isEmpty && loop.isEmpty, "the others were still there")
  }

  @Test func shortageOfDescriptorsPausesTheListenerAndIsReportedOnce() throws {
    let notices = RunningGroup.Notices([])
    let loop = try LoopInHand { notice in notices.change { $0.append(notice) } }
    let listener = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)[0]
    try loop.value.listen(at: listener)
    let client = try PlainSocket(to: listener.address)
    loop.value.pauseListeners(SystemFault(call: "accept4", code: EMFILE))
    _ = loop.value.wait(until: nil, mayWait: false)
    #expect(isNothing(loop.next()))
    #expect(notices.contents.count == 1)
    _ = loop.value.wait(until: SystemClock.instant().advanced(milliseconds: 5_000), mayWait: true)
    var input: EventLoop.Input?
    waitUntil {
      input = loop.next()
      if input == nil { _ = loop.value.wait(until: nil, mayWait: true) }
      return input != nil
    }
    guard case .opened(_, let opening) = input else {
      Issue.record("no connection was accepted")
      return
    }
    #expect(opening.listenerKind == .public)
    withExtendedLifetime(client) {}
  }
}

/// Loop that the test's own thread runs.
private final class LoopInHand {
  var value: EventLoop

  init(notice: @escaping (LoopNotice) -> Void = { _ in }) throws {
    Syscall.ignoreBrokenPipes()
    value = try EventLoop(
      wakeup: try WakeupDescriptor(isBlocking: false), lookup: { _, _, _ in nil }, notice: notice)
  }

  func listenSecurely(in folder: TemporaryFolder) throws -> Listener {
    let listener = try Listener.open(
      .host("127.0.0.1", port: 0), listenerKind: .public,
      certificate: try TestCertificates.server(in: folder)
    )[0]
    try value.listen(at: listener)
    return listener
  }

  var isEmpty: Bool { value.isEmpty }
  var isDirty: Bool { value.isDirty }
  var isClosing: Bool { value.isClosing }

  func adopt(_ descriptor: Int32) -> ConnectionID {
    let id = value.adopt(Descriptor(adopting: descriptor))
    if let slot = value.slab.slot(of: id) { value.watch(slot) }
    return id
  }

  func next() -> EventLoop.Input? { value.next() }

  func advance(milliseconds: Int64) {
    value.now = value.now.advanced(milliseconds: milliseconds)
    value.expire()
  }
}

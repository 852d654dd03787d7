import Glibc
import LockstepModel
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

  @Test func closedConnectionIsNotToldOfAgain() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    peer.endWriting()
    _ = loop.value.wait(until: nil, mayWait: true)
    #expect(closedID(loop.next()) == id)
    guard case .holding(id, bytes: 0) = loop.next() else {
      Issue.record("it was not told that nothing is held")
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

  @Test func unsentBytesAreToldInTheTurnInWhichTheyAreLeft() throws {
    let loop = try LoopInHand()
    let (end, peer) = try PlainSocket.pair()
    let id = loop.adopt(end)
    loop.value.send(id, [UInt8](repeating: 1, count: 4 << 20))
    loop.value.flush()
    guard case .holding(id, let held) = loop.next(), case .drained(id, let unsent) = loop.next()
    else {
      Issue.record("not told")
      return
    }
    #expect(unsent < 4 << 20)
    #expect(held > 4 << 20, "a frame is held whole until the last of it has left")
    loop.value.send(id, [2])
    #expect(!loop.isDirty, "the kernel is asked to tell, not tried again")
    #expect(peer.receive(4 << 20 - unsent).count == 4 << 20 - unsent)
    _ = loop.value.wait(until: nil, mayWait: true)
    guard case .holding(id, _) = loop.next(), case .drained(id, let rest) = loop.next() else {
      Issue.record("not told")
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
      Issue.record("the question was not told")
      return
    }
    _ = loop.value.wait(until: nil, mayWait: true)
    guard case .closed(id, .endOfStream) = loop.next() else {
      Issue.record("the end was not told")
      return
    }
    loop.value.send(id, Array("answer".utf8))
    #expect(isNothing(loop.next()))
    loop.value.send(id, Array("too late".utf8))
    loop.value.flush()
    #expect(peer.receiveAll().bytes == Array("answer".utf8))
    guard case .holding(id, bytes: 0) = loop.next() else {
      Issue.record("it was not told that nothing is held")
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

  @Test func failedWriteStillReadsWhatThePeerSaidBefore() throws {
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
      Issue.record("not told of the failure")
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
    loop.pass(milliseconds: Limits.stalledMilliseconds + 1_000)
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
    #expect(peer.receive(2) == [1], "the peer is told the end")
    #expect(loop.isClosing)
    loop.pass(milliseconds: Limits.lingerMilliseconds + 1_000)
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
    loop.pass(milliseconds: Limits.handshakeMilliseconds - 1_000)
    #expect(isNothing(loop.next()))
    loop.pass(milliseconds: 2_000)
    guard case .turnedAway(.handshakeTimedOut) = loop.next() else {
      Issue.record("nobody was turned away")
      return
    }
    #expect(loop.isEmpty)
    #expect(client.receive(1).isEmpty)
  }

  @Test func handshakeThatTakesLongestGivesWayToWhoComes() throws {
    let folder = try TemporaryFolder()
    let loop = try LoopInHand()
    let listener = try loop.listenSecurely(in: folder)
    var limits = LoopLimits()
    limits.handshakesAtOnce = 2
    loop.value.handshakes = HandshakeQueue(limits)
    func come() throws -> PlainSocket {
      let underWay = loop.value.handshakes.underWay
      let client = try PlainSocket(to: listener.address)
      waitUntil {
        _ = loop.value.wait(until: nil, mayWait: false)
        return !isNothing(loop.next()) || loop.value.handshakes.underWay > underWay
      }
      return client
    }
    let first = try come()
    let second = try come()
    _ = try come()
    #expect(loop.value.handshakes.underWay == 2)
    #expect(first.receive(1).isEmpty, "the longest is cut off")
    loop.value.cutHandshakes()
    #expect(second.receive(1).isEmpty && loop.isEmpty, "the others were still there")
  }

  @Test func shortageOfDescriptorsPausesTheListenerAndIsToldOnce() throws {
    let notices = RunningGroup.Notices([])
    let loop = try LoopInHand { notice in notices.change { $0.append(notice) } }
    let listener = try Listener.open(.host("127.0.0.1", port: 0), door: .front)[0]
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
      Issue.record("nobody came in")
      return
    }
    #expect(opening.door == .front)
    withExtendedLifetime(client) {}
  }
}

/// Loop that the test's own thread runs.
private final class LoopInHand {
  var value: EventLoop

  init(notice: @escaping (LoopNotice) -> Void = { _ in }) throws {
    Syscall.ignoreBrokenPipes()
    value = try EventLoop(
      bell: try WakeupDescriptor(isBlocking: false), lookup: { _, _, _ in nil }, notice: notice)
  }

  func listenSecurely(in folder: TemporaryFolder) throws -> Listener {
    let listener = try Listener.open(
      .host("127.0.0.1", port: 0), door: .front,
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

  func pass(milliseconds: Int64) {
    value.now = value.now.advanced(milliseconds: milliseconds)
    value.expire()
  }
}

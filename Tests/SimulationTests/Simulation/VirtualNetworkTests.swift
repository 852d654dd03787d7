import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepWire
import Simulator
import Testing

struct VirtualNetworkTests {
  /// Two toy nodes; the first connects to the second.
  private final class Pair {
    let environment = SimulationEnvironment(random: SeededRandom(seed: 1))
    let left: NodeDriver<ToyNode>
    let right: NodeDriver<ToyNode>
    var leftHeard: [ToyNode.Report] = []
    var rightHeard: [ToyNode.Report] = []

    init(_ change: (inout VirtualNetwork.Conditions) -> Void = { _ in }) {
      left = NodeDriver(
        name: "left", environment: environment, clock: { VirtualClock() }, node: ToyNode())
      right = NodeDriver(
        name: "right", environment: environment, clock: { VirtualClock() }, node: ToyNode())
      change(&environment.network.conditions)
      environment.network.connectHandler = { [unowned self] _, _ in .accepted(right) }
      left.onReport = { [unowned self] in leftHeard.append($0) }
      right.onReport = { [unowned self] in rightHeard.append($0) }
    }

    func run(seconds: Int64 = 60) {
      let limit = environment.timeline.now + Span.seconds(seconds)
      while environment.timeline.step(until: limit) {}
    }

    func connect() -> (near: ConnectionID, far: ConnectionID) {
      left.handle(.ordered(.open(1)))
      run()
      guard case .opened(let far)? = rightHeard.first else { return (.outgoing(1), .outgoing(0)) }
      rightHeard = []
      leftHeard = []
      return (.outgoing(1), far)
    }

    func bytes(_ reports: [ToyNode.Report]) -> [UInt8] {
      reports.flatMap { report -> [UInt8] in
        if case .heard(_, let bytes) = report { return bytes }
        return []
      }
    }
  }

  @Test func bothEndsAreToldThatAConnectionStands() {
    let pair = Pair()
    pair.left.handle(.ordered(.open(7)))
    pair.run()
    #expect(pair.leftHeard == [.opened(.outgoing(7))])
    #expect(pair.rightHeard.count == 1)
  }

  @Test func bytesArriveInOrderWhateverTheirChunks() {
    let pair = Pair { $0.splitOneIn = 1 }
    let (near, far) = pair.connect()
    let message = (0..<2_000).map { UInt8($0 % 251) }
    for start in stride(from: 0, to: 2_000, by: 100) {
      pair.left.handle(.ordered(.send(near, Array(message[start..<(start + 100)]))))
    }
    pair.right.handle(.ordered(.send(far, [1, 2, 3])))
    pair.run()
    #expect(pair.bytes(pair.rightHeard) == message)
    #expect(pair.bytes(pair.leftHeard) == [1, 2, 3])
    #expect(pair.rightHeard.count > 20)
  }

  @Test func aSenderWaitsForAReaderThatPaused() {
    let pair = Pair { $0.windowBytes = 1_000 }
    let (near, far) = pair.connect()
    pair.right.handle(.ordered(.pause(far)))
    pair.left.handle(.ordered(.send(near, Array(repeating: 5, count: 5_000))))
    pair.run()
    #expect(pair.rightHeard == [])
    #expect(pair.leftHeard == [.drained(near, 4_000)])
    #expect(pair.environment.network.waitingBytesMax == 4_000)
    pair.right.handle(.ordered(.resume(far)))
    pair.run()
    #expect(pair.bytes(pair.rightHeard).count == 5_000)
    #expect(pair.leftHeard.last == .drained(near, 0))
    #expect(pair.leftHeard.count > 1)
  }

  @Test func aStalledMachineReadsLater() {
    let pair = Pair()
    let (near, _) = pair.connect()
    pair.environment.network.stallAll(of: pair.right, nanoseconds: Span.seconds(5))
    pair.left.handle(.ordered(.send(near, [9])))
    pair.run(seconds: 4)
    #expect(pair.rightHeard == [])
    pair.run(seconds: 2)
    #expect(pair.bytes(pair.rightHeard) == [9])
  }

  @Test func whatWasSentBeforeAnOrderlyCloseArrives() {
    let pair = Pair { $0.windowBytes = 10 }
    let (near, far) = pair.connect()
    pair.left.handle(.ordered(.send(near, Array(repeating: 5, count: 100))))
    pair.left.handle(.ordered(.close(near, .afterSending)))
    pair.run()
    #expect(pair.bytes(pair.rightHeard).count == 100)
    #expect(pair.rightHeard.last == .closed(far, .endOfStream))
    #expect(pair.leftHeard == [])
  }

  @Test func closingAtOnceThrowsAwayWhatWaits() {
    let pair = Pair { $0.windowBytes = 10 }
    let (near, far) = pair.connect()
    pair.left.handle(.ordered(.send(near, Array(repeating: 5, count: 100))))
    pair.left.handle(.ordered(.close(near, .now)))
    pair.run()
    #expect(pair.bytes(pair.rightHeard).count <= 10)
    guard case .closed(far, _)? = pair.rightHeard.last else {
      Issue.record("the far end was not told: \(pair.rightHeard)")
      return
    }
  }

  @Test func refusedAndUnansweredConnects() {
    let pair = Pair()
    pair.environment.network.connectHandler = { _, _ in .refused }
    pair.left.handle(.ordered(.open(1)))
    pair.run()
    #expect(pair.leftHeard == [.closed(.outgoing(1), .connectFailed("connection refused"))])
    pair.environment.network.connectHandler = { _, _ in .silent }
    pair.left.handle(.ordered(.open(2)))
    pair.run()
    #expect(pair.leftHeard.count == 1)
  }

  @Test(arguments: [
    (VirtualNetwork.Cut.bothNotified, true, true), (.openerNotified, true, false),
    (.acceptorNotified, false, true), (.noneNotified, false, false),
  ])
  func aCutIsToldToWhomItIsTold(_ cut: VirtualNetwork.Cut, leftIsTold: Bool, rightIsTold: Bool) {
    let pair = Pair()
    let (near, far) = pair.connect()
    pair.environment.network.cutAll(of: pair.left, cut)
    pair.run()
    pair.left.handle(.ordered(.send(near, [1])))
    pair.right.handle(.ordered(.send(far, [2])))
    pair.run()
    let reset = CloseCause.failed("connection reset")
    #expect(pair.leftHeard == (leftIsTold ? [.closed(near, reset)] : []))
    #expect(pair.rightHeard == (rightIsTold ? [.closed(far, reset)] : []))
  }

  @Test func aDeadProcessIsNoticedUnlessItsMachineWentToo() {
    for isMachineGone in [false, true] {
      let pair = Pair()
      let (near, _) = pair.connect()
      pair.right.kill()
      pair.environment.network.removeNode(pair.right, isMachineGone: isMachineGone)
      pair.run()
      let told: [ToyNode.Report] = [.closed(near, .failed("connection reset"))]
      #expect(pair.leftHeard == (isMachineGone ? [] : told))
    }
  }

  @Test func theFlowLogTellsWhatWasCarried() {
    let pair = Pair()
    let (near, _) = pair.connect()
    pair.left.handle(.ordered(.send(near, Array("GET / HTTP/1.1".utf8))))
    pair.run()
    #expect(pair.environment.trafficLog.table().contains("GET / HTTP/1.1"))
    #expect(pair.environment.trafficLog.table(last: 1).split(separator: "\n").count == 3)
  }

  @Test func theHashTellsTwoCoursesApart() {
    func hash(_ byte: UInt8) -> UInt64 {
      let pair = Pair()
      let (near, _) = pair.connect()
      pair.left.handle(.ordered(.send(near, [byte])))
      pair.run()
      return pair.environment.hash.value
    }
    #expect(hash(1) == hash(1))
    #expect(hash(1) != hash(2))
  }
}

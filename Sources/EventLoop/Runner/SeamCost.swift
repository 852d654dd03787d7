import CLinux
import Glibc
import LockstepModel
import LockstepRuntime

/// Cost of the node interface on its own: a small node passes each change on to five receivers,
/// driven by the real runner with one write per receiver and turn to `/dev/null` instead of
/// sockets. The unit is user-mode instructions, which are repeatable on a busy machine; times are
/// not.
@usableFromInline
package enum SeamCost {
  @usableFromInline
  package enum Figure: Hashable, Sendable {
    case instructionsPerDelivery(Double)
    /// The hardware or the system's settings provide no counter.
    case notSupported(SystemFault)
  }

  /// Measures the cost. `changesATurn`: number of changes received before each write; 1 is the most
  /// expensive. The turns also run if there is no counter, so that an external tool can measure.
  @usableFromInline
  package static func measure(changesATurn: Int = 1, turns: Int = 20_000) throws(SystemFault)
    -> Figure
  {
    var senders: [ConnectionID] = []
    var runner = try makeRunner(&senders)
    let payload = [UInt8](repeating: UInt8(ascii: "x"), count: payloadBytes)
    runner.loop.pointee.receiveBuffer.copyBytes(from: payload)
    for turn in 0..<warmUpTurns { runTurn(&runner, senders, turn, changesATurn) }
    let counter: InstructionCounter
    do throws(SystemFault) {
      counter = try InstructionCounter()
    } catch {
      for turn in 0..<turns { runTurn(&runner, senders, turn, changesATurn) }
      return .notSupported(error)
    }
    let before = counter.read()
    for turn in 0..<turns { runTurn(&runner, senders, turn, changesATurn) }
    let count = counter.read() - before
    let deliveries = turns * changesATurn * receivers
    return .instructionsPerDelivery(Double(count) / Double(deliveries))
  }

  /// Deliveries per change.
  @usableFromInline package static let receivers = 5
  private static let groups = 100
  private static let payloadBytes = 200
  private static let warmUpTurns = 1_000

  private static func runTurn(
    _ runner: inout NodeRunner<Echo>, _ senders: [ConnectionID], _ turn: Int, _ changes: Int
  ) {
    for change in 0..<changes {
      let group = (turn &* 7 &+ change) % groups
      runner.loop.pointee.receiveBuffer[0] = UInt8(group)
      runner.handleReceived(senders[group], payloadBytes)
    }
    runner.finishTurn()
  }

  /// Makes groups of `receivers` connections plus one that only sends.
  private static func makeRunner(_ senders: inout [ConnectionID]) throws(SystemFault)
    -> NodeRunner<Echo>
  {
    let mailbox = try Mailbox<NodeRunner<Echo>.Mail>(isBlocking: false)
    var loop = try EventLoop(wakeup: mailbox.wakeup, lookup: { _, _, _ in nil }, notice: { _ in })
    var node = Echo()
    for _ in 0..<groups {
      var ids: [ConnectionID] = []
      for _ in 0..<receivers { ids.append(loop.adopt(try Syscall.open("/dev/null", O_WRONLY))) }
      let sender = loop.adopt(try Syscall.open("/dev/null", O_WRONLY))
      node.watchers.append(ids)
      senders.append(sender)
    }
    let context = NodeRunner<Echo>.RunnerContext(
      nodeIndex: 0, mailboxes: [mailbox], workers: NodeRunner<Echo>.WorkerMailboxes(),
      performInline: nil, settings: GroupSettings { _, _ in },
      livenessCheck: LivenessCheck(nodes: 1))
    return NodeRunner(node, EventLoopOwner(loop), context)
  }

  /// Node that passes received bytes on to the group that their first byte names.
  private struct Echo: Node {
    typealias Order = Never
    typealias Report = Never
    typealias News = Never

    var watchers: [[ConnectionID]] = []
    var actions = ActionQueue<NodeAction<NoJob, Never, Never>>()
    var nextDeadline: Instant? { nil }

    mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
      let frame = bytes.withUnsafeBytes { Array($0) }
      actions.append(.multicast(frame, watchers[Int(frame[0])]))
    }

    mutating func handle(_ event: NodeEvent<NoJob, Never, Never>, at moment: Moment) {}

    mutating func nextAction() -> NodeAction<NoJob, Never, Never>? { actions.popFirst() }
  }
}

/// Counter of the instructions that the calling thread runs in user mode: the one measure of cost
/// that is repeatable on a busy machine. Not every machine has it; virtual machines often hide it.
@usableFromInline
package struct InstructionCounter: ~Copyable {
  private let descriptor: Descriptor

  /// Throws if the hardware or the system's settings provide no counter.
  @usableFromInline
  package init() throws(SystemFault) {
    descriptor = try Syscall.openInstructionCounter()
  }

  /// Returns the instructions since the counter was made. Call it on the thread that made it.
  @usableFromInline package func read() -> UInt64 { Syscall.readCounter(descriptor.rawValue) }
}

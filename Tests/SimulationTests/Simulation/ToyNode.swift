import LockstepModel
import LockstepRuntime
import LockstepWire

/// A node that follows a test's orders: opens connections, sends and closes, and reports what it
/// receives. Enough to check the simulated environment against the contract of `Node`.
struct ToyNode: Node {
  typealias Text = ByLane<Never, String, Never>

  enum Order: Sendable {
    case open(UInt64)
    case send(ConnectionID, [UInt8])
    case close(ConnectionID, CloseManner)
    case pause(ConnectionID)
    case resume(ConnectionID)
    case run(UInt64, String)
    case wake(after: Int64)
  }

  enum Report: Sendable, Equatable {
    case opened(ConnectionID)
    case heard(ConnectionID, [UInt8])
    case drained(ConnectionID, Int)
    case closed(ConnectionID, CloseCause)
    case finished(String)
    case woke(Instant)
  }

  private var actions = ActionQueue<NodeAction<Text, Report, Never>>()
  private(set) var nextDeadline: Instant?

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let heard = (0..<bytes.byteCount).map {
      bytes.unsafeLoadUnaligned(fromByteOffset: $0, as: UInt8.self)
    }
    actions.append(.report(.heard(id, heard)))
  }

  mutating func handle(_ event: NodeEvent<Text, Order, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _): actions.append(.report(.opened(id)))
    case .drained(let id, let unsent): actions.append(.report(.drained(id, unsent)))
    case .closed(let id, let cause): actions.append(.report(.closed(id, cause)))
    case .finished(_, .read(let outcome)): actions.append(.report(.finished(outcome)))
    case .ordered(let order): obey(order, at: moment)
    case .deadlineReached:
      nextDeadline = nil
      actions.append(.report(.woke(moment.instant)))
    case .holding, .connectionRejected, .stopping: break
    }
  }

  private mutating func obey(_ order: Order, at moment: Moment) {
    switch order {
    case .open(let number):
      actions.append(.open(.outgoing(number), .host("toy", port: 1)))
    case .send(let id, let bytes): actions.append(.send(id, bytes))
    case .close(let id, let manner): actions.append(.close(id, manner))
    case .pause(let id): actions.append(.pauseReading(id))
    case .resume(let id): actions.append(.resumeReading(id))
    case .run(let number, let job): actions.append(.run(JobID(rawValue: number), .read(job)))
    case .wake(let after): nextDeadline = moment.instant.advanced(milliseconds: after)
    }
  }

  mutating func nextAction() -> NodeAction<Text, Report, Never>? { actions.popFirst() }
}

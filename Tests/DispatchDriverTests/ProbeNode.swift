import LockstepModel
import LockstepRuntime

/// Node that does what its orders say, and reports each event.
struct ProbeNode: Node {
  typealias News = Never
  typealias Number = ByLane<Int, Int, Int>

  enum Order: Sendable {
    case open(UInt64, PeerAddress)
    case send(UInt64, [UInt8])
    case close(UInt64, CloseManner)
    case pause(UInt64)
    case resume(UInt64)
    case run(Number)
    case wake(milliseconds: Int64)
    case say(Int)
    case finish
  }

  enum Report: Hashable, Sendable {
    case opened(UInt64)
    case received(UInt64, [UInt8])
    case drained(UInt64, unsent: Int)
    case closed(UInt64, CloseCause)
    case finished(Int)
    case woken(isEarly: Bool)
    case said(Int)
    case stopping
    case last
  }

  private(set) var nextDeadline: Instant?
  private var jobs: UInt64 = 0
  private var actions = ActionQueue<NodeAction<Number, Report, Never>>()

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    report(.received(number(id), bytes.withUnsafeBytes { [UInt8]($0) }))
  }

  mutating func handle(_ event: NodeEvent<Number, Order, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _): report(.opened(number(id)))
    case .drained(let id, let unsent): report(.drained(number(id), unsent: unsent))
    case .closed(let id, let cause): report(.closed(number(id), cause))
    case .finished(_, .commit(let number)), .finished(_, .read(let number)),
      .finished(_, .file(let number)):
      report(.finished(number))
    case .ordered(let order): handle(order, at: moment)
    case .deadlineReached:
      let isEarly = nextDeadline.map { moment.instant < $0 } ?? true
      nextDeadline = nil
      report(.woken(isEarly: isEarly))
    case .stopping: report(.stopping)
    case .holding, .connectionRejected: break
    }
  }

  private mutating func handle(_ order: Order, at moment: Moment) {
    switch order {
    case .open(let number, let peer): actions.append(.open(.outgoing(number), peer))
    case .send(let number, let bytes): actions.append(.send(.outgoing(number), bytes))
    case .close(let number, let manner): actions.append(.close(.outgoing(number), manner))
    case .pause(let number): actions.append(.pauseReading(.outgoing(number)))
    case .resume(let number): actions.append(.resumeReading(.outgoing(number)))
    case .run(let job):
      jobs += 1
      actions.append(.run(JobID(rawValue: jobs), job))
    case .wake(let milliseconds):
      nextDeadline = moment.instant.advanced(milliseconds: milliseconds)
    case .say(let number): report(.said(number))
    case .finish: report(.last)
    }
  }

  mutating func nextAction() -> NodeAction<Number, Report, Never>? { actions.popFirst() }

  private mutating func report(_ report: Report) { actions.append(.report(report)) }

  private func number(_ id: ConnectionID) -> UInt64 { id.rawValue & ~(1 << 63) }
}

import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

/// Event that a scripted node received.
enum ScriptedReport: Hashable, Sendable {
  case opened(ConnectionID, Opening.ListenerKind)
  case received(ConnectionID, [UInt8])
  case drained(ConnectionID, unsent: Int)
  case closed(ConnectionID, CloseCause)
  case connectionRejected(ConnectionRejection)
  case finished(JobID, Int)
  case news(Int)
  case deadline(Int)
  case stopping
  case last
}

/// Node that performs its orders and reports its events.
struct ScriptedNode: Node {
  typealias Number = ByLane<Int, Int, Int>
  typealias Action = NodeAction<Number, ScriptedReport, Int>
  typealias Order = Instruction

  enum Instruction: Sendable {
    case act(Action)
    case deadlines([Int64])
  }

  var actions = ActionQueue<Action>()
  /// True: sends received bytes back.
  var echoes = false
  /// True: pauses reading of each connection as soon as it opens.
  var pausesAtOnce = false
  /// Actions on `stopping`.
  var lastActions: [Action] = [.report(.last)]
  var deadlines: [(at: Instant, name: Int)] = []

  var nextDeadline: Instant? { deadlines.map(\.at).min() }

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let copy = bytes.withUnsafeBytes { Array($0) }
    if echoes { actions.append(.send(id, copy)) }
    actions.append(.report(.received(id, copy)))
  }

  mutating func handle(_ event: NodeEvent<Number, Instruction, Int>, at moment: Moment) {
    switch event {
    case .opened(let id, let opening):
      if pausesAtOnce { actions.append(.pauseReading(id)) }
      report(.opened(id, opening.listenerKind))
    case .drained(let id, let unsent): report(.drained(id, unsent: unsent))
    case .closed(let id, let cause): report(.closed(id, cause))
    case .holding: break
    case .connectionRejected(let reason): report(.connectionRejected(reason))
    case .finished(let id, .commit(let outcome)), .finished(let id, .read(let outcome)),
      .finished(let id, .file(let outcome)):
      report(.finished(id, outcome))
    case .news(let news): report(.news(news))
    case .ordered(.act(let action)): actions.append(action)
    case .ordered(.deadlines(let delays)):
      deadlines = delays.enumerated().map { (moment.instant.advanced(milliseconds: $1), $0) }
    case .deadlineReached:
      for deadline in deadlines.sorted(by: { $0.at < $1.at }) where deadline.at <= moment.instant {
        report(.deadline(deadline.name))
      }
      deadlines.removeAll { $0.at <= moment.instant }
    case .stopping:
      report(.stopping)
      for action in lastActions { actions.append(action) }
    }
  }

  mutating func nextAction() -> Action? { actions.popFirst() }

  private mutating func report(_ told: ScriptedReport) { actions.append(.report(told)) }
}

/// Reports of all nodes of a group, in order.
final class Journal: Sendable {
  private let entries = Locked<[(node: Int, told: ScriptedReport)]>([])

  func add(_ node: Int, _ told: ScriptedReport) { entries.withLock { $0.append((node, told)) } }

  func entries(of node: Int = 0) -> [ScriptedReport] {
    entries.withLock { entries in entries.filter { $0.node == node }.map(\.told) }
  }

  /// Returns the first entry for which `pick` returns a value. Waits for it if needed.
  @discardableResult
  func first<Value>(
    of node: Int = 0, sourceLocation: SourceLocation = #_sourceLocation,
    _ pick: (ScriptedReport) -> Value?
  ) throws -> Value {
    var found: Value?
    waitUntil(sourceLocation: sourceLocation) {
      found = entries(of: node).lazy.compactMap(pick).first
      return found != nil
    }
    return try #require(found, "\(entries(of: node))", sourceLocation: sourceLocation)
  }

  func opened(of node: Int = 0, after count: Int = 0) throws -> ConnectionID {
    var opened: [ConnectionID] = []
    waitUntil {
      opened = entries(of: node).compactMap {
        if case .opened(let id, _) = $0 { id } else { nil }
      }
      return opened.count > count
    }
    return try #require(opened.dropFirst(count).first)
  }

  func cause(of id: ConnectionID, node: Int = 0) throws -> CloseCause {
    try first(of: node) {
      guard case .closed(id, let cause) = $0 else { return nil }
      return cause
    }
  }

  /// Waits for `count` bytes from `id`, and returns all received bytes.
  func received(_ id: ConnectionID, count: Int, node: Int = 0) -> [UInt8] {
    var bytes: [UInt8] = []
    waitUntil {
      bytes = entries(of: node).flatMap { told -> [UInt8] in
        guard case .received(id, let part) = told else { return [] }
        return part
      }
      return bytes.count >= count
    }
    return bytes
  }
}

/// Polls the condition for at most ten seconds; records an issue if it never becomes true.
func waitUntil(
  sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) {
  let deadline = SystemClock.instant().advanced(milliseconds: 10_000)
  while !condition() {
    guard SystemClock.instant() < deadline else {
      Issue.record("waited in vain", sourceLocation: sourceLocation)
      return
    }
    poll(nil, 0, 1)
  }
}

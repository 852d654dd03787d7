import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepRelay
import LockstepRuntime
import LockstepWire

/// Collects the state of a relay's nodes when a person asks for it (SIGUSR1). The nodes answer on
/// their own threads. The main thread polls, and reports once all have answered or the time is up.
final class DebugDump: Sendable {
  private struct Inquiry: Sendable {
    var endsAt: Instant
    var answers: [NodeState?]
  }

  /// Result of an inquiry.
  struct Findings: Hashable, Sendable {
    /// States by node; nil for a loop that did not answer.
    var states: [NodeState?]
    /// Lanes whose thread worked on the same job all the time.
    var busyLanes: [Lane]
  }

  private let inquiry = Locked<Inquiry?>(nil)

  /// Begins an inquiry. Returns false if one is running already.
  func begin(nodes: Int, at now: Instant) -> Bool {
    inquiry.withLock { inquiry in
      guard inquiry == nil else { return false }
      inquiry = Inquiry(
        endsAt: now.advanced(milliseconds: Limits.stateMilliseconds),
        answers: Array(repeating: nil, count: nodes))
      return true
    }
  }

  /// Stores an answer; drops a late one.
  func storeAnswer(_ node: Int, _ state: NodeState) {
    inquiry.withLock { $0?.answers[node] = state }
  }

  /// Returns the time of the next poll; nil if there is no inquiry.
  func nextPoll(at now: Instant) -> Instant? {
    inquiry.withLock { inquiry in
      inquiry.map { min($0.endsAt, now.advanced(milliseconds: 10)) }
    }
  }

  /// Returns the result, once: when all have answered, or the time is up. `busyLanes`: lanes that
  /// have made no progress since the inquiry began.
  func findings(busyLanes: [Lane], at now: Instant) -> Findings? {
    inquiry.withLock { inquiry -> Findings? in
      guard let current = inquiry else { return nil }
      let isComplete = busyLanes.isEmpty && !current.answers.contains(nil)
      guard isComplete || current.endsAt <= now else { return nil }
      inquiry = nil
      return Findings(states: current.answers, busyLanes: busyLanes)
    }
  }
}

extension DebugDump.Findings {
  /// `uptime` in milliseconds.
  package func fields(uptime: Int64, process: Int32) -> Log.Fields {
    [
      LogLine.Field("version", LockstepVersion.current), LogLine.Field("process", Int64(process)),
      LogLine.Field("uptimeSeconds", uptime / 1_000),
      LogLine.Field("loops", .array(states.enumerated().map { Self.json($1, node: $0) })),
      LogLine.Field("busyLanes", .array(busyLanes.map { .string("\($0)") })),
    ]
  }

  package func block(uptime: Int64, process: Int32) -> String {
    var lines = [
      "lockstep relay: state of version \(LockstepVersion.current), process \(process), up \(uptime / 1_000) s, "
        + "\(states.count) loops"
    ]
    for (node, state) in states.enumerated() { lines += Self.lines(state, node: node) }
    for lane in busyLanes {
      lines.append("  the thread of \(lane) has worked on one job for over a second")
    }
    return lines.joined(separator: "\n")
  }

  private static func lines(_ state: NodeState?, node: Int) -> [String] {
    guard let state else { return ["  loop \(node): did not answer within a second"] }
    let connections = state.connections.map { "\($0.transport) \($0.count)" }
    return [
      "  loop \(node): \(state.stage)",
      "    connections: \(connections.joined(separator: ", "))",
      "    accounts watched \(state.accountsWatched), sessions \(state.sessions)",
      "    store requests waiting \(state.storeRequestsWaiting), timers \(state.timers)",
      "    held \(state.budgetBytes) of \(state.budgetLimitBytes) bytes; unsent "
        + "\(state.unsentBytes) bytes on \(state.waitingConnections) connections",
    ] + state.largestQueues.map { "      " + text(of: $0) }
  }

  private static func text(of queue: NodeState.Queue) -> String {
    let owner =
      queue.device.map { "device \($0.text) of account \(queue.account?.text ?? "")" }
      ?? "not signed in"
    return "\(queue.bytes) bytes, still for \(queue.stillMilliseconds) ms: "
      + "\(queue.transport), \(owner)"
  }

  private static func json(_ state: NodeState?, node: Int) -> JSONValue {
    guard let state else { return ["loop": number(node), "answered": false] }
    return [
      "loop": number(node), "answered": true, "stage": .string(state.stage),
      "connections": .object(state.connections.map { JSONMember($0.transport, number($0.count)) }),
      "accountsWatched": number(state.accountsWatched), "sessions": number(state.sessions),
      "storeRequestsWaiting": number(state.storeRequestsWaiting),
      "timers": number(state.timers), "budgetBytes": number(state.budgetBytes),
      "budgetLimitBytes": number(state.budgetLimitBytes),
      "unsentBytes": number(state.unsentBytes),
      "waitingConnections": number(state.waitingConnections),
      "largestQueues": .array(state.largestQueues.map(json)),
    ]
  }

  private static func json(_ queue: NodeState.Queue) -> JSONValue {
    var members = [
      JSONMember("transport", .string(queue.transport)),
      JSONMember("bytes", number(queue.bytes)),
      JSONMember("stillMilliseconds", .number(JSONNumber(queue.stillMilliseconds))),
    ]
    if let account = queue.account { members.append(JSONMember("account", .string(account.text))) }
    if let device = queue.device { members.append(JSONMember("device", .string(device.text))) }
    return .object(members)
  }

  private static func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
}

public import LockstepModel

/// A node's state at one moment, for troubleshooting. It names accounts and devices by their ids,
/// and contains no secret and none of their data.
public struct NodeState: Sendable, Hashable {
  /// Unsent bytes of one connection.
  public struct Queue: Sendable, Hashable {
    public var transport: String
    /// nil if it has not signed in.
    public var account: AccountID?
    public var device: DeviceID?
    public var bytes: Int
    /// Time since the driver last reported that some of them left.
    public var stillMilliseconds: Int64
  }

  /// `running`, `stopping` or `stopped`.
  public var stage: String
  /// Connections by transport: `socket`, `events`, `longPoll`, `upload`, `download`, and `plain`
  /// for those between two requests or within a short one; in that order, each once.
  public var connections: [(transport: String, count: Int)] {
    zip(Self.transports, counts).map { ($0, $1) }
  }
  var counts: [Int]
  public var accountsWatched: Int
  /// Number of signed-in connections.
  public var sessions: Int
  public var storeRequestsWaiting: Int
  public var timers: Int
  /// Bytes of bodies, messages and unsent answers, and their limit.
  public var budgetBytes: Int
  public var budgetLimitBytes: Int
  public var unsentBytes: Int
  /// Number of connections with unsent bytes, and those with the most, largest first.
  public var waitingConnections: Int
  public var largestQueues: [Queue]

  static let transports = ["socket", "events", "longPoll", "upload", "download", "plain"]
}

extension RelayNode {
  /// Returns the connection's transport as an index into `NodeState.transports`.
  private func transport(of slot: Hub.Slot) -> Int {
    if connections[slot].socket != nil { return 0 }
    if connections[slot].stream != nil { return 1 }
    if connections[slot].http.exchange?.value.stage == .parked { return 2 }
    let id = connections[slot].id
    if uploads[id] != nil { return 3 }
    return downloads[id] != nil ? 4 : 5
  }

  /// Visits every connection: for a person's request, not for each event.
  var currentState: NodeState {
    var counts = Array(repeating: 0, count: NodeState.transports.count)
    var sessions = 0
    var unsent = 0
    var waiting: [(slot: Hub.Slot, bytes: Int)] = []
    for slot in connections.taken {
      counts[transport(of: slot)] += 1
      if connections[slot].session != nil { sessions += 1 }
      let bytes = connections[slot].queue.unsent
      unsent += bytes
      if bytes > 0 { waiting.append((slot, bytes)) }
    }
    waiting.sort { $0.bytes > $1.bytes }
    return NodeState(
      stage: "\(stage)", counts: counts, accountsWatched: hub.accountCount, sessions: sessions,
      storeRequestsWaiting: queue.count, timers: timers.count, budgetBytes: admission.bodyBytes,
      budgetLimitBytes: configuration.limits.bodyBudgetBytes(ofOneIn: configuration.nodes),
      unsentBytes: unsent, waitingConnections: waiting.count,
      largestQueues: waiting.prefix(Limits.shownQueues).map { shownQueue($0.slot) })
  }

  private func shownQueue(_ slot: Hub.Slot) -> NodeState.Queue {
    let (session, queue) = (connections[slot].session, connections[slot].queue)
    return NodeState.Queue(
      transport: NodeState.transports[transport(of: slot)], account: session?.account,
      device: session?.device, bytes: queue.unsent,
      stillMilliseconds: moment.instant.milliseconds(since: queue.movedAt))
  }
}

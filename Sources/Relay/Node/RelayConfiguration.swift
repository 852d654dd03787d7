import LockstepModel
import LockstepRuntime
import LockstepStorage

/// Configuration of one node of a relay.
@usableFromInline
package struct RelayConfiguration: Sendable, Hashable {
  /// True if any client may create an account; otherwise only the owner admits people.
  @usableFromInline package var isOpen = false
  /// This node's number in its process, from 0, and the number of nodes (1…64).
  @usableFromInline package var node = 0
  @usableFromInline package var nodes = 1
  /// True if other relays may write to the store, and announce it (`RelayNews.remoteCommit` and
  /// the two cases after it).
  @usableFromInline package var sharesStore = false
  /// Milliseconds between two pings of a socket.
  @usableFromInline package var keepAliveMilliseconds = Limits.keepAliveMilliseconds
  /// True if a socket's client may have large messages compressed (RFC 7692).
  @usableFromInline package var compresses = true
  /// Limits that the owner may set.
  @usableFromInline package var limits = RelayLimits()
  /// Free bytes of the store's disk below which no new data is taken; 0: no such limit. It has no
  /// effect on a store that does not report them (`StoreMeasures.freeBytes`), such as a remote
  /// database.
  @usableFromInline package var diskFloorBytes: Int64 = 0
  /// Networks without limits by address.
  @usableFromInline package var exempt: [IPNetwork] = []
  /// Proxies that are trusted to report the client of a request that they forward.
  @usableFromInline package var trustedProxies: [IPNetwork] = []
  /// Origins whose pages may use the relay from a browser.
  @usableFromInline package var origins = AllowedOrigins.own
  /// URL by which devices reach the relay, for links; nil if the owner has set none.
  @usableFromInline package var publicURL: String?
  /// URL for the owner's links if `publicURL` is nil: that of the address it listens on.
  @usableFromInline package var ownURL: String?
  /// True if the owner's page is served on the public listener, too.
  @usableFromInline package var hasPublicOwnerPage = false
  /// URL of the listener that serves the owner's page, for its links; nil if none does.
  @usableFromInline package var ownerURL: String?
  /// The names by which clients may reach the relay.
  @usableFromInline package var hosts = AllowedHosts()
  /// Milliseconds for which browsers that came by TLS must use only TLS (RFC 6797); 0: the header
  /// is not sent.
  @usableFromInline package var strictTransportMilliseconds: Int64 = 0
  /// Rules of the store behind the node, for clients.
  @usableFromInline package var rules = StoreRules()
  /// Files that browsers may load.
  @usableFromInline package var pages = WebAssetCache()

  /// Wakes of sleeping devices; nil: the relay sends none.
  @usableFromInline package var wakes: WakeConfiguration?

  /// True if a node reports every request that it has answered (`RelayReport.answered`).
  @usableFromInline package var reportsRequests = false
  /// The program's version, for display.
  @usableFromInline package var version = ""
  /// Start of the process, in milliseconds since the Unix epoch.
  @usableFromInline package var startedAt: Int64 = 0

  @usableFromInline package init() {}

  /// Returns all faults, each a sentence; empty if the configuration is valid.
  @usableFromInline
  package func validate() -> [String] {
    var faults: [String] = []
    if nodes < 1 || nodes > 64 { faults.append("a relay has 1 to 64 nodes, not \(nodes)") }
    if node < 0 || node >= nodes { faults.append("node \(node) is not one of \(nodes)") }
    if keepAliveMilliseconds < 100 || keepAliveMilliseconds > 3_600_000 {
      faults.append("keepAlive must be from 100 ms to an hour, not \(keepAliveMilliseconds) ms")
    }
    return faults + limits.validate()
  }
}

/// A node's state at one moment, for troubleshooting. It names accounts and devices by their ids,
/// and contains no secret and none of their data.
@usableFromInline
package struct NodeState: Sendable, Hashable {
  /// Unsent bytes of one connection.
  @usableFromInline
  package struct Queue: Sendable, Hashable {
    @usableFromInline package var transport: String
    /// nil if it has not signed in.
    @usableFromInline package var account: AccountID?
    @usableFromInline package var device: DeviceID?
    @usableFromInline package var bytes: Int
    /// Time since the driver last reported that some of them left.
    @usableFromInline package var stillMilliseconds: Int64
  }

  /// `running`, `stopping` or `stopped`.
  @usableFromInline package var stage: String
  /// Connections by transport: `socket`, `events`, `longPoll`, `upload`, `download`, and `plain`
  /// for those between two requests or within a short one; in that order, each once.
  @usableFromInline
  package var connections: [(transport: String, count: Int)] {
    zip(Self.transports, counts).map { ($0, $1) }
  }
  var counts: [Int]
  @usableFromInline package var accountsWatched: Int
  /// Number of signed-in connections.
  @usableFromInline package var sessions: Int
  @usableFromInline package var storeRequestsWaiting: Int
  @usableFromInline package var timers: Int
  /// Bytes of bodies, messages and unsent answers, and their limit.
  @usableFromInline package var budgetBytes: Int
  @usableFromInline package var budgetLimitBytes: Int
  @usableFromInline package var unsentBytes: Int
  /// Number of connections with unsent bytes, and those with the most, largest first.
  @usableFromInline package var waitingConnections: Int
  @usableFromInline package var largestQueues: [Queue]

  static let transports = ["socket", "events", "longPoll", "upload", "download", "plain"]
}

extension RelayNode {
  /// Visits every connection: for a person's request, not for each event.
  var currentState: NodeState {
    mutating get {
      var counts = Array(repeating: 0, count: NodeState.transports.count)
      var sessions = 0
      var waiting: [(slot: Hub.Slot, bytes: Int)] = []
      for slot in connections.slotsInUse {
        counts[connections[slot].transport] += 1
        if connections[slot].isSignedIn { sessions += 1 }
        let bytes = connections[slot].unsentBytes
        if bytes > 0 { waiting.append((slot, bytes)) }
      }
      waiting.sort { $0.bytes > $1.bytes }
      return NodeState(
        stage: "\(services.stage)", counts: counts, accountsWatched: services.hub.accountCount,
        sessions: sessions, storeRequestsWaiting: services.queue.count,
        timers: services.timers.count, budgetBytes: services.admission.bodyBytes,
        budgetLimitBytes: services.configuration.limits.bodyBudgetBytes(
          ofOneIn: services.configuration.nodes),
        unsentBytes: services.unsentBytes, waitingConnections: waiting.count,
        largestQueues: waiting.prefix(Limits.shownQueues).map {
          connections[$0.slot].queueState(services)
        })
    }
  }
}

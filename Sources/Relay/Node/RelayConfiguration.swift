import LockstepModel
public import LockstepStorage
public import LockstepWire

/// How one node of a relay is set up.
public struct RelayConfiguration: Sendable, Hashable {
  /// Whether anyone may make an account. Off: a relay is for those whom its owner lets in.
  public var isOpen = false
  /// This node's number in its process, from 0, and how many there are (1…64).
  public var node = 0
  public var nodes = 1
  /// Whether other relays may write into the store, and tell of it (`RelayNews.movedElsewhere` and
  /// the two below it).
  public var sharesStore = false
  /// Milliseconds between two pings of a socket.
  public var keepAliveMilliseconds = Limits.keepAliveMilliseconds
  /// Whether a socket's client may have large messages compressed (RFC 7692).
  public var compresses = true
  /// What the owner may set of how much the relay takes on.
  public var limits = RelayLimits()
  /// Free bytes of the store's disk below which nothing new is taken; 0: no such floor. It does not
  /// hold for a store that does not tell (`StoreMeasures.freeBytes`), as a database elsewhere.
  public var diskFloorBytes: Int64 = 0
  /// Whose requests are not limited by their address.
  public var exempt: [IPNetwork] = []
  /// Whose word is taken on where the requests come from that they pass on.
  public var trustedProxies: [IPNetwork] = []
  /// The pages of which origins may use the relay from a browser.
  public var origins = AllowedOrigins.own
  /// The names by which clients may reach the relay.
  public var hosts = AllowedHosts()
  /// For how many milliseconds browsers that came by TLS are to come by nothing else (RFC 6797); 0:
  /// they are not told.
  public var strictTransportMilliseconds: Int64 = 0
  /// What the store behind the node keeps to, to be told to clients.
  public var rules = StoreRules()
  /// What browsers may load.
  public var pages = WebAssetCache()

  /// Whether a node reports every request that it has answered (`RelayReport.answered`).
  public var notesRequests = false
  /// Of the program, to be shown.
  public var version = ""
  /// When the process began, in milliseconds since the Unix epoch.
  public var startedAt: Int64 = 0

  public init() {}

  /// All faults at once, each a sentence; empty where the configuration is good.
  public func validate() -> [String] {
    var faults: [String] = []
    if nodes < 1 || nodes > 64 { faults.append("a relay has 1 to 64 nodes, not \(nodes)") }
    if node < 0 || node >= nodes { faults.append("node \(node) is not one of \(nodes)") }
    if keepAliveMilliseconds < 100 || keepAliveMilliseconds > 3_600_000 {
      faults.append("keepAlive must be from 100 ms to an hour, not \(keepAliveMilliseconds) ms")
    }
    return faults + limits.validate()
  }
}

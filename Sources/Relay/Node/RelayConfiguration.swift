import LockstepModel
public import LockstepStorage
public import LockstepWire

/// Configuration of one node of a relay.
public struct RelayConfiguration: Sendable, Hashable {
  /// True if any client may create an account; otherwise only the owner admits people.
  public var isOpen = false
  /// This node's number in its process, from 0, and the number of nodes (1…64).
  public var node = 0
  public var nodes = 1
  /// True if other relays may write to the store, and announce it (`RelayNews.remoteCommit` and
  /// the two cases after it).
  public var sharesStore = false
  /// Milliseconds between two pings of a socket.
  public var keepAliveMilliseconds = Limits.keepAliveMilliseconds
  /// True if a socket's client may have large messages compressed (RFC 7692).
  public var compresses = true
  /// Limits that the owner may set.
  public var limits = RelayLimits()
  /// Free bytes of the store's disk below which no new data is taken; 0: no such limit. It has no
  /// effect on a store that does not report them (`StoreMeasures.freeBytes`), such as a remote
  /// database.
  public var diskFloorBytes: Int64 = 0
  /// Networks without limits by address.
  public var exempt: [IPNetwork] = []
  /// Proxies that are trusted to report the client of a request that they forward.
  public var trustedProxies: [IPNetwork] = []
  /// Origins whose pages may use the relay from a browser.
  public var origins = AllowedOrigins.own
  /// The names by which clients may reach the relay.
  public var hosts = AllowedHosts()
  /// Milliseconds for which browsers that came by TLS must use only TLS (RFC 6797); 0: the header
  /// is not sent.
  public var strictTransportMilliseconds: Int64 = 0
  /// Rules of the store behind the node, for clients.
  public var rules = StoreRules()
  /// Files that browsers may load.
  public var pages = WebAssetCache()

  /// True if a node reports every request that it has answered (`RelayReport.answered`).
  public var notesRequests = false
  /// The program's version, for display.
  public var version = ""
  /// Start of the process, in milliseconds since the Unix epoch.
  public var startedAt: Int64 = 0

  public init() {}

  /// Returns all faults, each a sentence; empty if the configuration is valid.
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

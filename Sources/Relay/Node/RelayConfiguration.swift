import Changes
public import Storage

/// How one node of a relay is set up.
public struct RelayConfiguration: Sendable, Hashable {
  /// Whether anyone may make an account. Off: a relay is for those whom its owner lets in.
  public var isOpen = false
  /// This node's number in its process, from 0, and how many there are (1…64).
  public var node = 0
  public var nodes = 1
  /// Milliseconds between two pings of a socket.
  public var keepAliveMilliseconds = Limits.keepAliveMilliseconds
  /// Connections of this node; further ones are closed at once. The system's limit of open files
  /// is the reason to lower it.
  public var connections = Limits.connectionsPerNode
  /// Store requests that wait for their outcome; beyond it requests are refused as `overloaded`.
  public var storeRequests = Limits.storeRequests
  /// Bodies and messages in memory over all connections of this node, in bytes.
  public var bodyBudgetBytes = Limits.bodyBudgetBytes
  /// Bytes that may wait to leave one connection before its changes fold into a hint.
  public var sendQueueBytes = Limits.sendQueueBytes
  /// What the store behind the node keeps to, to be told to clients.
  public var rules = StoreRules()
  /// Pieces of files that are being uploaded to this node; further ones are refused as
  /// `overloaded`.
  public var uploads = Limits.uploads
  /// Of these, those of one account.
  public var uploadsPerAccount = Limits.uploadsPerAccount

  public init() {}

  /// All faults at once, each a sentence; empty where the configuration is good.
  public func validate() -> [String] {
    var faults: [String] = []
    if nodes < 1 || nodes > 64 { faults.append("a relay has 1 to 64 nodes, not \(nodes)") }
    if node < 0 || node >= nodes { faults.append("node \(node) is not one of \(nodes)") }
    if keepAliveMilliseconds < 100 || keepAliveMilliseconds > 3_600_000 {
      faults.append("keepAlive must be from 100 ms to an hour, not \(keepAliveMilliseconds) ms")
    }
    let ceilings = [
      ("connections", connections), ("storeRequests", storeRequests),
      ("bodyBudgetBytes", bodyBudgetBytes), ("sendQueueBytes", sendQueueBytes),
      ("uploads", uploads), ("uploadsPerAccount", uploadsPerAccount),
    ]
    for (name, value) in ceilings where value < 1 {
      faults.append("\(name) must be at least 1, not \(value)")
    }
    return faults
  }
}

public import LockstepWire

/// Limiter of a listener's connections: in all, and per network. One limiter serves all loops of
/// the process. It runs when a connection is accepted, before any byte is read and before any
/// memory is allocated for it, so a refused connection costs next to nothing.
public final class ConnectionLimiter: Sendable {
  private struct Counts: Sendable {
    var all = 0
    /// Only connections that are limited by network; a connection without a network is not counted.
    var byNetwork: [PeerNetwork: Int] = [:]
  }

  private let connections: Int
  private let connectionsPerNetwork: Int
  private let exempt: [IPNetwork]
  private let counts = Locked(Counts())

  /// `exempt`: networks whose connections count in all, but not per network.
  public init(connections: Int, connectionsPerNetwork: Int = .max, exempt: [IPNetwork] = []) {
    self.connections = connections
    self.connectionsPerNetwork = connectionsPerNetwork
    self.exempt = exempt
  }

  /// Number of permits in use.
  public var count: Int { counts.withLock { $0.all } }

  /// Number of networks with at least one counted connection.
  var networkCount: Int { counts.withLock { $0.byNetwork.count } }

  enum Answer {
    case admitted(ConnectionPermit)
    case turnedAway(TurnedAway)
  }

  func admit(_ opening: Opening) -> Answer {
    let isExempt = opening.address.map(exempt.contains) ?? false
    let isCounted = connectionsPerNetwork < .max && !isExempt
    let network = isCounted ? PeerNetwork(of: opening) : nil
    let refusal: TurnedAway? = counts.withLock { counts in
      guard counts.all < connections else { return .connections }
      if let network {
        let others = counts.byNetwork[network] ?? 0
        guard others < connectionsPerNetwork else { return .connectionsPerAddress }
        counts.byNetwork[network] = others + 1
      }
      counts.all += 1
      return nil
    }
    if let refusal { return .turnedAway(refusal) }
    return .admitted(ConnectionPermit(self, network))
  }

  fileprivate func giveBack(_ network: PeerNetwork?) {
    counts.withLock { counts in
      counts.all -= 1
      guard let network, let own = counts.byNetwork[network] else { return }
      counts.byNetwork[network] = own > 1 ? own - 1 : nil
    }
  }
}

/// Permit of one connection. The connection's slot holds it, and its deinit returns it to the
/// limiter: exactly once per connection, however the connection ends.
final class ConnectionPermit: Sendable {
  private let gate: ConnectionLimiter
  private let network: PeerNetwork?

  fileprivate init(_ gate: ConnectionLimiter, _ network: PeerNetwork?) {
    self.gate = gate
    self.network = network
  }

  deinit { gate.giveBack(network) }
}

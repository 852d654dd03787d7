public import LockstepWire

/// How many connections a process lets in by a door: in all, and from one network. One gate serves
/// all loops of the process. It is asked when a connection is accepted, before a byte of it is read
/// and before anything is kept for it, so that whoever is turned away costs next to nothing.
public final class ConnectionLimiter: Sendable {
  private struct Counts: Sendable {
    var all = 0
    /// Those that are limited by their network; who has none there is not in it.
    var byNetwork: [PeerNetwork: Int] = [:]
  }

  private let connections: Int
  private let connectionsPerNetwork: Int
  private let exempt: [IPNetwork]
  private let counts = Locked(Counts())

  /// `exempt`: whose connections count in all, and not by their network.
  public init(connections: Int, connectionsPerNetwork: Int = .max, exempt: [IPNetwork] = []) {
    self.connections = connections
    self.connectionsPerNetwork = connectionsPerNetwork
    self.exempt = exempt
  }

  /// How many places are taken.
  public var count: Int { counts.withLock { $0.all } }

  /// How many networks are counted.
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

/// A connection's place at a gate. One that has it keeps it as long as its slot, and its end gives
/// it back: so every connection does that once, however it ends.
final class ConnectionPermit: Sendable {
  private let gate: ConnectionLimiter
  private let network: PeerNetwork?

  fileprivate init(_ gate: ConnectionLimiter, _ network: PeerNetwork?) {
    self.gate = gate
    self.network = network
  }

  deinit { gate.giveBack(network) }
}

import LockstepModel

/// How far apart the devices of a relay come back where all of them lose it at once.
enum ReconnectSpread {
  /// Milliseconds, so that of some hundred devices at most a fifth come in any second, also where
  /// they try before the relay is back, and of very many no more a second than it takes with ease.
  /// A household is back at once.
  static func milliseconds(connections: Int) -> Int64 {
    let count = Int64(clamping: max(0, connections))
    let perConnection = Limits.reconnectPerConnectionMilliseconds
    let (spread, isLarge) = count.multipliedReportingOverflow(by: perConnection)
    let few = isLarge ? Limits.reconnectCrowdMilliseconds : spread
    return min(
      Limits.reconnectMilliseconds, max(min(few, Limits.reconnectCrowdMilliseconds), count))
  }
}

extension RelayNode {
  /// Over how long the devices of all nodes are to come back; 0 where they are few.
  var reconnectWithin: Int64 {
    if let stoppingSpread { return stoppingSpread }
    let connections = otherStatuses.reduce(connections.count) { $0 + $1.connections }
    let spread = ReconnectSpread.milliseconds(connections: connections)
    return spread < Limits.reconnectFloorMilliseconds ? 0 : spread
  }

  /// Tells a socket how to come back, where that is not about what it was told last.
  mutating func tellReconnect(_ slot: Hub.Slot) {
    guard let told = connections[slot].socket?.reconnectWithin else { return }
    let within = reconnectWithin
    guard within > told + told / 4 || within < told / 2 else { return }
    connections[slot].socket?.reconnectWithin = within
    say(slot, .reconnect(withinMilliseconds: within))
  }

  /// An answer of JSON that tells a device without a socket how to come back.
  func answerWithReconnect(_ json: [UInt8]) -> Answer {
    var answer = Answer(status: 200, json: json)
    addReconnect(to: &answer)
    return answer
  }

  func addReconnect(to answer: inout Answer) {
    let within = reconnectWithin
    if within > 0 { answer.headers.append("Lockstep-Reconnect-Within", String(within)) }
  }

  /// What whoever hears it is told of the end of the relay: each a moment of its own to come back.
  mutating func stoppingRefusal() -> Refusal {
    var refusal = RelayNode.isStopping
    let within = reconnectWithin
    if within > 0 {
      refusal.retryAfterMilliseconds = Int64.random(in: 0...within, using: &random)
    }
    return refusal
  }
}

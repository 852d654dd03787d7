import LockstepModel

/// The period over which a relay's devices reconnect if all of them lose it at once.
enum ReconnectSpread {
  /// Returns the period in milliseconds. Of some hundred devices, at most a fifth reconnect in any
  /// second, even if they try before the relay is back; of very many, only as many per second as
  /// the relay handles with ease. The devices of one household reconnect at once.
  static func milliseconds(connections: Int) -> Int64 {
    let count = Int64(clamping: max(0, connections))
    let perConnection = Limits.reconnectPerConnectionMilliseconds
    let (spread, isLarge) = count.multipliedReportingOverflow(by: perConnection)
    let few = isLarge ? Limits.reconnectSmallMaxMilliseconds : spread
    return min(
      Limits.reconnectMilliseconds, max(min(few, Limits.reconnectSmallMaxMilliseconds), count))
  }
}

extension RelayNode {
  /// Period over which the devices of all nodes reconnect; 0 if they are few.
  var reconnectWithin: Int64 {
    if let stoppingSpread { return stoppingSpread }
    let connections = otherStatuses.reduce(connections.count) { $0 + $1.connections }
    let spread = ReconnectSpread.milliseconds(connections: connections)
    return spread < Limits.reconnectFloorMilliseconds ? 0 : spread
  }

  /// Sends a socket the period for reconnecting, if it differs much from the one sent last.
  mutating func sendReconnectPeriod(_ slot: Hub.Slot) {
    guard let sent = connections[slot].socket?.reconnectWithin else { return }
    let within = reconnectWithin
    guard within > sent + sent / 4 || within < sent / 2 else { return }
    connections[slot].socket?.reconnectWithin = within
    sendMessage(slot, .reconnect(withinMilliseconds: within))
  }

  /// Returns a JSON answer that gives a device without a socket the period for reconnecting.
  func answerWithReconnect(_ json: [UInt8]) -> Answer {
    var answer = Answer(status: 200, json: json)
    addReconnect(to: &answer)
    return answer
  }

  func addReconnect(to answer: inout Answer) {
    let within = reconnectWithin
    if within > 0 { answer.headers.append("Lockstep-Reconnect-Within", String(within)) }
  }

  /// Returns the refusal while the relay stops, with a random time to reconnect for each receiver.
  mutating func stoppingRefusal() -> Refusal {
    var refusal = RelayNode.isStopping
    let within = reconnectWithin
    if within > 0 {
      refusal.retryAfterMilliseconds = Int64.random(in: 0...within, using: &random)
    }
    return refusal
  }
}

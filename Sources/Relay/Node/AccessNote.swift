public import LockstepWire

/// One HTTP request, for a detailed log. It has the path but not the query, in which a client may
/// have put private data.
public struct AccessNote: Sendable, Hashable {
  public var method: String
  public var path: String
  /// Status of the answer; 0 if the client left before there was one.
  public var status: Int
  /// Time from the request's head to the end of its answer.
  public var milliseconds: Int64
  /// Bytes of the answer's body; 0 if it is sent in parts.
  public var bytes: Int
  public var peer: PeerAddress
  /// Network that counts as the client, by a trusted proxy: an IPv4 address or a network of IPv6.
  public var client: PeerNetwork
}

extension RelayNode {
  /// Reports the end of a connection's request.
  mutating func noteRequest(_ slot: Hub.Slot, status: Int? = nil) {
    guard configuration.notesRequests, let exchange = connections[slot].http.exchange?.value else {
      return
    }
    let path = exchange.head.target.path.joined(separator: "/")
    actions.append(
      .report(
        .answered(
          AccessNote(
            method: exchange.head.method, path: "/" + path, status: status ?? exchange.status,
            milliseconds: moment.instant.milliseconds(since: exchange.begunAt),
            bytes: exchange.answerBytes, peer: connections[slot].opening.peer,
            client: connections[slot].client.network))))
  }
}

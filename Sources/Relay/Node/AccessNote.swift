public import LockstepWire

/// One HTTP request, for the log of a person who looks closely. It has the path and not the query,
/// where a client may have put what nobody else should read.
public struct AccessNote: Sendable, Hashable {
  public var method: String
  public var path: String
  /// Of the answer; 0 where the client went before there was one.
  public var status: Int
  /// From the request's head to the end of its answer.
  public var milliseconds: Int64
  /// Of the answer's body; of one that goes out in parts, 0.
  public var bytes: Int
  public var peer: PeerAddress
  /// Who counts as the client, as a trusted proxy says it: an IPv4 address or a network of IPv6.
  public var client: PeerNetwork
}

extension RelayNode {
  /// The request of a connection is over.
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

public import LockstepModel

/// What the relay says on a stream of events (docs/protocol.md, "Events").
public enum RelayEvent: Hashable, Sendable {
  /// What was missed, or a push; the event's id is the page's token.
  case changes(ChangePage)
  /// A hint: there is something newer.
  case changed(token: ChangeToken)
  /// The stream is over.
  case error(Refusal)
  /// Something that a newer relay says and this program does not know: a device passes it over.
  case unknown(name: String)
}

extension RelayEvent {
  /// Reads one event of a stream. A refusal means that it is broken.
  package static func decode(_ event: ServerSentEvent) throws(Refusal) -> RelayEvent {
    var reader = MessageReader(event.data.span.bytes, formCode: .badMessage)
    let decoded: RelayEvent
    switch event.name {
    case "changes": decoded = .changes(try reader.changePage().page)
    case "changed": decoded = .changed(token: try reader.hintedToken())
    case "error": decoded = .error(try reader.problem(status: nil))
    case let unknown: return .unknown(name: unknown)
    }
    try reader.finish()
    return decoded
  }

  /// The bytes of a hint, which has no id: whoever comes back begins before it.
  package static func encodedHint(_ token: ChangeToken) -> [UInt8] {
    var writer = JSONWriter(capacity: 128)
    writer.beginObject()
    writer.member("token")
    writer.token(token)
    writer.endObject()
    return EventStreamWriter.event("changed", json: writer.finish())
  }

  /// The bytes of a stream's last event. `retryMilliseconds`: when a client may come back.
  package static func encodedError(_ refusal: Refusal, retryMilliseconds: Int64?) -> [UInt8] {
    EventStreamWriter.event(
      "error", retryMilliseconds: retryMilliseconds, json: refusal.encodedProblem())
  }
}

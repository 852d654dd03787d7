public import LockstepModel

/// Event from the relay on a stream (docs/protocol.md, "Events").
public enum RelayEvent: Hashable, Sendable {
  /// Missed changes, or a push; the event's id is the page's token.
  case changes(ChangePage)
  /// A hint: there are newer changes.
  case changed(token: ChangeToken)
  /// The stream ends.
  case error(Refusal)
  /// An event of a newer relay that this program does not know: a device ignores it.
  case unknown(name: String)
}

extension RelayEvent {
  /// Reads one event of a stream. Throws if it is malformed.
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

  /// Encodes a hint. It has no id: a client that reconnects starts before it.
  package static func encodedHint(_ token: ChangeToken) -> [UInt8] {
    var writer = JSONWriter(capacity: 128)
    writer.beginObject()
    writer.member("token")
    writer.token(token)
    writer.endObject()
    return EventStreamWriter.event("changed", json: writer.finish())
  }

  /// Encodes a stream's last event. `retryMilliseconds`: delay before a client may reconnect.
  package static func encodedError(_ refusal: Refusal, retryMilliseconds: Int64?) -> [UInt8] {
    EventStreamWriter.event(
      "error", retryMilliseconds: retryMilliseconds, json: refusal.encodedProblem())
  }
}

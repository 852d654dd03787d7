import LockstepModel

/// What the relay says on the socket (docs/protocol.md, "WebSocket").
public enum RelayMessage: Hashable, Sendable {
  case welcome(
    account: AccountID, device: DeviceID, token: ChangeToken, time: Int64,
    keepAliveMilliseconds: Int64)
  case saved(id: BatchID, SaveAnswer)
  /// With `id`, the answer to a fetch; without, a push or what was missed.
  case changes(id: String?, ChangePage)
  /// A hint: there is something newer.
  case changed(token: ChangeToken)
  case time(id: String, t0: JSONNumber, t1: Int64, t2: Int64)
  case error(id: String?, Refusal)
  /// How to come back where the connection ends without a word: at a random moment within so long.
  case reconnect(withinMilliseconds: Int64)
  /// Something that a newer relay says and this program does not know: a device passes it over.
  case unknown(op: String)
}

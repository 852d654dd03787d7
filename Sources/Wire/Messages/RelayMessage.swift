import LockstepModel

/// Message from the relay on the socket (docs/protocol.md, "WebSocket").
public enum RelayMessage: Hashable, Sendable {
  case welcome(
    account: AccountID, device: DeviceID, token: ChangeToken, time: Int64,
    keepAliveMilliseconds: Int64)
  case saved(id: BatchID, SaveAnswer)
  /// With `id`, the answer to a fetch; without, a push or missed changes.
  case changes(id: String?, ChangePage)
  /// A hint: there are newer changes.
  case changed(token: ChangeToken)
  case time(id: String, t0: JSONNumber, t1: Int64, t2: Int64)
  case error(id: String?, Refusal)
  /// Reconnect rule if the connection ends without notice: at a random time within this span.
  case reconnect(withinMilliseconds: Int64)
  /// A message of a newer relay that this program does not know: a device ignores it.
  case unknown(op: String)
}

import LockstepModel

/// Message from a device on the socket (docs/protocol.md, "WebSocket").
public enum DeviceMessage: Hashable, Sendable {
  case hello(token: String?, since: ChangeToken?)
  case save(SaveRequest)
  case fetch(id: String, FetchQuery)
  /// `t0` is the device's own time. It is returned unchanged, so its text is kept.
  case time(id: String, t0: JSONNumber)
}

/// Query for changes, the same in `GET /v1/changes` and in the socket's `fetch`.
public struct FetchQuery: Hashable, Sendable {
  public var since: ChangeToken?
  public var zone: Name?
  /// Records per page; clamped to 1…`Limits.pageRecords`.
  public var limit: Int
  /// Long-poll: time for which the request is held until there are changes. 0: answer at once.
  public var waitMilliseconds: Int64

  public init(
    since: ChangeToken? = nil, zone: Name? = nil, limit: Int = Limits.pageRecords,
    waitMilliseconds: Int64 = 0
  ) {
    self.since = since
    self.zone = zone
    self.limit = limit
    self.waitMilliseconds = waitMilliseconds
  }
}

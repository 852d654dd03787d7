import LockstepModel

/// What a device says on the socket (docs/protocol.md, "WebSocket").
public enum DeviceMessage: Hashable, Sendable {
  case hello(token: String?, since: ChangeToken?)
  case save(SaveRequest)
  case fetch(id: String, FetchQuery)
  /// `t0` is the device's own time; it comes back as it was, so its text is kept.
  case time(id: String, t0: JSONNumber)
}

/// What to fetch: `GET /v1/changes` and the socket's `fetch` ask the same.
public struct FetchQuery: Hashable, Sendable {
  public var since: ChangeToken?
  public var zone: Name?
  /// Records a page; clamped to 1…`Limits.pageRecords`.
  public var limit: Int
  /// Long-poll: how long to hold the request until there is something. 0: answer at once.
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

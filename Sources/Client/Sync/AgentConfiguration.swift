import LockstepModel

/// Settings of an agent. The address of the relay is in its home (`HomeIdentity`).
public struct AgentConfiguration: Sendable {
  /// Transports to use, best first; a single one pins the transport. At least one.
  public var transports: [Transport] = [.webSocket, .longPoll, .poll]
  /// Interval between polls, in milliseconds. The last transport's delay is at most this and a
  /// round trip.
  public var pollMilliseconds = Limits.pollMilliseconds
  /// Time for which the relay may hold a long-poll, in milliseconds: below the timeout of proxies
  /// (60 s).
  public var longPollMilliseconds = Limits.agentLongPollMilliseconds
  /// Timeout of `syncNow`, after which it is reported as not done, in milliseconds.
  public var syncMilliseconds = Limits.syncMilliseconds
  /// Time for which a chunk of a file that nothing names stays in the home, in milliseconds: a day
  /// is more than any app needs between cutting a file and saving its record.
  public var chunkKeepMilliseconds = Limits.chunkKeepMilliseconds
  /// Interval between searches for such chunks, in milliseconds.
  public var chunkCareMilliseconds = Limits.chunkCareMilliseconds
  /// True to report `AgentReport.milestone`, and to ask the relay for its times with every save.
  public var tellsMilestones = false
  /// First number of connections and jobs, so that many agents can share one driver: give each
  /// agent a range of its own (`index << 32`).
  public var firstNumber: UInt64 = 0

  public init() {}
}

/// Transport of changes to a device, from the best to the last resort.
public enum Transport: String, Sendable, CaseIterable {
  case webSocket = "websocket"
  /// Server-sent events. Not in the default list: if they work, long-polls work too.
  case events
  case longPoll = "long-poll"
  case poll
}

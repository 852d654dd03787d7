import LockstepModel

/// How an agent is to behave. Where it connects to stands in its home (`HomeIdentity`).
public struct AgentConfiguration: Sendable {
  /// The rungs of the ladder, best first; one alone pins the transport. At least one.
  public var transports: [Transport] = [.webSocket, .longPoll, .poll]
  /// From one poll to the next, in milliseconds. The last rung's delay is at most this much and a
  /// round trip.
  public var pollMilliseconds = Limits.pollMilliseconds
  /// How long the relay may hold a long-poll, in milliseconds: below what proxies cut off (60 s).
  public var longPollMilliseconds = Limits.agentLongPollMilliseconds
  /// How long `syncNow` may take before it is reported as not done, in milliseconds.
  public var syncMilliseconds = Limits.syncMilliseconds
  /// How long a chunk of a file that nothing names stays in the home, in milliseconds: a day is
  /// more than any app takes from cutting a file to saving its record.
  public var chunkKeepMilliseconds = Limits.chunkKeepMilliseconds
  /// How often such chunks are looked for, in milliseconds.
  public var chunkCareMilliseconds = Limits.chunkCareMilliseconds
  /// Somebody follows changes on their way: `AgentReport.milestone` is told, and the relay is asked
  /// for its times with every save.
  public var tellsMilestones = false
  /// Connections and jobs are numbered from here, so that many agents can share one driver: give
  /// each a range of its own (`index << 32`).
  public var firstNumber: UInt64 = 0

  public init() {}
}

/// How changes reach a device, from the best to the last resort.
public enum Transport: String, Sendable, CaseIterable {
  case webSocket = "websocket"
  /// Server-sent events. Not on the usual ladder: where they come through, long-polls do too.
  case events
  case longPoll = "long-poll"
  case poll
}

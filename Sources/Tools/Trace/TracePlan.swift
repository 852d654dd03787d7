import LockstepClient

/// Parameters of a trace: the number of changes, followed one after the other, and the transport.
public struct TracePlan: Sendable, Hashable {
  /// Number of changes, 1 to `changesMost`.
  public var changes = 5
  public var transport = Transport.webSocket

  public static let changesMost = 1_000

  public init() {}

  /// Time after which a change counts as lost. A poll interval may have just begun.
  var patienceMilliseconds: Int64 { transport == .poll ? 40_000 : 10_000 }

  /// Idle time of both devices before each change, as before a person's action.
  static let restMilliseconds: Int64 = 50
}

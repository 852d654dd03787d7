import LockstepClient

/// What a trace does: how many changes it follows, one after the other, and how they travel.
public struct TracePlan: Sendable, Hashable {
  /// 1 to `changesMost`.
  public var changes = 5
  public var transport = Transport.webSocket

  public static let changesMost = 1_000

  public init() {}

  /// How long a change may take before it counts as lost: a poll may only just have gone by.
  var patienceMilliseconds: Int64 { transport == .poll ? 40_000 : 10_000 }

  /// Before each change both devices are left alone for so long, as they are when a person comes.
  static let restMilliseconds: Int64 = 50
}

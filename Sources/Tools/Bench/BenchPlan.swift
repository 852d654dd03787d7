import LockstepClient

/// What a latency bench does: how many people with how many devices, who changes something how
/// often, and how the changes travel.
public struct BenchPlan: Sendable, Hashable {
  public var accounts = 100
  /// Devices an account, 2 to 64.
  public var devices = 3
  /// Changes a second, over all accounts.
  public var rate = 200
  public var seconds = 10
  public var transport = Transport.webSocket
  /// Bytes of a change's fields, at least.
  public var payloadBytes = 200
  /// Spreads the changes over accounts and devices.
  public var seed: UInt64 = 1

  public init() {}

  public var changes: Int { rate * seconds }
  public var deliveries: Int { changes * (devices - 1) }

  /// How long to wait, after the last change, for what has not arrived: a poll may only just have
  /// gone by.
  var drainMilliseconds: Int64 { transport == .poll ? 40_000 : 10_000 }

  /// All faults at once; empty where the plan is good.
  public func validate() -> [String] {
    var faults: [String] = []
    if accounts < 1 || accounts > 5_000 { faults.append("--accounts takes 1 to 5000") }
    if devices < 2 || devices > 64 { faults.append("--devices takes 2 to 64") }
    if rate < 1 || rate > 100_000 { faults.append("--rate takes 1 to 100000 changes a second") }
    if seconds < 1 || seconds > 3_600 { faults.append("--seconds takes 1 to 3600") }
    return faults
  }
}

import LockstepClient

/// Parameters of a latency bench: the number of accounts and devices, the rate of changes, and the
/// transport.
public struct BenchPlan: Sendable, Hashable {
  public var accounts = 100
  /// Number of devices per account, 2 to 64.
  public var devices = 3
  /// Changes per second, over all accounts.
  public var rate = 200
  public var seconds = 10
  public var transport = Transport.webSocket
  /// Minimum number of bytes of a change's fields.
  public var payloadBytes = 200
  /// Seed for the distribution of changes over accounts and devices.
  public var seed: UInt64 = 1

  public init() {}

  public var changes: Int { rate * seconds }
  public var deliveries: Int { changes * (devices - 1) }

  /// Time to wait after the last change for missing arrivals. A poll interval may have just begun.
  var drainMilliseconds: Int64 { transport == .poll ? 40_000 : 10_000 }

  /// Returns all faults; empty if the plan is valid.
  public func validate() -> [String] {
    var faults: [String] = []
    if accounts < 1 || accounts > 5_000 { faults.append("--accounts takes 1 to 5000") }
    if devices < 2 || devices > 64 { faults.append("--devices takes 2 to 64") }
    if rate < 1 || rate > 100_000 { faults.append("--rate takes 1 to 100000 changes a second") }
    if seconds < 1 || seconds > 3_600 { faults.append("--seconds takes 1 to 3600") }
    return faults
  }
}

/// What a crowd bench does: how many people are measured, and who crowds the relay meanwhile.
public struct ConnectionLoadPlan: Sendable, Hashable {
  /// The people who are measured, as `BenchPlan` has them.
  public var measured = BenchPlan()
  /// Sockets that are signed in and say nothing, and connections that never say a byte: half each.
  public var idle = 10_000
  /// Devices that read slower than they are pushed to.
  public var slow = 300
  /// Saves a second into each account of slow readers, and bytes of each.
  public var saves = 20
  public var saveBytes = 4_096
  /// Pairs of a quiet run and a crowded one.
  public var runs = 5

  public init() {
    measured.accounts = 50
    measured.devices = 2
  }

  /// Idle sockets, and slow readers, that share an account: as few as people have.
  public static let idleSocketsPerAccount = 50
  public static let slowReadersPerAccount = 30
  /// What a slow reader takes a second, in bytes.
  public static let slowBytes = 4_096

  public var signedIn: Int { idle / 2 }
  public var silent: Int { idle - signedIn }
  public var idleAccounts: Int { parts(signedIn, of: Self.idleSocketsPerAccount) }
  public var slowAccounts: Int { parts(slow, of: Self.slowReadersPerAccount) }

  private func parts(_ count: Int, of size: Int) -> Int { (count + size - 1) / size }
}

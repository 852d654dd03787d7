/// Parameters of a connection-load bench: the measured accounts, and the connections of the load.
public struct ConnectionLoadPlan: Sendable, Hashable {
  /// Measured accounts, as in `BenchPlan`.
  public var measured = BenchPlan()
  /// Number of idle connections: half are signed-in sockets that send nothing, half never send a
  /// byte.
  public var idle = 10_000
  /// Number of devices that read slower than the relay pushes.
  public var slow = 300
  /// Saves per second into each account of slow readers, and bytes per save.
  public var saves = 20
  public var saveBytes = 4_096
  /// Number of pairs of a quiet run and a loaded run.
  public var runs = 5

  public init() {
    measured.accounts = 50
    measured.devices = 2
  }

  /// Idle sockets, and slow readers, per account: as few as real accounts have.
  public static let idleSocketsPerAccount = 50
  public static let slowReadersPerAccount = 30
  /// Bytes that a slow reader reads per second.
  public static let slowBytes = 4_096

  public var signedIn: Int { idle / 2 }
  public var silent: Int { idle - signedIn }
  public var idleAccounts: Int { parts(signedIn, of: Self.idleSocketsPerAccount) }
  public var slowAccounts: Int { parts(slow, of: Self.slowReadersPerAccount) }

  private func parts(_ count: Int, of size: Int) -> Int { (count + size - 1) / size }
}

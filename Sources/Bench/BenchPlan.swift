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
  package var drainMilliseconds: Int64 { transport == .poll ? 40_000 : 10_000 }

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

/// Parameters of an interference bench: the kind and amount of load on a relay while another
/// account saves.
public struct InterferencePlan: Sendable, Hashable {
  public enum Load: String, Sendable, CaseIterable {
    /// A new device reads all of a large account as an agent does, into a home on disk.
    case firstSync
    /// The same by a client that stores nothing and finishes each page immediately.
    case rawFirstSync
    /// One device uploads all its records, as fast as a socket accepts them.
    case burst
    /// Many devices reconnect at once, each with a large backlog.
    case backlog
  }

  public var load = Load.firstSync
  /// Number of records of the large account, or of the burst.
  public var records = 100_000
  /// Bytes of each record's fields.
  public var recordBytes = 200
  /// Number of pairs of a quiet window and a loaded window.
  public var runs = 5
  /// Length of a quiet window in seconds.
  public var seconds = 4
  /// Saves per second of the other account, each of one small record.
  public var rate = 50
  /// For a backlog: the number of devices that reconnect, and the records that each has missed.
  public var devices = 200
  public var behind = 5_000

  public init() {}

  /// Devices per account in a backlog: within the protocol's limit of devices.
  public static let devicesPerAccount = 20

  public var backlogAccounts: Int {
    (devices + Self.devicesPerAccount - 1) / Self.devicesPerAccount
  }
}

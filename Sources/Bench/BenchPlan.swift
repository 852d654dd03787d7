import LockstepClient

/// Parameters of a latency bench: the number of accounts and devices, the rate of changes, and the
/// transport.
package struct BenchPlan: Sendable, Hashable {
  package var accounts = 100
  /// Number of devices per account, 2 to 64.
  package var devices = 3
  /// Changes per second, over all accounts.
  package var rate = 200
  package var seconds = 10
  package var transport = Transport.webSocket
  /// Minimum number of bytes of a change's fields.
  package var payloadBytes = 200
  /// Seed for the distribution of changes over accounts and devices.
  package var seed: UInt64 = 1

  package init() {}

  package var changes: Int { rate * seconds }
  package var deliveries: Int { changes * (devices - 1) }

  /// Time to wait after the last change for missing arrivals. A poll interval may have just begun.
  package var drainMilliseconds: Int64 { transport == .poll ? 40_000 : 10_000 }

  /// Returns all faults; empty if the plan is valid.
  package func validate() -> [String] {
    var faults: [String] = []
    if accounts < 1 || accounts > 5_000 { faults.append("--accounts takes 1 to 5000") }
    if devices < 2 || devices > 64 { faults.append("--devices takes 2 to 64") }
    if rate < 1 || rate > 100_000 { faults.append("--rate takes 1 to 100000 changes a second") }
    if seconds < 1 || seconds > 3_600 { faults.append("--seconds takes 1 to 3600") }
    return faults
  }
}

/// Parameters of a connection-load bench: the measured accounts, and the connections of the load.
package struct ConnectionLoadPlan: Sendable, Hashable {
  /// Measured accounts, as in `BenchPlan`.
  package var measured = BenchPlan()
  /// Number of idle connections: half are signed-in sockets that send nothing, half never send a
  /// byte.
  package var idle = 10_000
  /// Number of devices that read slower than the relay pushes.
  package var slow = 300
  /// Saves per second into each account of slow readers, and bytes per save.
  package var saves = 20
  package var saveBytes = 4_096
  /// Number of pairs of a quiet run and a loaded run.
  package var runs = 5

  package init() {
    measured.accounts = 50
    measured.devices = 2
  }

  /// Idle sockets, and slow readers, per account: as few as real accounts have.
  package static let idleSocketsPerAccount = 50
  package static let slowReadersPerAccount = 30
  /// Bytes that a slow reader reads per second.
  package static let slowBytes = 4_096

  package var signedIn: Int { idle / 2 }
  package var silent: Int { idle - signedIn }
  package var idleAccounts: Int { parts(signedIn, of: Self.idleSocketsPerAccount) }
  package var slowAccounts: Int { parts(slow, of: Self.slowReadersPerAccount) }

  private func parts(_ count: Int, of size: Int) -> Int { (count + size - 1) / size }
}

/// Parameters of an interference bench: the kind and amount of load on a relay while another
/// account saves.
package struct InterferencePlan: Sendable, Hashable {
  package enum Load: String, Sendable, CaseIterable {
    /// A new device reads all of a large account as an agent does, into a home on disk.
    case firstSync
    /// The same by a client that stores nothing and finishes each page immediately.
    case rawFirstSync
    /// One device uploads all its records, as fast as a socket accepts them.
    case burst
    /// Many devices reconnect at once, each with a large backlog.
    case backlog
  }

  package var load = Load.firstSync
  /// Number of records of the large account, or of the burst.
  package var records = 100_000
  /// Bytes of each record's fields.
  package var recordBytes = 200
  /// Number of pairs of a quiet window and a loaded window.
  package var runs = 5
  /// Length of a quiet window in seconds.
  package var seconds = 4
  /// Saves per second of the other account, each of one small record.
  package var rate = 50
  /// For a backlog: the number of devices that reconnect, and the records that each has missed.
  package var devices = 200
  package var behind = 5_000

  package init() {}

  /// Devices per account in a backlog: within the protocol's limit of devices.
  package static let devicesPerAccount = 20

  package var backlogAccounts: Int {
    (devices + Self.devicesPerAccount - 1) / Self.devicesPerAccount
  }
}

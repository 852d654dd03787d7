/// What a pace bench does: how it loads a relay, and with how much, while the saves of another
/// account go on.
public struct InterferencePlan: Sendable, Hashable {
  public enum Load: String, Sendable, CaseIterable {
    /// A new device reads all of a large account, as an agent does: into a home on disk.
    case firstSync
    /// The same by a client that keeps nothing and is done with each page at once.
    case rawFirstSync
    /// One device uploads all its records, as fast as a socket takes them.
    case burst
    /// Many devices come back at once, each with a long way to catch up.
    case backlog
  }

  public var load = Load.firstSync
  /// Records of the large account, or of the burst.
  public var records = 100_000
  /// Bytes of each record's fields.
  public var recordBytes = 200
  /// Pairs of a quiet window and one under load.
  public var runs = 5
  /// How long a quiet window lasts.
  public var seconds = 4
  /// Saves a second of the other account, each of one small record.
  public var rate = 50
  /// Of a backlog: how many devices come back, and how many records each has missed.
  public var devices = 200
  public var behind = 5_000

  public init() {}

  /// Devices of one account in a backlog: as the protocol's ceiling of devices allows.
  public static let devicesPerAccount = 20

  public var backlogAccounts: Int {
    (devices + Self.devicesPerAccount - 1) / Self.devicesPerAccount
  }
}

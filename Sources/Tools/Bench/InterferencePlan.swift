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

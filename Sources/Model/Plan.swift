/// Rights of an account on a relay, set by the relay's owner (`lockstep account plan`).
///
/// A plan bounds saves. An account may always read the data that it holds, so that data is never
/// withheld from its owner; but a plan without any zone blocks the account's devices.
public struct Plan: Hashable, Sendable {
  /// Zones that may be saved to; nil: all, including future ones.
  public var zones: [Name]?
  /// Bytes of records, and number of records, that the account may have; nil: the value that the
  /// relay's owner set for all accounts.
  public var bytes: Int64?
  public var records: Int64?

  public init(zones: [Name]?, bytes: Int64? = nil, records: Int64? = nil) {
    self.zones = zones
    self.bytes = bytes
    self.records = records
  }

  public static let everything = Plan(zones: nil)

  public func includes(_ zone: Name) -> Bool { zones?.contains(zone) ?? true }

  public var hasNoZone: Bool { zones?.isEmpty ?? false }
}

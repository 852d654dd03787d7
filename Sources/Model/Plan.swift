/// What an account may use of a relay: the owner of the relay says so (`lockstep account plan`).
///
/// A plan bounds what is saved. What an account holds already it may always read, so that nobody's
/// data is kept from them; but a plan without any zone lets the account's devices do nothing.
public struct Plan: Hashable, Sendable {
  /// The zones into which may be saved; nil: all, also those that nobody thought of yet.
  public var zones: [Name]?
  /// Bytes of records, and records, that the account may have; nil: what the relay's owner set for
  /// all accounts.
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

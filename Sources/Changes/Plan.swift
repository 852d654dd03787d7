/// What an account may use of a relay: the owner of the relay says so (`lockstep account plan`).
///
/// A plan bounds what is saved. What an account holds already it may always read, so that nobody's
/// data is kept from them; but a plan without any zone lets the account's devices do nothing.
public struct Plan: Hashable, Sendable {
  /// The zones into which may be saved; nil: all, also those that nobody thought of yet.
  public var zones: [Name]?

  public init(zones: [Name]?) { self.zones = zones }

  public static let everything = Plan(zones: nil)

  public func includes(_ zone: Name) -> Bool { zones?.contains(zone) ?? true }

  public var hasNoZone: Bool { zones?.isEmpty ?? false }
}

/// What wakes a device: with at least one subscription, only changes that match one do
/// (docs/protocol.md, "Subscriptions"). It never limits what a device may read.
public struct Subscription: Hashable, Sendable {
  /// Chosen by the device; unique among its own.
  public var id: Name
  public var kind: Kind

  public enum Kind: Hashable, Sendable {
    /// Every change of the account.
    case database
    /// Every change in the zone.
    case zone(Name)
    case query(Query)
  }

  /// Records of one type.
  public struct Query: Hashable, Sendable {
    public var recordType: Name
    /// nil: in any zone.
    public var zone: Name?
    /// Top-level members that the new version's `fields` must have, all of them, with these
    /// values. A delete has no fields and matches without.
    public var conditions: [JSONMember]
    public var events: ChangeEvents

    public init(recordType: Name, zone: Name?, conditions: [JSONMember], events: ChangeEvents) {
      self.recordType = recordType
      self.zone = zone
      self.conditions = conditions
      self.events = events
    }
  }

  public init(id: Name, kind: Kind) {
    self.id = id
    self.kind = kind
  }
}

/// What happened to a record.
public struct ChangeEvents: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// It was not there, or was deleted, and is there now.
  public static let create = ChangeEvents(rawValue: 1)
  public static let update = ChangeEvents(rawValue: 2)
  public static let delete = ChangeEvents(rawValue: 4)
  public static let all: ChangeEvents = [.create, .update, .delete]
}

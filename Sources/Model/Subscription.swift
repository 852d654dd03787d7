import LockstepJSON

/// Filter of the changes that wake a device: with at least one subscription, only matching changes
/// do (docs/protocol.md, "Subscriptions"). It never limits what a device may read.
public struct Subscription: Hashable, Sendable {
  /// Chosen by the device; unique among its subscriptions.
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
    /// Top-level members that the new version's `fields` must have, all of them, with these values.
    /// A delete has no fields and matches without them.
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

/// Kinds of a record's change.
public struct ChangeEvents: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The record did not exist, or was deleted, and exists now.
  public static let create = ChangeEvents(rawValue: 1)
  public static let update = ChangeEvents(rawValue: 2)
  public static let delete = ChangeEvents(rawValue: 4)
  public static let all: ChangeEvents = [.create, .update, .delete]
}

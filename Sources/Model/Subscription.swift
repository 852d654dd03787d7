import LockstepJSON

/// Filter of the changes that wake a device: with at least one subscription, only matching changes
/// do (docs/protocol.md, "Subscriptions"). It never limits what a device may read.
@usableFromInline
package struct Subscription: Hashable, Sendable {
  /// Chosen by the device; unique among its subscriptions.
  @usableFromInline package var id: Name
  @usableFromInline package var kind: Kind

  @usableFromInline
  package enum Kind: Hashable, Sendable {
    /// Every change of the account.
    case database
    /// Every change in the zone.
    case zone(Name)
    case query(Query)
  }

  /// Records of one type.
  @usableFromInline
  package struct Query: Hashable, Sendable {
    @usableFromInline package var recordType: Name
    /// nil: in any zone.
    @usableFromInline package var zone: Name?
    /// Top-level members that the new version's `fields` must have, all of them, with these values.
    /// A delete has no fields and matches without them.
    @usableFromInline package var conditions: [JSONMember]
    @usableFromInline package var events: ChangeEvents

    @usableFromInline
    package init(recordType: Name, zone: Name?, conditions: [JSONMember], events: ChangeEvents) {
      self.recordType = recordType
      self.zone = zone
      self.conditions = conditions
      self.events = events
    }
  }

  @usableFromInline
  package init(id: Name, kind: Kind) {
    self.id = id
    self.kind = kind
  }
}

/// Kinds of a record's change.
@usableFromInline
package struct ChangeEvents: OptionSet, Hashable, Sendable {
  @usableFromInline package let rawValue: UInt8
  @usableFromInline package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The record did not exist, or was deleted, and exists now.
  @usableFromInline package static let create = ChangeEvents(rawValue: 1)
  @usableFromInline package static let update = ChangeEvents(rawValue: 2)
  @usableFromInline package static let delete = ChangeEvents(rawValue: 4)
  @usableFromInline package static let all: ChangeEvents = [.create, .update, .delete]
}

extension Subscription {
  /// The zone to which it is limited; nil: none.
  package var zone: Name? {
    switch kind {
    case .database: nil
    case .zone(let zone): zone
    case .query(let query): query.zone
    }
  }
}

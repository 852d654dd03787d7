import LockstepJSON

/// One version of a record, in the form that a resolver gets.
@usableFromInline
package struct Version: Hashable, Sendable {
  @usableFromInline package var name: String
  /// A JSON object; nil in a delete.
  @usableFromInline package var fields: JSONValue?
  /// Relay time, milliseconds since the Unix epoch.
  @usableFromInline package var modifiedAt: Int64
  @usableFromInline package var device: String

  @usableFromInline package var isDeleted: Bool { fields == nil }

  @usableFromInline
  package init(name: String, fields: JSONValue?, modifiedAt: Int64, device: String) {
    self.name = name
    self.fields = fields
    self.modifiedAt = modifiedAt
    self.device = device
  }
}

/// Concurrent changes of one record by two devices, neither of which had seen the other's change.
@usableFromInline
package struct Conflict: Hashable, Sendable {
  /// Version that the local change was made on; nil if the record was made on both sides or the
  /// device no longer knows it.
  @usableFromInline package var base: Version?
  @usableFromInline package var local: Version
  @usableFromInline package var server: Version

  @usableFromInline
  package init(base: Version?, local: Version, server: Version) {
    self.base = base
    self.local = local
    self.server = server
  }
}

/// Result of a resolver.
@usableFromInline
package enum Resolution: Hashable, Sendable {
  /// The record's new fields (nil: deleted), and further records to save with it.
  case merged(fields: JSONValue?, copies: [Copy])
  /// The resolver decides nothing; a person decides.
  case ask

  @usableFromInline
  package struct Copy: Hashable, Sendable {
    @usableFromInline package var name: String
    @usableFromInline package var fields: JSONValue

    @usableFromInline
    package init(name: String, fields: JSONValue) {
      self.name = name
      self.fields = fields
    }
  }
}

/// Rule of one record type: a pure function that gives the same bytes on every device, the same
/// when run twice, and the same with local and server exchanged.
@usableFromInline
package protocol Resolver: Sendable {
  func resolve(_ conflict: Conflict) -> Resolution

  /// True if the newer version always wins, whatever its content. Then the time of an action
  /// matters even if another device did the same before (for example, both deleted an item): a
  /// third version, made in between, must not win over the later of the two, so the record takes
  /// the later stamp. If false, a change that is equal on both sides is left as the relay has it.
  var isLastWriterWins: Bool { get }
}

extension Resolver {
  @usableFromInline package var isLastWriterWins: Bool { false }
}

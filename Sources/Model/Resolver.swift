/// One version of a record, as a resolver sees it.
public struct Version: Hashable, Sendable {
  public var name: String
  /// A JSON object; nil in a delete.
  public var fields: JSONValue?
  /// Relay time, milliseconds since the Unix epoch.
  public var modifiedAt: Int64
  public var device: String

  public var isDeleted: Bool { fields == nil }

  public init(name: String, fields: JSONValue?, modifiedAt: Int64, device: String) {
    self.name = name
    self.fields = fields
    self.modifiedAt = modifiedAt
    self.device = device
  }
}

/// Two devices changed one record, neither having seen the other's change.
public struct Conflict: Hashable, Sendable {
  /// The version that the local change was made on; nil where the record was made on both sides or
  /// the device no longer knows.
  public var base: Version?
  public var local: Version
  public var server: Version

  public init(base: Version?, local: Version, server: Version) {
    self.base = base
    self.local = local
    self.server = server
  }
}

/// What becomes of a conflict.
public enum Resolution: Hashable, Sendable {
  /// The record is now this (nil: deleted), and these are further records to save with it.
  case merged(fields: JSONValue?, copies: [Copy])
  /// Nothing is chosen; a person decides.
  case ask

  public struct Copy: Hashable, Sendable {
    public var name: String
    public var fields: JSONValue

    public init(name: String, fields: JSONValue) {
      self.name = name
      self.fields = fields
    }
  }
}

/// The rule of one record type: a pure function that gives the same bytes on every device, the same
/// when run twice, and the same with local and server exchanged.
public protocol Resolver: Sendable {
  func resolve(_ conflict: Conflict) -> Resolution

  /// Whether the newer version is the record, whatever stands in it. Then it also matters when
  /// something was done that another device had done before: both deleted an item, say. A third
  /// version, made in between, must not stand over the later of the two, so the record takes its
  /// stamp. Otherwise what is the same on both sides is left as the relay has it.
  var takesNewestStamp: Bool { get }
}

extension Resolver {
  public var takesNewestStamp: Bool { false }
}

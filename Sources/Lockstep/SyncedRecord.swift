import LockstepJSON
import LockstepModel

@_exported import enum LockstepModel.FieldRule
@_exported import struct LockstepModel.MergeRules

/// A type whose values are records of an account. The stored properties are the record's fields,
/// except `id`, which is the record's name.
///
/// ```swift
/// struct Todo: SyncedRecord {
///   static let zone = "Todos"
///   var id = RecordID.random()
///   var title = ""
///   var done = false
///   static let rules: MergeRules = ["done": .or]
/// }
/// ```
///
/// A field that is missing in a record reads as the zero value of its type (false, 0, "", nil, an
/// empty collection), so a version of the app may add fields. Fields that this version does not
/// know are kept when it saves the record.
public protocol SyncedRecord: Codable, Identifiable, Hashable, Sendable where ID == String {
  /// Zone of the records: 1 to 255 bytes of UTF-8 without control characters. One app has one zone.
  static var zone: String { get }
  /// Record type; if not given, the name of the Swift type.
  static var recordType: String { get }
  /// Rules for concurrent changes of one record; if not given, each field has its newest value.
  static var rules: MergeRules { get }
  /// Name of the record: 1 to 255 bytes of UTF-8 without control characters.
  var id: String { get set }
  /// Result of two concurrent changes of one record, in code; if not given, the result of `rules`.
  ///
  /// Must be a pure function: every device gives the same result for the same versions. A thrown
  /// error leaves the result to `rules`.
  static func merge(_ versions: Versions<Self>) throws -> Self
}

extension SyncedRecord {
  public static var recordType: String { "\(Self.self)" }
  public static var rules: MergeRules { MergeRules() }
  public static func merge(_ versions: Versions<Self>) throws -> Self { versions.merged }
}

/// Two concurrent changes of one record. The names do not say which change this device made, so
/// that a rule cannot treat the two differently on two devices.
public struct Versions<Record: SyncedRecord>: Sendable {
  /// The version with the later stamp.
  public let newer: Record
  public let older: Record
  /// The version that both changes were made on; nil if the record was created twice, or the base
  /// is no longer known.
  public let base: Record?
  /// The result of the type's `rules`.
  public let merged: Record
}

/// Names of new records.
public enum RecordID {
  /// Returns a name that no other device makes: 128 random bits in the form of a UUID (RFC 9562,
  /// version 4).
  public static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    var text = ""
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      let digits = String(byte, radix: 16)
      text += digits.count == 1 ? "0" + digits : digits
    }
    return text
  }
}

/// Conversion between values and the fields of their records.
extension SyncedRecord {
  /// Decodes the fields of the record of this name.
  package init(fields: JSONValue, id: String) throws {
    let whole = Stamps.removed(from: fields).setting("id", to: .string(id))
    self = try FieldsDecoder.decode(Self.self, from: whole)
    self.id = id
  }

  /// Returns the fields of this value on top of the record's present fields. Fields that this type
  /// does not know are kept.
  ///
  /// - Parameter device: The device that counts up and down by this change.
  package func fields(over current: JSONValue?, by device: String) throws -> JSONValue {
    let own = try encoded()
    var fields = current ?? [:]
    if let current, let before = try Self.encodedFields(current, id: id) {
      let removed = (before.members ?? []).filter { own[$0.name] == nil }.map {
        Array($0.name.utf8)
      }
      fields = .object(
        (fields.members ?? []).filter { !removed.contains(Array($0.name.utf8)) })
    }
    return fields.setting((own.members ?? []).map { counted($0, by: device) })
  }

  /// The fields that this type knows in a record; nil if they do not decode, and so nothing is
  /// known to have been removed.
  private static func encodedFields(_ fields: JSONValue, id: String) throws -> JSONValue? {
    let value: Self
    do {
      value = try Self(fields: fields, id: id)
    } catch is DecodingError {
      return nil
    }
    return try value.encoded()
  }

  private func encoded() throws -> JSONValue {
    let fields = try FieldsEncoder.encode(self).setting("id", to: nil)
    if let stamps = fields[Stamps.member] {
      throw EncodingError.invalidValue(
        stamps,
        EncodingError.Context(
          codingPath: [],
          debugDescription: "the coding key \"~\" is reserved for stamps; choose another one"))
    }
    return fields
  }

  /// Adds what a counter has counted since it was read to the device's own part.
  private func counted(_ member: JSONMember, by device: String) -> JSONMember {
    guard Self.rules[member.name] == .counter, let counts = SyncedCounter(json: member.value)
    else { return member }
    return JSONMember(member.name, counts.attributed(to: device).json)
  }
}

import LockstepJSON
import LockstepModel

/// Content of a sealed record, as it is encrypted:
///
///     1 byte    1: live; 2: deleted
///     8 bytes   floor of the version vector
///     1 byte    number of its entries, then 16 bytes for each: the device, and its number
///     1 byte    length of the name, then the name
///     1 byte    length of the type, then the type
///     rest      of a live record, its fields: a JSON object
///
/// and then padding. That a record is deleted is a sealed content of its own, since the relay could
/// make a tombstone.
struct SealedContent: Hashable {
  var name: Name
  var type: Name
  /// nil: deleted.
  var fields: [UInt8]?
  var vector: VersionVector

  private enum Kind {
    static let live: UInt8 = 1
    static let deleted: UInt8 = 2
  }

  init(_ record: Record, _ vector: VersionVector) {
    name = record.name
    type = record.type
    fields = record.fields
    self.vector = vector
  }

  /// Number of bytes of so many entries of a version vector.
  static func bytes(_ vectorEntries: Int) -> Int { 16 * vectorEntries }

  /// Number of bytes before the padding.
  var count: Int {
    12 + SealedContent.bytes(vector.entries.count) + name.text.utf8.count + type.text.utf8.count
      + (fields?.count ?? 0)
  }

  var padded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(SealPadding.paddedCount(count))
    bytes.append(fields == nil ? Kind.deleted : Kind.live)
    let list = vector.bytes
    bytes += list.prefix(8)
    // There are at most 64 entries.
    bytes.append(UInt8(truncatingIfNeeded: vector.entries.count))
    bytes += list.dropFirst(8)
    for text in [name.text, type.text] {
      // A `Name` has at most 255 bytes.
      bytes.append(UInt8(truncatingIfNeeded: text.utf8.count))
      bytes += text.utf8
    }
    bytes += fields ?? []
    SealPadding.pad(&bytes)
    return bytes
  }

  /// Returns nil if the bytes are not the padded form of a content.
  init?(padded bytes: [UInt8]) {
    guard let count = SealPadding.unpaddedCount(bytes) else { return nil }
    var rest = bytes[..<count]
    func byte() -> UInt8? { rest.popFirst() }
    func part(_ count: Int) -> ArraySlice<UInt8>? {
      guard count <= rest.count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    func readName() -> Name? {
      guard let count = byte(), let bytes = part(Int(count)) else { return nil }
      return String(validating: bytes, as: UTF8.self).flatMap { Name($0) }
    }
    guard let kind = byte(), let floor = part(8), let entries = byte(),
      let list = part(16 * Int(entries)), let name = readName(), let type = readName(),
      let vector = VersionVector(bytes: floor + list)
    else { return nil }
    switch kind {
    case Kind.live:
      let json = Array(rest)
      guard case .object? = JSONValue(ifJSON: json) else { return nil }
      fields = json
    case Kind.deleted:
      guard rest.isEmpty else { return nil }
      fields = nil
    default: return nil
    }
    self.name = name
    self.type = type
    self.vector = vector
  }
}

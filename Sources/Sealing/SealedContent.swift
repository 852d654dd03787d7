import LockstepJSON
import LockstepModel

/// Content of a sealed record, as it is encrypted:
///
///     1 byte    1: live; 2: deleted
///     8 bytes   author: the device that made the version
///     16 bytes  the version's id: its writer, and its number
///     8 bytes   floor of the version vector of what it was made on
///     1 byte    number of its entries, then 16 bytes for each: the writer, and its number
///     1 byte    length of the name, then the name
///     1 byte    length of the type, then the type
///     rest      of a live record, its fields: a JSON object
///
/// and then padding. That a record is deleted is a sealed content of its own, since the relay could
/// make a tombstone. The author is in it, since any device may save a version again.
struct SealedContent: Hashable {
  var name: Name
  var type: Name
  var author: DeviceID
  /// nil: deleted.
  var fields: [UInt8]?
  var version: RecordVersion

  private enum Kind {
    static let live: UInt8 = 1
    static let deleted: UInt8 = 2
  }

  init(_ record: Record, _ version: RecordVersion) {
    name = record.name
    type = record.type
    author = record.device
    fields = record.fields
    self.version = version
  }

  /// Returns the number of bytes before the padding. `vectorEntries`: those of `version.made`.
  static func count(_ record: Record, vectorEntries: Int) -> Int {
    36 + VersionID.byteCount * vectorEntries + record.name.text.utf8.count
      + record.type.text.utf8.count + (record.fields?.count ?? 0)
  }

  var padded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(fields == nil ? Kind.deleted : Kind.live)
    bytes.append(word: author.rawValue)
    bytes += version.id.bytes
    bytes.append(word: UInt64(bitPattern: version.made.floor))
    // There are at most 64 entries.
    bytes.append(UInt8(truncatingIfNeeded: version.made.entries.count))
    for entry in version.made.entries { bytes += entry.bytes }
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
    var reader = ByteReader(bytes[..<count])
    guard let kind = reader.byte(), let author = reader.word(),
      let version = SealedContent.readVersion(&reader),
      let name = SealedContent.readName(&reader), let type = SealedContent.readName(&reader)
    else { return nil }
    switch kind {
    case Kind.live:
      let json = Array(reader.rest)
      guard case .object? = JSONValue(ifJSON: json) else { return nil }
      fields = json
    case Kind.deleted:
      guard reader.isAtEnd else { return nil }
      fields = nil
    default: return nil
    }
    self.author = DeviceID(rawValue: author)
    self.name = name
    self.type = type
    self.version = version
  }

  private static func readVersion(_ reader: inout ByteReader) -> RecordVersion? {
    guard let id = VersionID(&reader), let floor = reader.word(), let count = reader.byte(),
      let made = VersionVector(&reader, entries: Int(count), floor: floor)
    else { return nil }
    return RecordVersion(id, madeOn: made)
  }

  private static func readName(_ reader: inout ByteReader) -> Name? {
    guard let count = reader.byte(), let bytes = reader.part(Int(count)) else { return nil }
    return String(validating: bytes, as: UTF8.self).flatMap { Name($0) }
  }
}

import LockstepModel
import LockstepStorage

/// A batch that was decided and accepted, as the commit log holds it: what it writes, not what was
/// asked for. So it means the same whenever it reaches the database, under whatever limits.
///
/// Integers are little-endian; a text is its length in two bytes, and its UTF-8.
///
///     account 8 · device 8 · batch 16 · wall 8 · first tag 8
///     growth: bytes 8 · records 8 · batches 8
///     change in the number of the zone's live records 8
///     digest: length 1, bytes · zone: text · number of records 4
///     each record: name · type (texts) · modified at 8 · lost versions: count 1, 8 each
///                  fields: length 4 (all ones: deleted), bytes
///
/// The records have consecutive tags. None of them names a chunk.
struct LoggedSave: Hashable {
  /// A record, and its row in the database.
  struct Item: Hashable {
    var record: Record
    var row: Row
  }

  /// Row that a record has in the database.
  enum Row: Hashable {
    /// Not looked up: the save was read from the log.
    case unknown
    case none
    case number(Int64)
    /// That of an earlier save which the database lacks too: an index into `MergedSaves.records`.
    case buffered(Int)
  }

  var account: AccountID
  var device: DeviceID
  var batch: BatchID
  /// Time of the save, in milliseconds since the Unix epoch.
  var wall: Int64
  var digest: [UInt8]
  var zone: Name
  var firstTag: ChangeTag
  /// Change in the account's use, including the remembered batch.
  var growth: AccountUse
  var liveChange: Int
  var items: [Item]

  /// The account's newest tag after the save.
  var newest: ChangeTag { firstTag &+ ChangeTag(items.count) &- 1 }
}

// MARK: Coding

extension LoggedSave {
  private static let deleted = UInt32.max

  /// Appends the coded form.
  func encode(into bytes: inout [UInt8]) {
    bytes.append(integer: account.rawValue)
    bytes.append(integer: device.rawValue)
    bytes.append(integer: batch.high)
    bytes.append(integer: batch.low)
    bytes.append(integer: wall)
    bytes.append(integer: firstTag)
    bytes.append(integer: growth.bytes)
    bytes.append(integer: growth.records)
    bytes.append(integer: growth.batches)
    bytes.append(integer: Int64(liveChange))
    bytes.append(UInt8(truncatingIfNeeded: digest.count))
    bytes.append(contentsOf: digest)
    bytes.append(name: zone)
    bytes.append(integer: UInt32(truncatingIfNeeded: items.count))
    for item in items {
      let record = item.record
      bytes.append(name: record.name)
      bytes.append(name: record.type)
      bytes.append(integer: record.modifiedAt)
      bytes.append(UInt8(truncatingIfNeeded: record.includes.count))
      for version in record.includes { bytes.append(integer: version.rawValue) }
      guard let fields = record.fields else {
        bytes.append(integer: LoggedSave.deleted)
        continue
      }
      bytes.append(integer: UInt32(truncatingIfNeeded: fields.count))
      bytes.append(contentsOf: fields)
    }
  }

  /// Reads a coded save; returns nil if the bytes are not one.
  init?(from reader: inout CommitLogReader) {
    guard let account = reader.integer(UInt64.self), let device = reader.integer(UInt64.self),
      let high = reader.integer(UInt64.self), let low = reader.integer(UInt64.self),
      let wall = reader.integer(Int64.self), let firstTag = reader.integer(Int64.self),
      let bytes = reader.integer(Int64.self), let records = reader.integer(Int64.self),
      let batches = reader.integer(Int64.self), let liveChange = reader.integer(Int64.self),
      let digestLength = reader.integer(UInt8.self),
      let digest = reader.bytes(Int(digestLength)), let zone = reader.name(),
      let count = reader.integer(UInt32.self), count <= Limits.batchRecords
    else { return nil }
    self.init(
      account: AccountID(rawValue: account), device: DeviceID(rawValue: device),
      batch: BatchID(high: high, low: low), wall: wall, digest: digest, zone: zone,
      firstTag: firstTag,
      growth: AccountUse(bytes: bytes, records: records, batches: batches),
      liveChange: Int(liveChange), items: [])
    for index in 0..<Int64(count) {
      guard let record = record(from: &reader, tag: firstTag &+ index) else { return nil }
      items.append(Item(record: record, row: .unknown))
    }
  }

  private func record(from reader: inout CommitLogReader, tag: ChangeTag) -> Record? {
    guard let name = reader.name(), let type = reader.name(),
      let modifiedAt = reader.integer(Int64.self), let versions = reader.integer(UInt8.self)
    else { return nil }
    var includes: [VersionFingerprint] = []
    for _ in 0..<versions {
      guard let version = reader.integer(UInt64.self) else { return nil }
      includes.append(VersionFingerprint(rawValue: version))
    }
    guard let length = reader.integer(UInt32.self) else { return nil }
    var fields: [UInt8]?
    if length != LoggedSave.deleted {
      guard let bytes = reader.bytes(Int(length)) else { return nil }
      fields = bytes
    }
    return Record(
      zone: zone, name: name, type: type, fields: fields, modifiedAt: modifiedAt, device: device,
      tag: tag, includes: includes)
  }
}

extension [UInt8] {
  /// Appends the integer's bytes, the lowest first.
  mutating func append(integer value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  fileprivate mutating func append(name: Name) {
    var text = name.text
    text.withUTF8 {
      append(integer: UInt16(truncatingIfNeeded: $0.count))
      append(contentsOf: $0)
    }
  }
}

/// Reads values from the bytes of a commit log, one after the other. Returns nil beyond the end.
struct CommitLogReader {
  private let content: [UInt8]
  private(set) var position: Int
  private let end: Int

  /// `range`: the part to read, within `content`.
  init(_ content: [UInt8], _ range: Range<Int>) {
    self.content = content
    position = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { position == end }

  mutating func integer<Value: FixedWidthInteger>(_: Value.Type) -> Value? {
    let size = MemoryLayout<Value>.size
    guard end - position >= size else { return nil }
    let value = content.withUnsafeBytes {
      $0.loadUnaligned(fromByteOffset: position, as: Value.self)
    }
    position += size
    return Value(littleEndian: value)
  }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard count <= end - position else { return nil }
    defer { position += count }
    return Array(content[position..<position + count])
  }

  mutating func name() -> Name? {
    guard let count = integer(UInt16.self), let bytes = bytes(Int(count)) else { return nil }
    return String(validating: bytes, as: UTF8.self).flatMap(Name.init)
  }
}

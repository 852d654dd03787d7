import LockstepJSON

/// Smallest unit that is saved, as the relay stores it and sends it.
@usableFromInline
package struct Record: Hashable, Sendable {
  @usableFromInline package var zone: Name
  @usableFromInline package var name: Name
  @usableFromInline package var type: Name
  /// Bytes of a JSON object, never parsed by the relay; nil in a tombstone.
  @usableFromInline package var fields: [UInt8]?
  /// The saving device's stamp: relay time, milliseconds since the Unix epoch.
  @usableFromInline package var modifiedAt: Int64
  @usableFromInline package var device: DeviceID
  @usableFromInline package var tag: ChangeTag
  /// Chunks of files that belong to the record, each once, in the order in which it names them;
  /// none in a tombstone. The relay keeps them as long as a record names them.
  @usableFromInline package var chunks: [ChunkHash]
  /// Versions that this one was made on, some of which the relay has lost (`Mutation.includes`).
  @usableFromInline package var includes: [VersionFingerprint]

  /// True for a tombstone: the record of this name was deleted.
  @usableFromInline package var isDeleted: Bool { fields == nil }

  @usableFromInline
  package init(
    zone: Name, name: Name, type: Name, fields: [UInt8]?, modifiedAt: Int64, device: DeviceID,
    tag: ChangeTag, chunks: [ChunkHash] = [], includes: [VersionFingerprint] = []
  ) {
    self.zone = zone
    self.name = name
    self.type = type
    self.fields = fields
    self.modifiedAt = modifiedAt
    self.device = device
    self.tag = tag
    self.chunks = chunks
    self.includes = includes
  }
}

/// A record's name within an account.
@usableFromInline
package struct RecordKey: Hashable, Comparable, Sendable {
  @usableFromInline package var zone: Name
  @usableFromInline package var name: Name

  @usableFromInline
  package init(zone: Name, name: Name) {
    self.zone = zone
    self.name = name
  }

  @usableFromInline
  package static func < (left: RecordKey, right: RecordKey) -> Bool {
    left.zone == right.zone ? left.name < right.name : left.zone < right.zone
  }
}

extension Record {
  /// The record without the lost versions that it includes: as devices keep it.
  package var plain: Record {
    var record = self
    record.includes = []
    return record
  }

  @usableFromInline package var key: RecordKey { RecordKey(zone: zone, name: name) }

  /// Fields as JSON; nil if the record is deleted, or if another program wrote something that is
  /// not JSON.
  package var value: JSONValue? { fields.flatMap { JSONValue(ifJSON: $0) } }
}

/// Hash of a record's version: its stamp, its type and its content. Recognises a version that a
/// device saves again after the relay has lost it, under another tag and by another device. Every
/// client computes it alike.
@usableFromInline
package struct VersionFingerprint: Hashable, Sendable {
  @usableFromInline package let rawValue: UInt64

  @usableFromInline package init(rawValue: UInt64) { self.rawValue = rawValue }

  @usableFromInline
  package init?(text: String) {
    guard let value = HexText.parse(text) else { return nil }
    rawValue = value
  }

  /// Two 32-bit FNV-1a hashes, of different first values, over the decimal stamp, a line feed, the
  /// type, a line feed, and the canonical JSON of the fields without `"~"`, which a device may add
  /// to another program's version; nothing for a tombstone.
  @usableFromInline
  package init(of record: Record) {
    var first: UInt32 = 0x811C_9DC5
    var second: UInt32 = 0x050C_5D1F
    func add(_ byte: UInt8) {
      first = (first ^ UInt32(byte)) &* 0x0100_0193
      second = (second ^ UInt32(byte)) &* 0x0100_0193
    }
    for byte in "\(record.modifiedAt)\n\(record.type.text)\n".utf8 { add(byte) }
    if let fields = record.fields {
      let value = JSONValue(ifJSON: fields).map { Stamps.removed(from: $0) }
      for byte in value?.serialized() ?? fields { add(byte) }
    }
    rawValue = UInt64(first) << 32 | UInt64(second)
  }

  /// Sixteen lowercase hexadecimal digits.
  @usableFromInline package var text: String { HexText.text(rawValue) }
}

extension [VersionFingerprint] {
  /// Eight bytes each, most significant first: the form in which stores keep them.
  package var bytes: [UInt8] {
    reduce(into: []) { bytes, each in bytes.append(word: each.rawValue) }
  }

  /// Reads what `bytes` wrote. Ignores what remains of an incomplete one.
  package init(bytes: [UInt8]) {
    self = stride(from: 0, to: bytes.count - 7, by: 8).map { start in
      VersionFingerprint(
        rawValue: bytes[start..<start + 8].reduce(0) { ($0 << 8) | UInt64($1) })
    }
  }
}

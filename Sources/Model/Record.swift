/// Smallest unit that is saved, as the relay stores it and sends it.
public struct Record: Hashable, Sendable {
  public var zone: Name
  public var name: Name
  public var type: Name
  /// Bytes of a JSON object, never parsed by the relay; nil in a tombstone.
  public var fields: [UInt8]?
  /// The saving device's stamp: relay time, milliseconds since the Unix epoch.
  public var modifiedAt: Int64
  public var device: DeviceID
  public var tag: ChangeTag
  /// Chunks of files that belong to the record, each once, in the order in which it names them;
  /// none in a tombstone. The relay keeps them as long as a record names them.
  public var chunks: [ChunkHash]
  /// Versions that this one was made on, some of which the relay has lost (`Mutation.includes`).
  public var includes: [VersionFingerprint]

  /// True for a tombstone: the record of this name was deleted.
  public var isDeleted: Bool { fields == nil }

  public init(
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
public struct RecordKey: Hashable, Comparable, Sendable {
  public var zone: Name
  public var name: Name

  public init(zone: Name, name: Name) {
    self.zone = zone
    self.name = name
  }

  public static func < (left: RecordKey, right: RecordKey) -> Bool {
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

  public var key: RecordKey { RecordKey(zone: zone, name: name) }
}

import LockstepJSON
import LockstepModel

extension Record {
  /// Encodes the body of `GET /v1/zones/{zone}/records/{name}`.
  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: encodedBytes)
    writer.record(self)
    return writer.finish()
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> Record {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    let record = try reader.record()
    try reader.finish()
    return record
  }

  /// Approximate size as JSON, in bytes.
  var encodedBytes: Int {
    (fields?.count ?? 4) + zone.text.utf8.count + name.text.utf8.count + type.text.utf8.count + 160
      + chunks.count * 67 + includes.count * 19
  }
}

extension MessageReader {
  mutating func fingerprints(_ member: Member) throws(Refusal) -> [VersionFingerprint] {
    var read: [VersionFingerprint] = []
    try enterArray(member)
    while try nextElement() {
      guard read.count < Limits.includes, let next = try fingerprint() else {
        throw wrong(
          member, "an array of at most \(Limits.includes) strings of sixteen hexadecimal digits")
      }
      read.append(next)
    }
    return read
  }

  /// Reads fingerprints of the relay. Leaves out what this version of the program does not know: a
  /// record without them is still a record.
  mutating func knownFingerprints(_ member: Member) throws(Refusal) -> [VersionFingerprint] {
    var read: [VersionFingerprint] = []
    try enterArray(member)
    while try nextElement() {
      guard try isNext(.string) else {
        try skip()
        continue
      }
      if let next = try fingerprint(), read.count < Limits.includes { read.append(next) }
    }
    return read
  }

  /// Reads a record as the relay sends it.
  mutating func record() throws(Refusal) -> Record {
    var zone: Name?
    var name: Name?
    var type: Name?
    var fields: [UInt8]?
    var modifiedAt: Int64?
    var device: DeviceID?
    var tag: ChangeTag?
    var isDeleted = false
    var chunks: [ChunkHash] = []
    var includes: [VersionFingerprint] = []
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .zone: zone = try self.name(.zone)
      case .name: name = try self.name(.name)
      case .type: type = try self.name(.type)
      case .fields: fields = try skipNull() ? nil : try objectBytes(.fields)
      case .modifiedAt: modifiedAt = try instant(.modifiedAt)
      case .device: device = try deviceID(.device)
      case .tag: tag = try integer(.tag)
      case .deleted: isDeleted = try bool(.deleted)
      case .chunks: chunks = try chunkHashes(.chunks, atMost: Limits.chunksPerRecord)
      case .includes: includes = try knownFingerprints(.includes)
      default: try skip()
      }
    }
    guard isDeleted == (fields == nil) else {
      throw fault("must have `fields`, or `deleted` true with `fields` null.")
    }
    return Record(
      zone: try require(zone, .zone), name: try require(name, .name),
      type: try require(type, .type), fields: fields,
      modifiedAt: try require(modifiedAt, .modifiedAt), device: try require(device, .device),
      tag: try require(tag, .tag), chunks: chunks, includes: includes)
  }
}

extension JSONWriter {
  mutating func record(_ record: Record) {
    beginObject()
    member("zone")
    string(record.zone.text)
    member("name")
    string(record.name.text)
    member("type")
    string(record.type.text)
    member("fields")
    if let fields = record.fields { raw(fields) } else { null() }
    member("modifiedAt")
    integer(record.modifiedAt)
    member("device")
    plain { record.device.append(to: &$0) }
    member("tag")
    integer(record.tag)
    member("deleted")
    bool(record.isDeleted)
    chunkHashes(record.chunks)
    fingerprints(record.includes)
    endObject()
  }

  /// Writes the member `includes`; nothing if there are none.
  mutating func fingerprints(_ prints: [VersionFingerprint]) {
    if prints.isEmpty { return }
    member("includes")
    beginArray()
    for each in prints { string(each.text) }
    endArray()
  }
}

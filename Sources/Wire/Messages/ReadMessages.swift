import LockstepJSON
import LockstepModel

/// Answer to `GET /v1/zones`: `{"zones":[{"zone"}],"more"}`.
@usableFromInline
package struct ZoneList: Hashable, Sendable {
  /// In the order of their names' bytes.
  @usableFromInline package var zones: [Name]
  /// True if there are further zones after the last.
  @usableFromInline package var more: Bool

  @usableFromInline
  package init(_ zones: [Name], more: Bool) {
    self.zones = zones
    self.more = more
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32 + zones.reduce(0) { $0 + $1.text.utf8.count + 12 })
    writer.beginObject()
    writer.member("zones")
    writer.beginArray()
    for zone in zones {
      writer.beginObject()
      writer.member("zone")
      writer.string(zone.text)
      writer.endObject()
    }
    writer.endArray()
    writer.member("more")
    writer.bool(more)
    writer.endObject()
    return writer.finish()
  }
}

/// Answer to `GET /v1/time`.
@usableFromInline
package struct TimeAnswer: Hashable, Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  @usableFromInline package var time: Int64

  @usableFromInline package init(time: Int64) { self.time = time }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32)
    writer.beginObject()
    writer.member("time")
    writer.integer(time)
    writer.endObject()
    return writer.finish()
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> TimeAnswer {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var time: Int64?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      if member == .time { time = try reader.instant(.time) } else { try reader.skip() }
    }
    try reader.finish()
    return TimeAnswer(time: try reader.require(time, .time))
  }
}

extension MessageReader {
  /// Reads an array of hashes. Each is returned once, in the order of its first occurrence.
  mutating func chunkHashes(
    _ member: Member, atMost limit: Int
  ) throws(Refusal) -> [ChunkHash] {
    var hashes: [ChunkHash] = []
    var seen = Set<ChunkHash>()
    try enterArray(member)
    while try nextElement() {
      guard let hash = try chunkHash() else {
        throw wrong(member, "an array of SHA-256 hashes, each 64 hexadecimal digits as a string")
      }
      // Most records name few chunks.
      if hashes.count < 8 {
        if hashes.contains(hash) { continue }
      } else {
        if seen.isEmpty { seen.formUnion(hashes) }
        guard seen.insert(hash).inserted else { continue }
      }
      guard hashes.count < limit else { throw wrong(member, "an array of at most \(limit) hashes") }
      hashes.append(hash)
    }
    return hashes
  }
}

extension JSONWriter {
  /// Writes the member `chunks`; nothing if there are none.
  mutating func chunkHashes(_ hashes: [ChunkHash]) {
    if hashes.isEmpty { return }
    member("chunks")
    beginArray()
    for hash in hashes { string(hash.text) }
    endArray()
  }
}

/// Body of `POST /v1/chunks/missing`: chunks of files that a device is about to name.
@usableFromInline
package struct MissingChunksRequest: Hashable, Sendable {
  /// Each once, at most `Limits.chunkHashes`.
  @usableFromInline package var hashes: [ChunkHash]

  @usableFromInline package init(hashes: [ChunkHash]) { self.hashes = hashes }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> MissingChunksRequest {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    var hashes: [ChunkHash]?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .hashes: hashes = try reader.chunkHashes(.hashes, atMost: Limits.chunkHashes)
      default: try reader.skip()
      }
    }
    try reader.finish()
    return MissingChunksRequest(hashes: try reader.require(hashes, .hashes))
  }

  @usableFromInline package func encodedBody() -> [UInt8] { encodedHashes("hashes", hashes) }
}

/// Answer to it: those of the chunks that the relay lacks, in the order of the request.
@usableFromInline
package struct MissingChunks: Hashable, Sendable {
  @usableFromInline package var missing: [ChunkHash]

  @usableFromInline package init(missing: [ChunkHash]) { self.missing = missing }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> MissingChunks {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var missing: [ChunkHash]?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .missing: missing = try reader.chunkHashes(.missing, atMost: Limits.chunkHashes)
      default: try reader.skip()
      }
    }
    try reader.finish()
    return MissingChunks(missing: try reader.require(missing, .missing))
  }

  @usableFromInline package func encodedBody() -> [UInt8] { encodedHashes("missing", missing) }
}

private func encodedHashes(_ name: StaticString, _ hashes: [ChunkHash]) -> [UInt8] {
  var writer = JSONWriter(capacity: 24 + 68 * hashes.count)
  writer.beginObject()
  writer.member(name)
  writer.beginArray()
  for hash in hashes { writer.string(hash.text) }
  writer.endArray()
  writer.endObject()
  return writer.finish()
}

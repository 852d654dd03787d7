public import LockstepModel

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
public struct ChunkQuestion: Hashable, Sendable {
  /// Each once, at most `Limits.chunkHashes`.
  public var hashes: [ChunkHash]

  public init(hashes: [ChunkHash]) { self.hashes = hashes }

  public static func decoded(body: [UInt8]) throws(Refusal) -> ChunkQuestion {
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
    return ChunkQuestion(hashes: try reader.require(hashes, .hashes))
  }

  public func encodedBody() -> [UInt8] { encodedHashes("hashes", hashes) }
}

/// Answer to it: those of the chunks that the relay lacks, in the order asked.
public struct MissingChunks: Hashable, Sendable {
  public var missing: [ChunkHash]

  public init(missing: [ChunkHash]) { self.missing = missing }

  public static func decoded(body: [UInt8]) throws(Refusal) -> MissingChunks {
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

  public func encodedBody() -> [UInt8] { encodedHashes("missing", missing) }
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

import LockstepModel

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

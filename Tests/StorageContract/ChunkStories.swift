import LockstepModel
import LockstepStorage
import Testing

/// Contract of a device's store for the chunks of files in its home.
enum ChunkStories {
  static let all = [
    ReplicaStory("a chunk is found by its hash, the last one put wins") { scene in
      let first = chunk(1, file: 7)
      try scene.write(.putChunk(first), .putChunk(chunk(2, file: .max, idleSince: 0)))
      try scene.reopen()
      let asked = [hash(2), hash(3), hash(1)]
      #expect(
        try scene.store.chunks(asked) == [chunk(2, file: .max, idleSince: 0), first])
      try scene.write(.putChunk(chunk(1, file: 9, idleSince: -5)))
      #expect(try scene.store.chunks([hash(1)]) == [chunk(1, file: 9, idleSince: -5)])
      try scene.write(.removeChunk(hash(1)), .removeChunk(hash(3)))
      try scene.reopen()
      #expect(try scene.store.chunks(asked).map(\.hash) == [hash(2)])
    },
    ReplicaStory("chunks are listed by hash, in portions") { scene in
      try scene.store.write([0, 255, 1, 2].map { .putChunk(chunk($0, file: UInt64($0))) })
      try scene.reopen()
      func told(after: ChunkHash?, _ limit: Int) throws -> [ChunkHash] {
        try scene.store.chunks(after: after, limit: limit).map(\.hash)
      }
      #expect(try told(after: nil, 9) == [hash(0), hash(1), hash(2), hash(255)])
      #expect(try told(after: nil, 2) == [hash(0), hash(1)])
      #expect(try told(after: hash(1), 9) == [hash(2), hash(255)])
      #expect(try told(after: hash(3), 9) == [hash(255)])
      #expect(try told(after: hash(255), 9) == [])
    },
    ReplicaStory("files that hold a chunk are distinguished from others") { scene in
      try scene.write(.putChunk(chunk(1, file: 7)), .putChunk(chunk(2, file: .max)))
      try scene.reopen()
      #expect(try scene.store.chunkFiles([.max, 8, 7]) == [.max, 7])
      try scene.write(.putChunk(chunk(1, file: 8)), .removeChunk(hash(2)))
      #expect(try scene.store.chunkFiles([.max, 8, 7]) == [8])
    },
    ReplicaStory("a chunk is named for as long as a held record names it") { scene in
      func named() throws -> [ChunkHash] {
        try scene.store.namedChunks([hash(3), hash(2), hash(1)])
      }
      #expect(try named().isEmpty)
      var a = scene.record("a")
      a.chunks = [hash(1), hash(2), hash(1)]
      var b = scene.record("b")
      b.chunks = [hash(2)]
      try scene.write(.putRecord(a), .putRecord(b))
      try scene.reopen()
      #expect(try named() == [hash(2), hash(1)])
      a.chunks = [hash(3)]
      try scene.write(.putRecord(a))
      #expect(try named() == [hash(3), hash(2)])
      try scene.write(.removeRecord(b.key), .removeRecord(b.key))
      #expect(try named() == [hash(3)])
      try scene.write(.putRecord(scene.record("a", nil)), .putRecord(b))
      try scene.reopen()
      #expect(try named() == [hash(2)])
      try scene.write(.removeRecords([b.key]), .putEntry(scene.entry(1, base: b)))
      #expect(try named().isEmpty)
    },
  ]

  private static func hash(_ byte: UInt8) -> ChunkHash {
    guard let hash = ChunkHash(bytes: [UInt8](repeating: byte, count: 32)) else {
      preconditionFailure("32 bytes make a hash")
    }
    return hash
  }

  private static func chunk(
    _ byte: UInt8, file: UInt64, idleSince: Int64? = nil
  ) -> HeldChunk {
    HeldChunk(hash: hash(byte), file: file, bytes: 5, idleSince: idleSince)
  }
}

import LockstepModel
import LockstepStorage
import Testing

/// Uploads of a chunk of a file.
enum UploadStories {
  static let all = [
    ChunkStory(
      "a file does not exist until it is finished, and is complete from then on"
    ) { scene in
      let (file, bytes) = (ChunkScene.file(1), ChunkScene.bytes(300_000))
      for start in stride(from: 0, to: bytes.count, by: 70_001) {
        let end = min(start + 70_001, bytes.count)
        #expect(try scene.append(file, Array(bytes[start..<end])) == .done)
        #expect(try scene.read(file) == nil)
      }
      #expect(try scene.finish(file, bytes) == .done)
      #expect(try scene.read(file) == bytes)
      try scene.reopen()
      #expect(try scene.read(file) == bytes)
    },
    ChunkStory("any part of a file is read, and no more than there is") { scene in
      let (file, bytes) = (ChunkScene.file(1), ChunkScene.bytes(1_000))
      try scene.put(file, bytes)
      #expect(try scene.read(file, from: 0, count: 1) == [bytes[0]])
      #expect(try scene.read(file, from: 17, count: 600) == Array(bytes[17..<617]))
      #expect(try scene.read(file, from: 990, count: 11) == Array(bytes[990...]))
      #expect(try scene.read(file, from: 1_000, count: 1) == [])
      #expect(try scene.read(file, from: 5_000, count: 1) == [])
      #expect(try scene.read(file, from: 3, count: 0) == [])
    },
    ChunkStory("bytes that do not match the hash are removed") { scene in
      let file = ChunkScene.file(1)
      #expect(try scene.append(file, [1, 2, 3]) == .done)
      #expect(scene.code(try scene.finish(file, [1, 2, 4])) == .hashMismatch)
      #expect(try scene.read(file) == nil)
      #expect(scene.code(try scene.finish(file, [1, 2, 3])) == .notFound)
      try scene.put(file, [1, 2, 3])
      #expect(try scene.read(file) == [1, 2, 3])
    },
    ChunkStory("an empty chunk is a chunk") { scene in
      try scene.put(ChunkScene.file(1), [])
      #expect(try scene.read(ChunkScene.file(1)) == [])
      #expect(scene.code(try scene.finish(ChunkScene.file(2), [])) == .notFound)
    },
    ChunkStory("a chunk of the greatest size is taken, and one byte more is not") { scene in
      let bytes = ChunkScene.bytes(Limits.chunkBytes)
      let (fits, exceeds, other) = (ChunkScene.file(1), ChunkScene.file(2), ChunkScene.file(3))
      try scene.put(fits, bytes)
      #expect(try scene.read(fits) == bytes)
      #expect(try scene.append(exceeds, bytes) == .done)
      #expect(scene.code(try scene.append(exceeds, [0])) == .bodyTooLarge)
      #expect(scene.code(try scene.finish(exceeds, bytes)) == .notFound)
      #expect(scene.code(try scene.append(other, bytes + [0])) == .bodyTooLarge)
      #expect(scene.code(try scene.finish(other, bytes)) == .notFound)
    },
    ChunkStory("files grow beside one another, also of the same bytes") { scene in
      let files = [ChunkScene.ada, ChunkScene.bob].flatMap { account in
        (1...10 as ClosedRange<UInt64>).map { ChunkScene.file($0, of: account) }
      }
      for round in [0, 1, 2] as [UInt8] {
        for file in files { #expect(try scene.append(file, [round]) == .done) }
      }
      for file in files.reversed() { #expect(try scene.finish(file, [0, 1, 2]) == .done) }
      let found = try files.map { try scene.read($0) }
      #expect(found.allSatisfy { $0 == [0, 1, 2] })
    },
    ChunkStory("a complete file is not begun again") { scene in
      try scene.put(ChunkScene.file(1), [1])
      #expect(scene.code(try scene.append(ChunkScene.file(1), [2])) == .internalError)
      #expect(try scene.read(ChunkScene.file(1)) == [1])
    },
    ChunkStory("only so many files are written at once") { scene in
      let files = (1...UInt64(Limits.uploads)).map { (number: UInt64) in ChunkScene.file(number) }
      for file in files { #expect(try scene.append(file, [7]) == .done) }
      let late = ChunkScene.file(UInt64(Limits.uploads) + 1)
      let refused = try scene.append(late, [7])
      #expect(scene.code(refused) == .overloaded)
      #expect(try scene.append(files[5], [8]) == .done)
      #expect(try scene.finish(files[0], [7]) == .done)
      #expect(try scene.append(late, [7]) == .done)
      #expect(try scene.store.perform(.remove(files)) == .done)
      #expect(try scene.finish(late, [7]) == .done)
    },
  ]
}

import LockstepModel
import LockstepStorage
import Testing

/// Retention, removal and listing of chunk files, also after a crash.
enum KeepingStories {
  static let all = [
    ChunkStory("unfinished files are removed when the store is opened again") { scene in
      try scene.put(ChunkScene.file(1), [1])
      #expect(try scene.append(ChunkScene.file(2), [2]) == .done)
      try scene.reopen()
      #expect(scene.code(try scene.finish(ChunkScene.file(2), [2])) == .notFound)
      #expect(try scene.list() == [ChunkScene.file(1)])
      try scene.put(ChunkScene.file(2), [2, 3])
      #expect(try scene.read(ChunkScene.file(2)) == [2, 3])
    },
    ChunkStory("files are removed, complete and unfinished, and others stay") { scene in
      try scene.put(ChunkScene.file(1), [1])
      try scene.put(ChunkScene.file(2), [1])
      try scene.put(ChunkScene.file(1, of: ChunkScene.bob), [1])
      #expect(try scene.append(ChunkScene.file(3), [3]) == .done)
      let gone = ([1, 3, 99] as [UInt64]).map { ChunkScene.file($0) }
      for _ in 0..<2 { #expect(try scene.store.perform(.remove(gone)) == .done) }
      #expect(try scene.read(ChunkScene.file(1)) == nil)
      #expect(scene.code(try scene.finish(ChunkScene.file(3), [3])) == .notFound)
      #expect(try scene.read(ChunkScene.file(2)) == [1])
      #expect(try scene.read(ChunkScene.file(1, of: ChunkScene.bob)) == [1])
      try scene.reopen()
      #expect(try scene.list() == [ChunkScene.file(2), ChunkScene.file(1, of: ChunkScene.bob)])
    },
    ChunkStory("all files of an account are removed, and none of another") { scene in
      for number in 1...5 as ClosedRange<UInt64> {
        try scene.put(ChunkScene.file(number), [1])
        try scene.put(ChunkScene.file(number, of: ChunkScene.bob), [1])
        #expect(try scene.append(ChunkScene.file(10 + number), [1]) == .done)
        #expect(try scene.append(ChunkScene.file(10 + number, of: ChunkScene.bob), [1]) == .done)
      }
      for _ in 0..<2 { #expect(try scene.store.perform(.removeAll(of: ChunkScene.ada)) == .done) }
      #expect(try scene.read(ChunkScene.file(1)) == nil)
      #expect(scene.code(try scene.finish(ChunkScene.file(11), [1])) == .notFound)
      #expect(try scene.finish(ChunkScene.file(11, of: ChunkScene.bob), [1]) == .done)
      try scene.reopen()
      let numbers: [UInt64] = [1, 2, 3, 4, 5, 11]
      #expect(try scene.list() == numbers.map { ChunkScene.file($0, of: ChunkScene.bob) })
      // The account may add files again.
      try scene.put(ChunkScene.file(1), [9])
      #expect(try scene.read(ChunkScene.file(1)) == [9])
    },
    ChunkStory("files complete at opening are listed page by page, in order, and no newer ones") {
      scene in
      let numbers: [UInt64] = [3, 1, .max, 1 << 63, 0]
      let files = numbers.flatMap {
        [ChunkScene.file($0, of: ChunkScene.bob), ChunkScene.file($0)]
      }
      for file in files { try scene.put(file, [1]) }
      #expect(try scene.list() == [])
      try scene.reopen()
      try scene.put(ChunkScene.file(2), [2])
      #expect(try scene.append(ChunkScene.file(4), [2]) == .done)
      var found: [ChunkFile] = []
      while true {
        let page = try scene.list(after: found.last, limit: 3)
        #expect(page.count <= 3)
        if page.isEmpty { break }
        found += page
        try scene.put(ChunkScene.file(100 + UInt64(found.count)), [3])
      }
      #expect(found == files.sorted())
      try scene.reopen()
      #expect(try scene.list(limit: 100).count == files.count + 5)
    },
  ]
}

import LockstepModel
import LockstepStorage
import Testing

/// Restores of an older copy of the store.
enum RestoreStories {
  private static func refusal(
    _ scene: ZoneScene, since: ChangeToken, zone: Name? = nil
  ) throws -> Refusal? {
    let read = ReadRequest.changes(
      scene.account, since: since, zones: ZoneSelection(zone), limit: 10)
    guard case .refused(let refusal) = try scene.store.read(read) else { return nil }
    return refusal
  }

  /// Returns the tag up to which the relay has everything, from the refusal of a token; nil if the
  /// token is accepted.
  private static func lostAfter(_ scene: ZoneScene, since: ChangeToken) throws -> ChangeTag? {
    guard let refusal = try refusal(scene, since: since) else { return nil }
    #expect(refusal.code == .storeRestored)
    return refusal.restoredThrough
  }

  private static func newest(_ scene: ZoneScene, of id: AccountID? = nil) throws -> ChangeToken {
    guard case .token(let token) = try scene.store.read(.newestToken(id ?? scene.account)) else {
      throw Unexpected(what: "no token")
    }
    return token
  }

  private static func save(_ names: String..., in scene: ZoneScene) throws {
    for name in names { try scene.save(ZoneScene.put(name, over: nil)) }
  }

  static let all = tokens + contents

  private static let tokens = [
    ZoneStory("a token is valid up to the backup, and the loss beyond it is reported") { scene in
      try scene.makeAccount()
      try save("a", "b", in: scene)
      let putBack = try scene.backUp()
      try save("c", "d", in: scene)
      try scene.restore(putBack)
      #expect(try scene.page().names == ["a", "b"])
      #expect(try lostAfter(scene, since: ZoneScene.token(3)) == 2)
      #expect(try lostAfter(scene, since: ZoneScene.token(4)) == 2)
      #expect(try scene.page(since: ZoneScene.token(1)).names == ["b"])
      let page = try scene.page(since: ZoneScene.token(2))
      #expect(page.changes.isEmpty)
      #expect(try page.token == newest(scene))
      #expect(page.token.generation != ZoneScene.generation)
      try scene.reopen()
      #expect(try newest(scene) == page.token)
      #expect(try lostAfter(scene, since: ZoneScene.token(3)) == 2)
    },
    ZoneStory("after a restore no tag is given twice") { scene in
      try scene.makeAccount()
      try save("a", in: scene)
      let putBack = try scene.backUp()
      try save("b", "c", in: scene)
      try scene.restore(putBack)
      try save("d", in: scene)
      let tag = try #require(try scene.current("d")?.tag)
      #expect(tag > 3 && tag < Limits.sequenceLimit)
      let raised = try newest(scene)
      #expect(raised.sequence == tag)
      #expect(try scene.page(since: ZoneScene.token(1)).names == ["d"])
      // Still reported after more saves, when the account's tags are greater than the token's.
      #expect(try lostAfter(scene, since: ZoneScene.token(2)) == 1)
    },
    ZoneStory("after two restores in a row each token's valid part is reported") { scene in
      try scene.makeAccount()
      try save("a", in: scene)
      let first = try scene.backUp()
      try save("b", "c", in: scene)
      try scene.restore(first)
      try save("d", in: scene)
      let second = try scene.backUp()
      let between = try newest(scene)
      try save("e", in: scene)
      let lost = try newest(scene)
      try scene.restore(second)
      #expect(try scene.page(since: ZoneScene.token(1)).names == ["d"])
      #expect(try lostAfter(scene, since: ZoneScene.token(2)) == 1)
      #expect(try scene.page(since: between).changes.isEmpty)
      #expect(try lostAfter(scene, since: lost) == between.sequence)
      try save("f", in: scene)
      #expect(try scene.page(since: between).names == ["f"])
      #expect(
        Set([ZoneScene.generation, lost.generation, try newest(scene).generation]).count == 3)
    },
    ZoneStory("after a restore to a still older copy nothing of the time between is known") {
      scene in
      try scene.makeAccount()
      try save("a", in: scene)
      let older = try scene.backUp()
      try save("b", in: scene)
      let newer = try scene.backUp()
      try save("c", in: scene)
      try scene.restore(newer)
      try save("d", in: scene)
      let between = try newest(scene)
      try scene.restore(older)
      #expect(try lostAfter(scene, since: ZoneScene.token(2)) == 1)
      #expect(try lostAfter(scene, since: ZoneScene.token(3)) == 1)
      #expect(try scene.page(since: ZoneScene.token(1)).changes.isEmpty)
      let foreign = ChangeToken(generation: 1, sequence: 0)
      #expect(try refusal(scene, since: between)?.code == .badChangeToken)
      #expect(try refusal(scene, since: between) == refusal(scene, since: foreign))
      // A second restore of the same copy begins another generation, and the previous one is
      // unknown.
      let again = try newest(scene)
      try scene.restore(older)
      #expect(try newest(scene).generation != again.generation)
      #expect(try refusal(scene, since: again)?.code == .badChangeToken)
    },
    ZoneStory("each account has a generation of its own after a restore") { scene in
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount()
      try scene.makeAccount(other)
      try scene.restore(try scene.backUp())
      let (mine, theirs) = (try newest(scene), try newest(scene, of: other))
      #expect(mine.generation != theirs.generation)
      #expect(try refusal(scene, since: theirs)?.code == .badChangeToken)
    },
    ZoneStory("a token from the middle of a read is good only if all it has seen is there") {
      scene in
      try scene.makeAccount()
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.put(name)) }
      let whole = try scene.page(since: ZoneScene.token(0), limit: 1).token
      let snapshot = try scene.page(limit: 1).token
      let putBack = try scene.backUp()
      // "a" gets a tag beyond both reads, and the restore sets it back to one that they have
      // passed.
      try scene.save(ZoneScene.put("a", #"{"n":2}"#, over: nil))
      let passed = try scene.page(since: ZoneScene.token(0), limit: 1)
      let passedSnapshot = try scene.page(limit: 1)
      #expect(passed.names == ["b"] && passedSnapshot.names == ["b"])
      // The same for a snapshot that began before: "c" gets a tag beyond the snapshot's end.
      try scene.save(ZoneScene.put("c", over: nil))
      let ended = try scene.page(since: snapshot)
      #expect(ended.names == ["b"] && !ended.more)
      try scene.restore(putBack)
      #expect(try scene.page(since: whole).names == ["b", "c"])
      #expect(try scene.page(since: snapshot).names == ["b", "c"])
      #expect(try lostAfter(scene, since: passed.token) == 3)
      #expect(try lostAfter(scene, since: passedSnapshot.token) == 3)
      #expect(try lostAfter(scene, since: ended.token) == 3)
    },
    ZoneStory("a token that is also too old reports the restore") { scene in
      try scene.makeAccount()
      try save("a", in: scene)
      try scene.save(ZoneScene.delete("a", over: nil))
      scene.wall += Limits.historyMilliseconds + 1
      try save("b", in: scene)
      // A store may forget only now that it is read.
      #expect(try scene.page().names == ["b"])
      try scene.restore(try scene.backUp())
      #expect(try lostAfter(scene, since: ZoneScene.token(1)) == 3)
      #expect(try scene.page(since: ZoneScene.token(2)).names == ["b"])
      let own = ChangeToken(generation: try newest(scene).generation, sequence: 1)
      #expect(try refusal(scene, since: own)?.code == .tokenExpired)
    },
    ZoneStory("a token that is ahead without a restore reveals a loss") {
      scene in
      try scene.makeAccount()
      try save("a", in: scene)
      #expect(try lostAfter(scene, since: ZoneScene.token(2)) == 0)
      #expect(try lostAfter(scene, since: ZoneScene.token(1, horizon: 2)) == 0)
    },
  ]

  private static let contents = [
    ZoneStory("batches are recognised as far as the backup has them") { scene in
      try scene.makeAccount()
      let known = scene.batch([ZoneScene.put("a", over: nil)])
      let lost = scene.batch([ZoneScene.put("b", over: nil)])
      try scene.save(known)
      let putBack = try scene.backUp()
      try scene.save(lost)
      try scene.save(ZoneScene.delete("a", over: nil))
      try scene.restore(putBack)
      #expect(try scene.current("a")?.tag == 1)
      #expect(try scene.save(known).tags == [1])
      #expect(try scene.save(lost).changed.map(\.name.text) == ["b"])
    },
    ZoneStory("after a restore the chunks are requested once more, and keep their uses") { scene in
      let hash = try #require(ChunkHash(bytes: ZoneScene.hash(1)))
      let file = ChunkFile(account: scene.account, number: 5)
      try scene.makeAccount()
      try scene.commit(.addChunk(scene.account, hash, file, bytes: 10))
      var naming = ZoneScene.put("a", over: nil)
      naming.chunks = [hash]
      try scene.save(naming)
      try scene.restore(try scene.backUp())
      // The file may have been removed since the copy was made.
      #expect(
        try scene.store.read(.chunk(scene.account, hash))
          == .chunk(StoredChunk(file: file, bytes: 10)))
      #expect(
        try scene.commit(.renewChunks(scene.account, [hash])) == .renewed(bytes: [nil]))
      #expect(try scene.save(naming).codes.isEmpty)
      let fresh = ChunkFile(account: scene.account, number: 6)
      #expect(
        try scene.commit(.addChunk(scene.account, hash, fresh, bytes: 10))
          == .chunkReplaced(file, wasLacking: true))
      try scene.reopen()
      #expect(
        try scene.store.read(.fileUses([file, fresh])) == .fileUses([.none, .verified]))
      #expect(
        try scene.commit(.renewChunks(scene.account, [hash])) == .renewed(bytes: [10]))
      #expect(
        try scene.commit(.addChunk(scene.account, hash, file, bytes: 10))
          == .chunkReplaced(fresh, wasLacking: false))
      guard case .account(let summary) = try scene.store.read(.account(scene.account)) else {
        throw Unexpected(what: "no summary")
      }
      #expect(summary.chunkBytes == 10)
    },
    ZoneStory("after a restore a chunk is there again as soon as its file was seen") { scene in
      let hash = try #require(ChunkHash(bytes: ZoneScene.hash(1)))
      let file = ChunkFile(account: scene.account, number: 5)
      let stray = ChunkFile(account: scene.account, number: 6)
      try scene.makeAccount()
      try scene.commit(.addChunk(scene.account, hash, file, bytes: 10))
      try scene.restore(try scene.backUp())
      #expect(
        try scene.store.read(.fileUses([stray, file])) == .fileUses([.none, .unverified]))
      #expect(try scene.commit(.confirmChunks([stray, file])) == .done)
      #expect(try scene.store.read(.fileUses([stray, file])) == .fileUses([.none, .verified]))
      #expect(
        try scene.commit(.renewChunks(scene.account, [hash])) == .renewed(bytes: [10]))
      #expect(
        try scene.commit(.addChunk(scene.account, hash, stray, bytes: 10))
          == .chunkReplaced(file, wasLacking: false))
    },
  ]
}

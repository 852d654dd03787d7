import LockstepModel
import LockstepStorage
import Testing

/// Chunks of files that an account has, and their leases.
enum ChunkUseStories {
  private static let lease = Limits.chunkLeaseMilliseconds

  private static func hash(_ seed: UInt8) -> ChunkHash {
    ChunkHash(bytes: ZoneScene.hash(seed)) ?? { preconditionFailure("a hash has 32 bytes") }()
  }

  private static func file(_ number: UInt64, of account: AccountID) -> ChunkFile {
    ChunkFile(account: account, number: number)
  }

  @discardableResult private static func add(
    _ seed: UInt8, bytes: Int = 10, file number: UInt64? = nil, to id: AccountID? = nil,
    in scene: ZoneScene
  ) throws -> CommitResult {
    let id = id ?? scene.account
    return try scene.commit(
      .addChunk(id, hash(seed), file(number ?? UInt64(seed), of: id), bytes: bytes))
  }

  private static func has(_ seed: UInt8, _ scene: ZoneScene) throws -> Bool {
    if case .chunk = try scene.store.read(.chunk(scene.account, hash(seed))) { return true }
    return false
  }

  private static func put(
    _ name: String, _ chunks: [UInt8], over baseTag: ChangeTag? = nil
  ) -> Mutation {
    var mutation = ZoneScene.put(name, over: baseTag)
    mutation.chunks = chunks.map(hash)
    return mutation
  }

  private static func collect(_ scene: ZoneScene, atMost count: Int = 100) throws -> [UInt64] {
    guard case .collected(let files) = try scene.commit(.collectChunks(atMost: count)) else {
      throw Unexpected(what: "nothing was collected")
    }
    return files.map(\.number)
  }

  private static func bytes(_ scene: ZoneScene) throws -> Int64 {
    guard case .account(let summary) = try scene.store.read(.account(scene.account)) else {
      throw Unexpected(what: "no summary")
    }
    return summary.chunkBytes
  }

  static let all = having + naming + collecting

  private static let having = [
    ZoneStory("an account has the chunks that were added to it, and no other account has") {
      scene in
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount()
      try scene.makeAccount(other)
      #expect(try add(1, bytes: 7, file: .max, in: scene) == .chunkAdded)
      try scene.reopen()
      let stored = StoredChunk(file: file(.max, of: scene.account), bytes: 7)
      #expect(try scene.store.read(.chunk(scene.account, hash(1))) == .chunk(stored))
      #expect(try scene.refusal(.chunk(other, hash(1))) == .notFound)
      #expect(try scene.refusal(.chunk(scene.account, hash(2))) == .notFound)
      let files = [
        file(.max, of: other), stored.file, file(1, of: scene.account),
        file(.max, of: AccountID(rawValue: 404)),
      ]
      #expect(
        try scene.store.read(.fileUses(files)) == .fileUses([.none, .verified, .none, .none]))
      #expect(try bytes(scene) == 7)
    },
    ZoneStory("a chunk that is there already is in the file that came last") { scene in
      try scene.makeAccount()
      try add(1, file: 5, in: scene)
      let old = file(5, of: scene.account)
      #expect(try add(1, file: 6, in: scene) == .chunkReplaced(old, wasLacking: false))
      try scene.reopen()
      let stored = StoredChunk(file: file(6, of: scene.account), bytes: 10)
      #expect(try scene.store.read(.chunk(scene.account, hash(1))) == .chunk(stored))
      #expect(
        try scene.store.read(.fileUses([old, stored.file])) == .fileUses([.none, .verified]))
      #expect(try bytes(scene) == 10)
    },
    ZoneStory("a chunk whose file cannot be read is missing until it is uploaded again") { scene in
      try scene.makeAccount()
      try add(1, file: 5, in: scene)
      try add(2, file: 6, in: scene)
      let (gone, new) = (file(5, of: scene.account), file(7, of: scene.account))
      #expect(try scene.commit(.markChunksMissing([gone, new])) == .done)
      for _ in 0...1 {
        #expect(
          try scene.commit(.renewChunks(scene.account, [hash(1), hash(2)]))
            == .renewed(bytes: [nil, 10]))
        // The store still has the chunk and counts its bytes.
        #expect(try bytes(scene) == 20)
        #expect(try scene.store.read(.fileUses([gone])) == .fileUses([.unverified]))
        try scene.reopen()
      }
      #expect(try add(1, file: 7, in: scene) == .chunkReplaced(gone, wasLacking: true))
      #expect(
        try scene.commit(.renewChunks(scene.account, [hash(1)])) == .renewed(bytes: [10]))
      #expect(try scene.store.read(.fileUses([gone, new])) == .fileUses([.none, .verified]))
      #expect(try bytes(scene) == 20)
    },
    ZoneStory("nothing is added to an account that does not exist") { scene in
      try scene.makeAccount()
      let nobody = AccountID(rawValue: 404)
      let add = CommitRequest.addChunk(nobody, hash(1), file(1, of: nobody), bytes: 1)
      #expect(try scene.refusal(add) == .notFound)
      #expect(try scene.refusal(.renewChunks(nobody, [hash(1)])) == .notFound)
      try scene.reopen()
      #expect(try scene.refusal(.chunk(nobody, hash(1))) == .notFound)
    },
    ZoneStory("chunks use no more space than an account has", rules: tight) { scene in
      try scene.makeAccount()
      #expect(try add(1, bytes: 60, in: scene) == .chunkAdded)
      #expect(try add(2, bytes: 40, in: scene) == .chunkAdded)
      guard case .refused(let refusal) = try add(3, bytes: 1, in: scene) else {
        throw Unexpected(what: "there was room")
      }
      #expect(refusal.code == .quotaExceeded)
      #expect(try !has(3, scene))
      // A chunk that is already there takes no more space.
      #expect(
        try add(1, bytes: 60, in: scene)
          == .chunkReplaced(file(1, of: scene.account), wasLacking: false))
      scene.wall += 1_000
      #expect(try collect(scene) == [1, 2])
      #expect(try bytes(scene) == 0)
      #expect(try add(3, bytes: 100, in: scene) == .chunkAdded)
    },
  ]

  /// Space for a hundred bytes, and a lease of a second.
  private static let tight: StoreRules = {
    var rules = StoreRules()
    rules.chunkBytesPerAccount = 100
    rules.chunkLeaseMilliseconds = 1_000
    return rules
  }()

  private static let naming = [
    ZoneStory("the chunks of a record are part of every answer with it") { scene in
      try scene.makeAccount()
      for seed in [1, 2] as [UInt8] { try add(seed, in: scene) }
      // The order is that of the record.
      let outcome = try scene.save(put("a", [2, 1]))
      try scene.reopen()
      #expect(outcome.changed.map(\.chunks) == [[hash(2), hash(1)]])
      #expect(try scene.current("a") == outcome.changed.first)
      #expect(try scene.page().changes == outcome.changed)
      #expect(try scene.page(since: ZoneScene.token(0)).changes == outcome.changed)
      #expect(try scene.save(put("a", [], over: 9)).conflicts == outcome.changed)
      let tombstone = try scene.save(ZoneScene.delete("a", over: nil))
      #expect(tombstone.changed.map(\.chunks) == [[]])
    },
    ZoneStory("a record that names a chunk which is not there is refused alone, and for good") {
      scene in
      try scene.makeAccount()
      try add(1, in: scene)
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount(other)
      try add(3, to: other, in: scene)
      let batch = scene.batch([put("a", [1]), put("b", [2, 1, 3]), put("c", [])])
      let outcome = try scene.save(batch)
      #expect(outcome.codes == [.chunksMissing])
      #expect(outcome.changed.map(\.name.text) == ["a", "c"])
      guard case .refused(_, let refusal) = outcome.answer.results[1] else {
        throw Unexpected(what: "\(outcome.answer.results)")
      }
      #expect(refusal.detail.hasPrefix("This record names chunks "))
      for seed in [2, 3] as [UInt8] { try add(seed, in: scene) }
      try scene.reopen()
      #expect(try scene.save(batch).codes == [.chunksMissing])
      #expect(try scene.save(put("b", [2, 1, 3])).tags == [3])
      // A conflict is reported as one, whatever chunks the record names.
      #expect(try scene.save(put("b", [9], over: 1)).conflicts.map(\.tag) == [3])
    },
    ZoneStory("a missing chunk aborts an atomic batch, which lets go of nothing") { scene in
      try scene.makeAccount()
      try add(1, in: scene)
      try scene.save(put("a", [1]))
      let outcome = try scene.save(put("a", []), put("b", [2]), atomic: true)
      #expect(outcome.codes == [.batchAborted, .chunksMissing])
      scene.wall += lease
      #expect(try collect(scene).isEmpty)
      #expect(try has(1, scene))
    },
    ZoneStory("a page counts the chunks that its records name") { scene in
      try scene.makeAccount()
      let seeds = (0..<200).map { UInt8($0) }
      for seed in seeds { try add(seed, in: scene) }
      let fields = "{\"v\":\"" + String(repeating: "x", count: Limits.recordBytes - 25_000) + "\"}"
      var large = put("a", seeds)
      large.fields = Array(fields.utf8)
      try scene.save(large)
      large.name = Name(trusted: "b")
      try scene.save(large)
      try scene.save(put("c", seeds), put("d", seeds), put("e", seeds))
      let page = try scene.page()
      #expect(page.names == ["a", "b", "c"])
      #expect(page.more)
    },
  ]

  private static let collecting = [
    ZoneStory("a chunk that no record names is kept for its lease, and then collected") {
      scene in
      try scene.makeAccount()
      try add(1, in: scene)
      scene.wall += lease - 1
      #expect(try collect(scene).isEmpty)
      scene.wall += 1
      try scene.reopen()
      #expect(try has(1, scene))
      #expect(try collect(scene) == [1])
      #expect(try !has(1, scene))
      #expect(try bytes(scene) == 0)
      let known = ReadRequest.fileUses([file(1, of: scene.account)])
      #expect(try scene.store.read(known) == .fileUses([.none]))
      #expect(try collect(scene).isEmpty)
    },
    ZoneStory("adding a chunk again or querying it renews its lease") { scene in
      try scene.makeAccount()
      for seed in [1, 2, 3] as [UInt8] { try add(seed, bytes: Int(seed), in: scene) }
      scene.wall += lease - 1
      try add(1, in: scene)
      #expect(
        try scene.commit(.renewChunks(scene.account, [hash(9), hash(2)]))
          == .renewed(bytes: [nil, 2]))
      scene.wall += 1
      #expect(try collect(scene) == [3])
      scene.wall += lease - 1
      #expect(try collect(scene) == [1, 2])
    },
    ZoneStory("a chunk stays while a record names it, and is leased from when none does") {
      scene in
      try scene.makeAccount()
      try add(1, in: scene)
      try scene.save(put("a", [1, 1]), put("b", [1]))
      scene.wall += 2 * lease
      #expect(try collect(scene).isEmpty)
      try scene.save(ZoneScene.delete("a", over: nil))
      scene.wall += 2 * lease
      #expect(try collect(scene).isEmpty)
      // A new version of a record releases the chunk, as a delete does.
      try scene.save(put("b", []))
      scene.wall += lease - 1
      #expect(try collect(scene).isEmpty)
      scene.wall += 1
      try scene.reopen()
      #expect(try collect(scene) == [1])
    },
    ZoneStory("a chunk that one record lets go and another takes survives") { scene in
      try scene.makeAccount()
      try add(1, in: scene)
      try scene.save(put("a", [1]))
      scene.wall += 2 * lease
      try scene.save(put("a", []), put("b", [1]))
      #expect(try collect(scene).isEmpty)
      try scene.save(put("c", [1]), ZoneScene.delete("b", over: nil))
      scene.wall += 2 * lease
      #expect(try collect(scene).isEmpty)
      // Also within one commit, with the collection after or between the saves.
      let results = try scene.store.commit(
        [
          .save(scene.batch([put("c", [])])), .collectChunks(atMost: 9),
          .save(scene.batch([put("d", [1])])), .collectChunks(atMost: 9),
        ], wall: scene.wall)
      #expect(results[1] == .collected([]))
      scene.wall += 2 * lease
      #expect(try collect(scene).isEmpty)
      #expect(try has(1, scene))
    },
    ZoneStory("chunks whose lease ended first are collected first, up to a limit") { scene in
      try scene.makeAccount()
      for seed in [3, 1, 2, 5, 4] as [UInt8] {
        try add(seed, in: scene)
        scene.wall += 1
      }
      scene.wall += lease
      #expect(try collect(scene, atMost: 0).isEmpty)
      #expect(try collect(scene, atMost: 2) == [3, 1])
      try add(2, in: scene)
      #expect(try collect(scene, atMost: 2) == [5, 4])
      #expect(try collect(scene, atMost: 2).isEmpty)
    },
    ZoneStory("a removed account's files are not known any more") { scene in
      try scene.makeAccount()
      try add(1, in: scene)
      try scene.save(put("a", [1]))
      try scene.commit(.removeAccount(scene.account))
      let known = ReadRequest.fileUses([file(1, of: scene.account)])
      #expect(try scene.store.read(known) == .fileUses([.none]))
      scene.wall += 2 * lease
      #expect(try collect(scene).isEmpty)
    },
  ]
}

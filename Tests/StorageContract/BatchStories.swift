import LockstepModel
import LockstepStorage
import Testing

/// Batches as a whole: all or nothing, and applied once.
enum BatchStories {
  private static func refused(_ name: String, _ code: RefusalCode) -> Mutation {
    var mutation = ZoneScene.put(name)
    mutation.refusal = Refusal(code, "Found before.", relayTime: 5)
    return mutation
  }

  static let all = [
    ZoneStory("one record's fault spares the others of its batch") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      let outcome = try scene.save(
        ZoneScene.put("a"), refused("b", .clockAhead), ZoneScene.put("c"))
      #expect(outcome.conflicts.map(\.name.text) == ["a"])
      #expect(outcome.codes == [.clockAhead])
      #expect(outcome.tags == [2])
      #expect(outcome.changed.map(\.name.text) == ["c"])
      #expect(outcome.answer.results.count == 3)
      #expect(
        outcome.answer.results[1]
          == .refused(
            name: Name(trusted: "b"),
            Refusal(.clockAhead, "Found before.", relayTime: 5)))
    },
    ZoneStory("a record keeps the lost versions that its change names, and so does the next") {
      scene in
      try scene.makeAccount()
      var named = ZoneScene.put("a")
      named.includes = [1, .max].map(VersionFingerprint.init(rawValue:))
      let tags = try scene.save(named, ZoneScene.put("b")).tags
      func included() throws -> [String: [VersionFingerprint]] {
        Dictionary(
          uniqueKeysWithValues: try scene.page().changes.map { ($0.name.text, $0.includes) })
      }
      #expect(try included() == ["a": named.includes, "b": []])
      let next = try scene.save(ZoneScene.put("a", over: tags[0]))
      #expect(next.changed.map(\.includes) == [named.includes])
      let stale = try scene.save(ZoneScene.put("a", over: tags[0]))
      #expect(stale.conflicts.map(\.includes) == [named.includes])
      try scene.save(ZoneScene.delete("a", over: next.tags[0]))
      #expect(try scene.page(since: ZoneScene.token(3)).changes.map(\.includes) == [named.includes])
      // A change that asks for it meets the deletion.
      var again = ZoneScene.put("a", over: 0)
      again.unlessDeleted = true
      #expect(try scene.save(again).conflicts.map(\.includes) == [named.includes])
      try scene.save(ZoneScene.put("a", over: 0))
      #expect(try included() == ["a": [], "b": []])
    },
    ZoneStory("an atomic batch with a conflict saves nothing") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      let outcome = try scene.save(
        ZoneScene.put("b"), ZoneScene.put("a"), ZoneScene.put("c"), atomic: true)
      #expect(outcome.codes == [.batchAborted, .batchAborted])
      #expect(outcome.conflicts.map(\.tag) == [1])
      #expect(outcome.changed.isEmpty)
      #expect(outcome.answer.token == ZoneScene.token(1))
      #expect(try scene.page().names == ["a"])
      #expect(try scene.save(ZoneScene.put("b")).tags == [2])
    },
    ZoneStory("an atomic batch without a fault saves all") { scene in
      try scene.makeAccount()
      let outcome = try scene.save(ZoneScene.put("a"), ZoneScene.put("b"), atomic: true)
      #expect(outcome.tags == [1, 2])
    },
    ZoneStory("an atomic batch keeps the code of the record that failed") { scene in
      try scene.makeAccount()
      let outcome = try scene.save(
        ZoneScene.put("a"), refused("b", .recordTooLarge), atomic: true)
      #expect(outcome.codes == [.batchAborted, .recordTooLarge])
    },
    ZoneStory(
      "conflicts that are too large together are returned in part, also to a retry"
    ) { scene in
      try scene.makeAccount()
      let fields = "{\"v\":\"" + String(repeating: "x", count: Limits.pageBytes / 3) + "\"}"
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.put(name, fields)) }
      try scene.save(ZoneScene.put("d"))
      let stale = scene.batch(["a", "b", "c", "d"].map { ZoneScene.put($0, over: 0) })
      for _ in 0..<2 {
        let outcome = try scene.save(stale)
        #expect(outcome.conflicts.map(\.name.text) == ["a", "b"])
        #expect(outcome.codes == [.conflictTooLarge, .conflictTooLarge])
        #expect(outcome.changed.isEmpty)
      }
    },
    ZoneStory("a batch without records changes nothing and is answered") { scene in
      try scene.makeAccount()
      let outcome = try scene.save(scene.batch([], atomic: true))
      #expect(outcome.answer.results.isEmpty)
      #expect(outcome.answer.token == ZoneScene.token(0))
    },
    ZoneStory("a retry changes nothing and gets the same tags") { scene in
      try scene.makeAccount()
      let batch = scene.batch([ZoneScene.put("a"), ZoneScene.put("b")])
      let first = try scene.save(batch)
      try scene.save(ZoneScene.put("c"), by: scene.tablet)
      try scene.reopen()
      let retry = try scene.save(batch)
      #expect(retry.answer.results == first.answer.results)
      #expect(retry.changed.isEmpty)
      #expect(retry.answer.since == ZoneScene.token(3))
      #expect(retry.answer.token == ZoneScene.token(3))
      #expect(try scene.page().names == ["a", "b", "c"])
    },
    ZoneStory("a retry in the same commit is recognised") { scene in
      try scene.makeAccount()
      let batch = scene.batch([ZoneScene.put("a")])
      let results = try scene.store.commit([.save(batch), .save(batch)], wall: scene.wall)
      guard case .saved(let first) = results[0], case .saved(let second) = results[1] else {
        throw Unexpected(what: "\(results)")
      }
      #expect(first.answer.results == second.answer.results)
      #expect(second.changed.isEmpty)
    },
    ZoneStory("a retry gets the same codes, and current conflicts") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a", #"{"n":1}"#))
      let batch = scene.batch([
        ZoneScene.put("a"), refused("b", .clockAhead), ZoneScene.put("c"),
        ZoneScene.put("never", over: 9),
      ])
      let first = try scene.save(batch)
      try scene.save(ZoneScene.put("a", #"{"n":2}"#, over: 1), by: scene.tablet)
      try scene.reopen()
      scene.wall += 1_000
      // The relay's time has passed the timestamp since: the retry still gets the original result.
      var later = batch
      later.request.mutations[1].refusal = nil
      let retry = try scene.save(later)
      #expect(retry.tags == first.tags)
      #expect(retry.codes == [.clockAhead])
      guard case .refused(_, let refusal) = retry.answer.results[1] else {
        throw Unexpected(what: "\(retry.answer.results[1])")
      }
      #expect(refusal.relayTime == scene.wall)
      #expect(retry.conflicts.map(\.tag) == [3, 0])
      #expect(retry.conflicts.first?.fields == Array(#"{"n":2}"#.utf8))
      #expect(retry.changed.isEmpty)
    },
    ZoneStory("a batch of which every record failed is remembered too") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      let batch = scene.batch([ZoneScene.put("a")], by: scene.tablet)
      #expect(try scene.save(batch).conflicts.map(\.tag) == [1])
      try scene.save(ZoneScene.delete("a", over: 1))
      // If the batch were not remembered, this save would succeed: a tombstone does not block it.
      let retry = try scene.save(batch)
      #expect(retry.tags.isEmpty)
      #expect(retry.conflicts.map(\.isDeleted) == [true])
    },
    ZoneStory("an aborted batch is aborted again") { scene in
      try scene.makeAccount()
      let batch = scene.batch([ZoneScene.put("a", over: 5), ZoneScene.put("b")], atomic: true)
      let first = try scene.save(batch)
      try scene.reopen()
      let retry = try scene.save(batch)
      #expect(first.codes == [.batchAborted])
      #expect(retry.codes == [.batchAborted])
      #expect(retry.conflicts == first.conflicts)
    },
    ZoneStory("a batch id with other content is refused") { scene in
      try scene.makeAccount()
      let id = BatchID(high: 1, low: 1)
      try scene.save(scene.batch([ZoneScene.put("a")], id: id, digest: 1))
      let other = scene.batch([ZoneScene.put("b")], id: id, digest: 2)
      #expect(try scene.refusal(.save(other)) == .batchMismatch)
      #expect(try scene.page().names == ["a"])
    },
    ZoneStory("batch ids of two devices do not meet") { scene in
      try scene.makeAccount()
      let id = BatchID(high: 1, low: 1)
      try scene.save(scene.batch([ZoneScene.put("a")], id: id, digest: 1))
      let other = scene.batch([ZoneScene.put("b")], by: scene.tablet, id: id, digest: 2)
      #expect(try scene.save(other).tags == [2])
    },
    ZoneStory("a batch is remembered for as long as history is kept, then forgotten") { scene in
      try scene.makeAccount()
      let batch = scene.batch([ZoneScene.put("a", over: nil)])
      try scene.save(batch)
      scene.wall += Limits.historyMilliseconds
      try scene.save(ZoneScene.put("b"))
      #expect(try scene.save(batch).tags == [1])
      scene.wall += 1
      try scene.save(ZoneScene.put("c"))
      try scene.reopen()
      #expect(try scene.save(batch).tags == [4])
    },
  ]
}

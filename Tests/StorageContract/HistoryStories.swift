import LockstepModel
import LockstepStorage
import Testing

/// Retention of deletions, and devices that were away for longer.
enum HistoryStories {
  private static let history = Limits.historyMilliseconds

  private static func refusal(
    _ scene: ZoneScene, since: ChangeToken, zone: Name? = nil
  ) throws -> RefusalCode? {
    try scene.refusal(.changes(scene.account, since: since, zones: ZoneSelection(zone), limit: 10))
  }

  /// Makes a commit that only does the maintenance of every commit.
  private static func tick(_ scene: ZoneScene) throws { try scene.commit(.touchDevices([])) }

  static let all = [
    ZoneStory("a tombstone is kept for the history, by the relay's clock, then dropped") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"))
      try scene.save(ZoneScene.delete("a", over: 1))
      scene.wall += history
      try tick(scene)
      #expect(try scene.page(since: ZoneScene.token(0)).names == ["b", "a"])
      scene.wall += 1
      try tick(scene)
      try scene.reopen()
      #expect(try scene.page().names == ["b"])
      #expect(try refusal(scene, since: ZoneScene.token(0)) == .tokenExpired)
      #expect(try refusal(scene, since: ZoneScene.token(2)) == .tokenExpired)
      #expect(try scene.page(since: ZoneScene.token(3)).changes.isEmpty)
    },
    ZoneStory(
      "an edit of a record whose tombstone was dropped conflicts with a tombstone of tag 0"
    ) { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"))
      try scene.save(ZoneScene.delete("a", over: nil), ZoneScene.delete("b", over: nil))
      scene.wall += history + 1
      try tick(scene)
      let late = try scene.save(ZoneScene.put("a", over: 1), ZoneScene.delete("b", over: 2))
      #expect(late.conflicts.map(\.tag) == [0, 0])
      #expect(late.conflicts.map(\.modifiedAt) == [0, 0])
      #expect(late.conflicts.map(\.isDeleted) == [true, true])
      let anew = try scene.save(ZoneScene.put("a", over: 0))
      #expect(anew.tags == [5])
      #expect(anew.events == [.create])
    },
    ZoneStory("a record deleted again or saved again is retained from then on") { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.delete(name, over: nil)) }
      scene.wall += 10
      try scene.save(ZoneScene.delete("a", over: nil), ZoneScene.put("b"))
      scene.wall += history - 9
      try tick(scene)
      #expect(try scene.page(since: ZoneScene.token(3)).names == ["a", "b"])
      scene.wall += 10
      try tick(scene)
      #expect(try scene.page(since: ZoneScene.token(4)).names == ["b"])
      scene.wall += 2 * history
      try tick(scene)
      #expect(try scene.current("b")?.tag == 5)
    },
    ZoneStory("a commit drops few, the oldest first, and the collection drops more") { scene in
      try scene.makeAccount()
      let names = (100..<400).map { "n\($0)" }
      try scene.save(scene.batch(names.map { ZoneScene.delete($0, over: nil) }))
      scene.wall += history + 1
      try tick(scene)
      let few = Limits.forgottenPerRequest
      #expect(try refusal(scene, since: ZoneScene.token(Int64(few) - 1)) == .tokenExpired)
      let rest = try scene.page(since: ZoneScene.token(Int64(few)))
      #expect(rest.names == Array(names.dropFirst(few)))
      #expect(try scene.commit(.collectChunks(atMost: 100)) == .collected([]))
      #expect(try scene.page(since: ZoneScene.token(Int64(few) + 100)).changes.count == 298 - 100)
      // A huge limit does not make the commit long.
      #expect(try scene.commit(.collectChunks(atMost: .max)) == .collected([]))
      #expect(try scene.page(since: ZoneScene.token(300)).changes.isEmpty)
      let left = 298 - 100 - Limits.collectedChunks
      #expect(left < 0)
      _ = try scene.store.commit(
        [.touchDevices([]), .collectChunks(atMost: -5)], wall: scene.wall)
    },
    ZoneStory("one account's deletions do not end another one's tokens") { scene in
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount()
      try scene.makeAccount(other)
      try scene.save(ZoneScene.delete("a", over: nil))
      try scene.save(scene.batch([ZoneScene.put("b")], of: other))
      scene.wall += history + 1
      try tick(scene)
      #expect(try refusal(scene, since: ZoneScene.token(0)) == .tokenExpired)
      #expect(try scene.page(since: ZoneScene.token(0), of: other).names == ["b"])
    },
    ZoneStory("a snapshot continues unless a tombstone made since its start was dropped") {
      scene in
      try scene.makeAccount()
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.put(name)) }
      try scene.save(ZoneScene.delete("c", over: 3))
      let before = try scene.page(limit: 1)
      #expect(before.token.pinned == 4)
      scene.wall += 10
      try scene.save(ZoneScene.delete("a", over: 1))
      scene.wall += history - 9
      try tick(scene)
      // The tombstone forgotten now is older than the snapshot, and not in it.
      #expect(try refusal(scene, since: ZoneScene.token(3)) == .tokenExpired)
      let rest = try scene.page(since: before.token)
      #expect(rest.names == ["b"])
      #expect(try scene.page(since: rest.token).names == ["a"])
      scene.wall += 10
      try tick(scene)
      try scene.reopen()
      // The device has read "a", and the store can no longer report that "a" is deleted.
      #expect(try refusal(scene, since: before.token) == .tokenExpired)
      #expect(try refusal(scene, since: rest.token) == .tokenExpired)
      #expect(try scene.page().names == ["b"])
    },
    ZoneStory("a store prunes after the configured time", rules: short) { scene in
      try scene.makeAccount()
      let batch = scene.batch([ZoneScene.delete("a", over: nil)])
      try scene.save(batch)
      scene.wall += short.historyMilliseconds
      try tick(scene)
      #expect(try scene.save(batch).changed.isEmpty)
      #expect(try refusal(scene, since: ZoneScene.token(0)) == nil)
      scene.wall += 1
      try tick(scene)
      #expect(try refusal(scene, since: ZoneScene.token(0)) == .tokenExpired)
      #expect(try scene.save(batch).tags == [2])
    },
  ]

  private static let short: StoreRules = {
    var rules = StoreRules()
    rules.historyMilliseconds = 1_000
    return rules
  }()
}

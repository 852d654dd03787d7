import LockstepModel
import LockstepStorage
import Testing

/// Changes that a device with a token gets.
enum ChangeStories {
  private static func refusal(
    _ scene: ZoneScene, since: ChangeToken, zone: Name? = nil
  ) throws -> RefusalCode? {
    try scene.refusal(.changes(scene.account, since: since, zones: ZoneSelection(zone), limit: 10))
  }

  static let all = [
    ZoneStory("changes come oldest first, each record once in its newest form") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"), ZoneScene.put("c"))
      try scene.save(ZoneScene.put("a", #"{"n":2}"#, over: 1))
      try scene.save(ZoneScene.delete("b", over: 2))
      let page = try scene.page(since: ZoneScene.token(0))
      #expect(page.names == ["c", "a", "b"])
      #expect(page.changes.map(\.tag) == [3, 4, 5])
      #expect(page.changes.map(\.isDeleted) == [false, false, true])
      #expect(page.since == ZoneScene.token(0))
      #expect(page.token == ZoneScene.token(5))
      #expect(!page.more)
      #expect(try scene.page(since: ZoneScene.token(4)).names == ["b"])
    },
    ZoneStory("each page leads to the next, and the last one is marked") { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c", "d"] { try scene.save(ZoneScene.put(name)) }
      let first = try scene.page(since: ZoneScene.token(0), limit: 2)
      #expect(first.names == ["a", "b"])
      #expect(first.token == ZoneScene.token(2, horizon: 4))
      #expect(first.more)
      let second = try scene.page(since: first.token, limit: 2)
      #expect(second.names == ["c", "d"])
      #expect(second.token == ZoneScene.token(4))
      #expect(!second.more)
      let third = try scene.page(since: second.token, limit: 2)
      #expect(
        third
          == ChangePage(
            since: second.token, token: second.token, more: false, changes: []))
    },
    ZoneStory("a limit is held within 1 and the greatest page") { scene in
      try scene.makeAccount()
      let names = (0..<1_200).map { "n\($0)" }
      for part in [names.prefix(400), names[400..<800], names.suffix(400)] {
        try scene.save(scene.batch(part.map { ZoneScene.put($0) }))
      }
      #expect(try scene.page(since: ZoneScene.token(0), limit: 0).names == ["n0"])
      #expect(try scene.page(since: ZoneScene.token(0), limit: -5).changes.count == 1)
      let page = try scene.page(since: ZoneScene.token(0), limit: .max)
      #expect(page.changes.count == Limits.pageRecords)
      #expect(page.more)
      #expect(try scene.page(since: page.token, limit: .max).changes.count == 200)
    },
    ZoneStory("a page holds one record at least, and no more bytes than its limit") { scene in
      try scene.makeAccount()
      let large = "{\"n\":\"" + String(repeating: "x", count: 900_000) + "\"}"
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.put(name, large)) }
      let first = try scene.page(since: ZoneScene.token(0))
      #expect(first.names == ["a", "b"])
      #expect(first.more)
      let second = try scene.page(since: first.token)
      #expect(second.names == ["c"])
      #expect(!second.more)
    },
    ZoneStory("a zone's changes are that zone's alone, its token the account's place") { scene in
      try scene.makeAccount()
      let zone = Name(trusted: "Other")
      try scene.save(ZoneScene.put("a"))
      try scene.save(ZoneScene.put("b"), ZoneScene.put("c"), zone: zone)
      try scene.save(ZoneScene.put("d"))
      let first = try scene.page(since: ZoneScene.token(0, zone: zone), zone: zone, limit: 1)
      #expect(first.names == ["b"])
      #expect(first.token == ZoneScene.token(2, zone: zone, horizon: 4))
      #expect(first.more)
      let second = try scene.page(since: first.token, zone: zone, limit: 1)
      #expect(second.names == ["c"])
      #expect(second.token == ZoneScene.token(4, zone: zone))
      #expect(!second.more)
    },
    ZoneStory("a token is valid only with the zone that it was made for") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      let zone = scene.zone
      let other = Name(trusted: "Other")
      #expect(try refusal(scene, since: ZoneScene.token(1), zone: zone) == .filterChanged)
      #expect(try refusal(scene, since: ZoneScene.token(1, zone: zone)) == .filterChanged)
      let foreign = ZoneScene.token(1, zone: other)
      #expect(try refusal(scene, since: foreign, zone: zone) == .filterChanged)
      #expect(try refusal(scene, since: foreign, zone: other) == nil)
    },
    ZoneStory("a token of another history is refused, and one from the future reveals a restore") {
      scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      let foreign = ChangeToken(generation: 1, sequence: 0)
      #expect(try refusal(scene, since: foreign) == .badChangeToken)
      #expect(try refusal(scene, since: ZoneScene.token(1)) == nil)
      #expect(try refusal(scene, since: ZoneScene.token(2)) == .storeRestored)
      #expect(try refusal(scene, since: ZoneScene.token(0, pinned: 2)) == .storeRestored)
    },
  ]
}

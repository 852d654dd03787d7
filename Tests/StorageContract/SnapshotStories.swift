import LockstepModel
import LockstepStorage
import Testing

/// Snapshots for a device without a token: all live records at one point in time.
enum SnapshotStories {
  static let all = [
    ZoneStory("an empty account's snapshot is empty and gives a token to go on from") { scene in
      try scene.makeAccount()
      let page = try scene.page()
      #expect(page == ChangePage(since: nil, token: ZoneScene.token(0), more: false, changes: []))
    },
    ZoneStory("a snapshot holds live records alone, in the order of their tags") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"), ZoneScene.put("c"))
      try scene.save(ZoneScene.put("a", over: 1))
      try scene.save(ZoneScene.delete("b", over: 2))
      let page = try scene.page()
      #expect(page.names == ["c", "a"])
      #expect(page.token == ZoneScene.token(5))
      #expect(!page.more)
    },
    ZoneStory("pages of a snapshot are pinned to one place while saves go on") { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c", "d"] { try scene.save(ZoneScene.put(name)) }
      let first = try scene.page(limit: 2)
      #expect(first.names == ["a", "b"])
      #expect(first.token == ZoneScene.token(2, pinned: 4, horizon: 4))
      #expect(first.more)
      try scene.save(ZoneScene.put("e"))
      try scene.save(ZoneScene.put("c", #"{"n":2}"#, over: 3))
      try scene.reopen()
      let second = try scene.page(since: first.token, limit: 2)
      #expect(second.names == ["d"])
      #expect(second.token == ZoneScene.token(4, horizon: 6))
      #expect(!second.more)
      #expect(second.since == first.token)
      #expect(try scene.page(since: second.token).names == ["e", "c"])
    },
    ZoneStory(
      "a snapshot whose remaining records were saved again ends with an empty page"
    ) { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"))
      let first = try scene.page(limit: 1)
      try scene.save(ZoneScene.delete("b", over: 2))
      let second = try scene.page(since: first.token, limit: 1)
      #expect(second.changes.isEmpty)
      #expect(second.token == ZoneScene.token(2, horizon: 3))
      #expect(!second.more)
      #expect(try scene.page(since: second.token).changes.map(\.isDeleted) == [true])
    },
    ZoneStory("tombstones behind the last live record are not worth another page") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"))
      try scene.save(ZoneScene.delete("b", over: 2))
      let page = try scene.page(limit: 1)
      #expect(page.names == ["a"])
      #expect(!page.more)
      #expect(page.token == ZoneScene.token(3))
    },
    ZoneStory("a zone's snapshot is that zone's alone, page by page") { scene in
      try scene.makeAccount()
      let zone = Name(trusted: "Other")
      try scene.save(ZoneScene.put("x"))
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"), zone: zone)
      try scene.save(ZoneScene.put("y"))
      let first = try scene.page(zone: zone, limit: 1)
      #expect(first.names == ["a"])
      #expect(first.token == ZoneScene.token(2, zone: zone, pinned: 4, horizon: 4))
      let second = try scene.page(since: first.token, zone: zone, limit: 1)
      #expect(second.names == ["b"])
      #expect(second.token == ZoneScene.token(4, zone: zone))
      let none = try scene.page(zone: Name(trusted: "Nowhere"))
      #expect(none.changes.isEmpty)
    },
  ]
}

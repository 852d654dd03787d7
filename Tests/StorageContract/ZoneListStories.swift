import LockstepModel
import LockstepStorage
import Testing

/// List of an account's zones.
enum ZoneListStories {
  static let all = [
    ZoneStory("an account's zones are those with a live record, in order") { scene in
      try scene.makeAccount()
      #expect(try scene.zones().isEmpty)
      let names = ["b", "a", "é", "B"].map(Name.init(trusted:))
      for zone in names { try scene.save(ZoneScene.put("x"), ZoneScene.put("y"), zone: zone) }
      #expect(try scene.zones() == ["B", "a", "b", "é"])
      try scene.save(ZoneScene.delete("x", over: nil), zone: names[0])
      #expect(try scene.zones() == ["B", "a", "b", "é"])
      try scene.save(ZoneScene.delete("y", over: nil), zone: names[0])
      try scene.reopen()
      #expect(try scene.zones() == ["B", "a", "é"])
      try scene.save(ZoneScene.put("x", over: 0), zone: names[0])
      #expect(try scene.zones() == ["B", "a", "b", "é"])
    },
    ZoneStory("a zone with deletions only is not listed") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.delete("x", over: nil), ZoneScene.delete("y", over: nil))
      #expect(try scene.zones().isEmpty)
      let failed = scene.batch([ZoneScene.put("a"), ZoneScene.put("b", over: 9)], atomic: true)
      try scene.save(failed)
      #expect(try scene.zones().isEmpty)
    },
    ZoneStory("zones are listed page by page") { scene in
      try scene.makeAccount()
      for zone in ["a", "b", "c"] { try scene.save(ZoneScene.put("x"), zone: Name(trusted: zone)) }
      func list(_ after: String?, _ limit: Int) throws -> ReadResult {
        try scene.store.read(
          .zones(scene.account, after: after.map(Name.init(trusted:)), within: nil, limit: limit))
      }
      let names = ["a", "b", "c"].map(Name.init(trusted:))
      #expect(try list(nil, 2) == .zones(Array(names[..<2]), more: true))
      #expect(try list("b", 2) == .zones([names[2]], more: false))
      #expect(try list("aa", 2) == .zones(Array(names[1...]), more: false))
      #expect(try list(nil, 3) == .zones(names, more: false))
      #expect(try list(nil, -1) == .zones([names[0]], more: true))
      #expect(try list("c", 1) == .zones([], more: false))
      let nobody = ReadRequest.zones(AccountID(rawValue: 404), after: nil, within: nil, limit: 1)
      #expect(try scene.refusal(nobody) == .notFound)
    },
  ]
}

import LockstepModel
import LockstepStorage
import Testing

/// Saves of single records.
enum SaveStories {
  static let all = [
    ZoneStory("a save gets the account's next tag and is there after reopening") { scene in
      try scene.makeAccount()
      let first = try scene.save(ZoneScene.put("a", #"{"n":1}"#))
      #expect(first.answer.since == ZoneScene.token(0))
      #expect(first.answer.token == ZoneScene.token(1))
      #expect(first.tags == [1])
      let second = try scene.save(ZoneScene.put("b"), ZoneScene.put("c"), by: scene.tablet)
      #expect(second.answer.since == ZoneScene.token(1))
      #expect(second.tags == [2, 3])
      try scene.reopen()
      let record = try #require(try scene.current("a"))
      #expect(
        record
          == Record(
            zone: scene.zone, name: Name(trusted: "a"), type: Name(trusted: "Note"),
            fields: Array(#"{"n":1}"#.utf8), modifiedAt: 50, device: scene.phone, tag: 1))
      #expect(try scene.current("c")?.device == scene.tablet)
      #expect(first.changed == [record])
    },
    ZoneStory("a save over the current tag succeeds, over another it conflicts") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a", #"{"n":1}"#))
      #expect(try scene.save(ZoneScene.put("a", #"{"n":2}"#, over: 1)).tags == [2])
      let late = try scene.save(ZoneScene.put("a", #"{"n":3}"#, over: 1), by: scene.tablet)
      #expect(late.conflicts.map(\.tag) == [2])
      #expect(late.conflicts.first?.fields == Array(#"{"n":2}"#.utf8))
      #expect(late.changed.isEmpty)
      #expect(late.answer.since == late.answer.token)
      #expect(try scene.current("a")?.tag == 2)
    },
    ZoneStory("a new record conflicts with an existing one") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      #expect(try scene.save(ZoneScene.put("a"), by: scene.tablet).conflicts.map(\.tag) == [1])
    },
    ZoneStory("without a base a save overwrites any record") { scene in
      try scene.makeAccount()
      #expect(try scene.save(ZoneScene.put("a", over: nil)).tags == [1])
      #expect(try scene.save(ZoneScene.put("a", #"{"n":2}"#, over: nil)).tags == [2])
      #expect(try scene.current("a")?.fields == Array(#"{"n":2}"#.utf8))
    },
    ZoneStory("a time of the relay is later than that of the version before") { scene in
      try scene.makeAccount()
      var change = ZoneScene.put("a", over: nil)
      change.modifiedAt = 70
      try scene.save(change)
      change.isStampedByRelay = true
      change.modifiedAt = 60
      try scene.save(change)
      #expect(try scene.current("a")?.modifiedAt == 71)
      change.modifiedAt = 90
      try scene.save(change)
      #expect(try scene.current("a")?.modifiedAt == 90)
    },
    ZoneStory("a change of an existing record conflicts if there is none") { scene in
      try scene.makeAccount()
      var change = ZoneScene.put("a", over: nil)
      change.onlyExisting = true
      #expect(try scene.save(change).conflicts.map(\.tag) == [0])
      try scene.save(ZoneScene.put("a"))
      #expect(try scene.save(change).tags == [2])
      try scene.save(ZoneScene.delete("a", over: nil))
      #expect(try scene.save(change).conflicts.map(\.tag) == [3])
    },
    ZoneStory(
      "an edit of a record that never existed conflicts with a tombstone of tag 0"
    ) { scene in
      try scene.makeAccount()
      let nothing = try #require(try scene.save(ZoneScene.put("a", over: 7)).conflicts.first)
      #expect(nothing.isDeleted)
      #expect(nothing.tag == 0)
      #expect(nothing.modifiedAt == 0)
      #expect(nothing.name.text == "a")
      let deletion = try scene.save(ZoneScene.delete("b", over: 7))
      #expect(deletion.conflicts.map(\.tag) == [0])
    },
    ZoneStory("a delete leaves a tombstone of the record's type") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a", type: "Memo"))
      let outcome = try scene.save(ZoneScene.delete("a", over: 1), by: scene.tablet)
      #expect(outcome.tags == [2])
      let tombstone = try #require(outcome.changed.first)
      #expect(tombstone.isDeleted)
      #expect(tombstone.type.text == "Memo")
      #expect(tombstone.device == scene.tablet)
      #expect(tombstone.modifiedAt == 60)
      try scene.reopen()
      #expect(try scene.current("a") == nil)
      #expect(try scene.page(since: ZoneScene.token(0)).changes == [tombstone])
    },
    ZoneStory("a tombstone is no hindrance to a new record, and is one to an old edit") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      try scene.save(ZoneScene.delete("a", over: 1))
      let late = try scene.save(ZoneScene.put("a", over: 1), by: scene.tablet)
      #expect(late.conflicts.map(\.tag) == [2])
      #expect(late.conflicts.map(\.isDeleted) == [true])
      #expect(try scene.save(ZoneScene.put("a", over: 0)).tags == [3])
      try scene.save(ZoneScene.delete("a", over: 3))
      #expect(try scene.save(ZoneScene.put("a", over: 4)).tags == [5])
      #expect(try scene.current("a")?.tag == 5)
    },
    ZoneStory("a delete of a missing record succeeds, and leaves a tombstone") { scene in
      try scene.makeAccount()
      #expect(try scene.save(ZoneScene.delete("a", over: nil)).tags == [1])
      #expect(try scene.save(ZoneScene.delete("b", over: 0)).tags == [2])
      #expect(try scene.save(ZoneScene.delete("a", over: 0)).tags == [3])
      #expect(try scene.page(since: ZoneScene.token(0)).names == ["b", "a"])
    },
    ZoneStory("names are compared by their bytes") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("caf\u{E9}"), ZoneScene.put("cafe\u{301}"))
      #expect(try scene.page().changes.count == 2)
      try scene.save(ZoneScene.put("A", over: 0), ZoneScene.put("a", over: 0))
      try scene.reopen()
      #expect(try scene.current("A")?.tag == 3)
      #expect(try scene.current("a")?.tag == 4)
      #expect(try scene.current("cafe\u{301}")?.tag == 2)
    },
    ZoneStory("the same name in two zones is two records") { scene in
      try scene.makeAccount()
      let other = Name(trusted: "Other")
      try scene.save(ZoneScene.put("a"))
      #expect(try scene.save(ZoneScene.put("a"), zone: other).tags == [2])
      #expect(try scene.page().changes.map(\.zone) == [scene.zone, other])
    },
    ZoneStory("large fields come back as they were") { scene in
      try scene.makeAccount()
      let text = "{\"n\":\"" + String(repeating: "x", count: Limits.recordBytes - 8) + "\"}"
      try scene.save(ZoneScene.put("a", text))
      try scene.reopen()
      #expect(try scene.current("a")?.fields?.count == Limits.recordBytes)
      #expect(try scene.current("a")?.fields == Array(text.utf8))
    },
  ]
}

import LockstepModel
import LockstepStorage
import Testing

/// Work in portions, one commit or page each: large deletions, and reads that skip many rows.
enum PortionStories {
  private static let two: StoreRules = {
    var rules = StoreRules()
    rules.deletedPerCommit = 2
    return rules
  }()

  private static func deleted(_ result: CommitResult) throws -> ZoneDeletion {
    guard case .zoneDeleted(let deletion) = result else { throw Unexpected(what: "\(result)") }
    return deletion
  }

  static let all = [
    ZoneStory("a zone is deleted portion by portion, and others save in between", rules: two) {
      scene in
      try scene.makeAccount()
      for name in ["a", "b", "c", "d", "e"] { try scene.save(ZoneScene.put(name)) }
      try scene.save(ZoneScene.put("other"), zone: Name(trusted: "Other"))
      try scene.save(ZoneScene.put("b", "{\"last\":1}", over: nil))
      let before = try scene.page().token
      var request = CommitRequest.deleteZone(
        scene.account, scene.phone, scene.zone, through: nil)
      var result = try scene.commit(request)
      let first = try deleted(result)
      #expect(first.changed?.map(\.name.text) == ["a", "c"])
      // Records saved meanwhile stay: their tags are beyond the start of the deletion.
      try scene.save(ZoneScene.put("a"), ZoneScene.put("new"))
      var portions = 1
      while let rest = request.rest(after: result) {
        request = rest
        result = try scene.commit(request)
        _ = try deleted(result)
        portions += 1
        if portions == 2 { try scene.reopen() }
        guard portions < 10 else { throw Unexpected(what: "the deletion has no end") }
      }
      #expect(try Set(scene.page().names) == ["other", "a", "new"])
      // A device that follows the changes gets the same result, with tags in the order of the
      // saves.
      let changes = try scene.page(since: before).changes
      #expect(changes.map(\.name.text) == ["c", "a", "new", "d", "e", "b"])
      #expect(changes.map(\.isDeleted) == [true, false, false, true, true, true])
    },
    ZoneStory("an interrupted deletion is finished by requesting it again", rules: two) { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c", "d", "e"] { try scene.save(ZoneScene.put(name)) }
      var request = CommitRequest.deleteZone(
        scene.account, scene.phone, scene.zone, through: nil)
      #expect(try deleted(try scene.commit(request)).rest != nil)
      try scene.reopen()
      #expect(try scene.zones() == ["Notes"])
      #expect(try scene.page().names == ["c", "d", "e"])
      var result = try scene.commit(request)
      while let rest = request.rest(after: result) {
        request = rest
        result = try scene.commit(request)
      }
      #expect(try scene.zones().isEmpty)
      #expect(try scene.page().names == [])
    },
    ZoneStory("a device that is revoked in the middle deletes no more", rules: two) { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.put(name)) }
      let request = CommitRequest.deleteZone(
        scene.account, scene.tablet, scene.zone, through: nil)
      let rest = try #require(request.rest(after: try scene.commit(request)))
      try scene.commit(.revokeDevice(scene.account, scene.tablet))
      #expect(try scene.refusal(rest) == .badToken)
      #expect(try scene.page().names == ["c"])
    },
    ZoneStory(
      "an account is removed portion by portion, its devices with the first", rules: two
    ) { scene in
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount()
      try scene.makeAccount(other)
      try scene.save(scene.batch([ZoneScene.put("z")], of: other))
      for name in ["a", "b", "c", "d", "e"] { try scene.save(ZoneScene.put(name)) }
      let remove = CommitRequest.removeAccount(scene.account)
      #expect(try scene.commit(remove) == .removing)
      let token = ZoneScene.device(scene.phone, of: scene.account).tokenHash
      #expect(try scene.refusal(ReadRequest.authenticate(tokenHash: token)) == .badToken)
      #expect(try scene.refusal(.save(scene.batch([ZoneScene.put("f")]))) == .badToken)
      // The relay crashes, and its owner repeats the request.
      try scene.reopen()
      var portions = 1
      while try scene.commit(remove) == .removing {
        portions += 1
        guard portions < 20 else { throw Unexpected(what: "the removal has no end") }
      }
      #expect(portions > 1)
      #expect(try scene.refusal(remove) == .notFound)
      #expect(try scene.refusal(ReadRequest.account(scene.account)) == .notFound)
      #expect(try scene.page(of: other).names == ["z"])
      // Nothing is left: a new account may have the same id.
      try scene.makeAccount()
      #expect(try scene.page().names == [])
    },
    ZoneStory(
      "a read of one zone scans a limited number of rows per page, and completes"
    ) { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("first"))
      let other = Name(trusted: "Other")
      for batch in 0...Limits.scannedRecords / Limits.batchRecords {
        let puts = (0..<Limits.batchRecords).map { ZoneScene.put("\(batch) \($0)") }
        try scene.save(scene.batch(puts, zone: other))
      }
      try scene.save(ZoneScene.put("last"))
      let page = try scene.page(zone: scene.zone)
      #expect(page.names == ["first"])
      #expect(page.more)
      let end = try scene.page(since: page.token, zone: scene.zone)
      #expect(end.names == ["last"])
      #expect(!end.more)
      let nothing = try scene.page(zone: Name(trusted: "Nothing"))
      #expect(nothing.names == [])
      #expect(nothing.more)
      #expect(try !scene.page(since: nothing.token, zone: Name(trusted: "Nothing")).more)
      // A snapshot skips tombstones in the same way.
      var request = CommitRequest.deleteZone(scene.account, scene.phone, other, through: nil)
      var result = try scene.commit(request)
      while let rest = request.rest(after: result) {
        request = rest
        result = try scene.commit(request)
      }
      let snapshot = try scene.page()
      #expect(snapshot.names == ["first", "last"])
      #expect(snapshot.more)
      let rest = try scene.page(since: snapshot.token)
      #expect(rest.names == [])
      #expect(!rest.more)
      // Changes of the whole account skip nothing.
      #expect(try scene.page(since: ZoneScene.token(0), limit: 1_000).changes.count == 1_000)
    },
  ]
}

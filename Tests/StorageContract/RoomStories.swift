import LockstepModel
import LockstepStorage
import Testing

/// Space of an account's records, and refusals when it is used up.
enum RoomStories {
  /// Returns the bytes of a record of type "Note" in the zone "Notes", or of its tombstone.
  private static func bytes(_ name: String, _ fields: Int = 0) -> Int64 {
    Limits.rowBytes + Int64("Notes".utf8.count + "Note".utf8.count + name.utf8.count + fields)
  }

  private static func summary(_ scene: ZoneScene) throws -> AccountSummary {
    guard case .account(let summary) = try scene.store.read(.account(scene.account)) else {
      throw Unexpected(what: "there is no account")
    }
    return summary
  }

  private static func text(_ bytes: Int) -> String {
    "{\"a\":\"\(String(repeating: "x", count: bytes - 8))\"}"
  }

  /// Returns the refusal code of each record; nil if it was not refused.
  private static func codes(_ outcome: SaveOutcome) -> [RefusalCode?] {
    outcome.answer.results.map { result in
      if case .refused(_, let refusal) = result { refusal.code } else { nil }
    }
  }

  private static func rules(_ change: (inout StoreRules) -> Void) -> StoreRules {
    var rules = StoreRules()
    change(&rules)
    return rules
  }

  static let all = [
    ZoneStory("the space of records is counted as they are added, changed and deleted") { scene in
      try scene.makeAccount()
      var batches = Limits.rowBytes
      try scene.save(ZoneScene.put("a", text(100)), ZoneScene.put("bé", text(50)))
      #expect(try summary(scene).recordBytes == bytes("a", 100) + bytes("bé", 50) + batches)
      #expect(try summary(scene).records == 2)
      try scene.save(ZoneScene.put("a", text(30), over: nil))
      batches += Limits.rowBytes
      #expect(try summary(scene).recordBytes == bytes("a", 30) + bytes("bé", 50) + batches)
      // A conflict changes no record, and its batch is remembered with the result.
      try scene.save(ZoneScene.put("a", text(99), over: 0))
      batches += Limits.rowBytes + Int64("conflict".utf8.count)
      #expect(try summary(scene).recordBytes == bytes("a", 30) + bytes("bé", 50) + batches)
      try scene.save(ZoneScene.delete("bé", over: nil))
      batches += Limits.rowBytes
      try scene.reopen()
      #expect(try summary(scene).recordBytes == bytes("a", 30) + bytes("bé") + batches)
      #expect(try summary(scene).records == 2)
      // A deleted zone leaves its tombstones.
      try scene.commit(.deleteZone(scene.account, scene.phone, scene.zone, through: nil))
      #expect(try summary(scene).recordBytes == bytes("a") + bytes("bé") + batches)
      scene.wall += Limits.historyMilliseconds + 1
      for _ in 0..<4 { try scene.commit(.touchDevices([])) }
      #expect(try summary(scene).recordBytes == 0)
      #expect(try summary(scene).records == 0)
    },
    ZoneStory(
      "records beyond the account's space are refused one by one, and deleting frees space",
      rules: rules { $0.recordBytesPerAccount = 1_000 }
    ) { scene in
      try scene.makeAccount()
      // Of one batch, the records that fit are saved.
      let first = try scene.save(
        ZoneScene.put("a", text(300)), ZoneScene.put("b", text(900)),
        ZoneScene.put("c", text(100)))
      #expect(codes(first) == [nil, .quotaExceeded, nil])
      #expect(try scene.page().names == ["a", "c"])
      #expect(codes(try scene.save(ZoneScene.put("d", text(200)))) == [.quotaExceeded])
      #expect(codes(try scene.save(ZoneScene.put("a", text(500), over: nil))) == [.quotaExceeded])
      // A deletion is always accepted, and the space it frees is available to the next mutation.
      let next = try scene.save(
        ZoneScene.delete("a", over: nil), ZoneScene.put("c", text(200), over: nil))
      #expect(codes(next) == [nil, nil])
      #expect(try scene.page().names == ["c"])
      try scene.reopen()
      #expect(codes(try scene.save(ZoneScene.put("d", text(900)))) == [.quotaExceeded])
    },
    ZoneStory(
      "an atomic batch without space saves nothing",
      rules: rules { $0.recordBytesPerAccount = 1_000 }
    ) { scene in
      try scene.makeAccount()
      let outcome = try scene.save(
        ZoneScene.put("a", text(300)), ZoneScene.put("b", text(900)), atomic: true)
      #expect(codes(outcome) == [.batchAborted, .quotaExceeded])
      #expect(try scene.page().names == [])
      #expect(try summary(scene).records == 0)
    },
    ZoneStory(
      "an account has so many records, with those that were deleted",
      rules: rules { $0.recordsPerAccount = 3 }
    ) { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"), ZoneScene.put("c"))
      #expect(codes(try scene.save(ZoneScene.put("d"))) == [.quotaExceeded])
      #expect(codes(try scene.save(ZoneScene.put("a", over: nil))) == [nil])
      #expect(codes(try scene.save(ZoneScene.delete("a", over: nil))) == [nil])
      // The tombstone replaces the record; a tombstone of a record that never existed is one more.
      #expect(codes(try scene.save(ZoneScene.put("d"))) == [.quotaExceeded])
      #expect(codes(try scene.save(ZoneScene.delete("never", over: nil))) == [.quotaExceeded])
      scene.wall += Limits.historyMilliseconds + 1
      try scene.commit(.touchDevices([]))
      #expect(codes(try scene.save(ZoneScene.put("d"))) == [nil])
    },
    ZoneStory(
      "an account has so many remembered batches, and a retry is answered all the same",
      rules: rules { $0.batchesPerAccount = 3 }
    ) { scene in
      try scene.makeAccount()
      let batches = ["a", "b", "c"].map { scene.batch([ZoneScene.put($0)]) }
      let outcomes = try batches.map { try scene.save($0) }
      for _ in 0..<3 {
        #expect(codes(try scene.save(ZoneScene.put("d"))) == [.quotaExceeded])
        let outcome = try scene.save(ZoneScene.put("a"))
        guard case .conflict? = outcome.answer.results.first else {
          throw Unexpected(what: "no conflict")
        }
      }
      #expect(try summary(scene).recordBytes == 3 * bytes("a", 2) + 3 * Limits.rowBytes)
      for (batch, outcome) in zip(batches, outcomes) {
        #expect(try scene.save(batch).answer.results == outcome.answer.results)
      }
      // Deleting a record is allowed once; deleting a tombstone is not a deletion of a record.
      #expect(codes(try scene.save(ZoneScene.delete("a", over: nil))) == [nil])
      #expect(codes(try scene.save(ZoneScene.delete("a", over: nil))) == [.quotaExceeded])
      scene.wall += Limits.historyMilliseconds + 1
      for _ in 0..<2 { try scene.commit(.touchDevices([])) }
      #expect(codes(try scene.save(ZoneScene.put("d"))) == [nil])
    },
    ZoneStory(
      "a plan sets limits of its own, which end with it",
      rules: rules { $0.recordBytesPerAccount = 500 }
    ) { scene in
      try scene.makeAccount()
      #expect(codes(try scene.save(ZoneScene.put("a", text(600)))) == [.quotaExceeded])
      let plan = Plan(zones: nil, bytes: 2_000, records: 1)
      #expect(try scene.commit(.setPlan(scene.account, plan)) == .done)
      try scene.reopen()
      #expect(try summary(scene).plan == plan)
      #expect(try scene.principal(scene.phone).plan == plan)
      #expect(codes(try scene.save(ZoneScene.put("a", text(600)))) == [nil])
      #expect(codes(try scene.save(ZoneScene.put("b"))) == [.quotaExceeded])
      #expect(try scene.commit(.setPlan(scene.account, .everything)) == .done)
      // The limit is below the current use: nothing is lost, and only deletions are accepted.
      #expect(try scene.page().names == ["a"])
      #expect(codes(try scene.save(ZoneScene.put("a", "{}", over: nil))) == [.quotaExceeded])
      #expect(codes(try scene.save(ZoneScene.delete("a", over: nil))) == [nil])
      // The limits of one account do not affect another.
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount(other)
      #expect(codes(try scene.save(scene.batch([ZoneScene.put("z")], of: other))) == [nil])
    },
    ZoneStory("saves of one commit share the space", rules: rules { $0.recordsPerAccount = 2 }) {
      scene in
      try scene.makeAccount()
      let saves = ["a", "b", "c"].map {
        CommitRequest.save(scene.batch([ZoneScene.put($0)]))
      }
      let results = try scene.store.commit(saves, wall: scene.wall)
      let found = results.map { result -> [RefusalCode?] in
        if case .saved(let outcome) = result { codes(outcome) } else { [.internalError] }
      }
      #expect(found == [[nil], [nil], [.quotaExceeded]])
    },
  ]
}

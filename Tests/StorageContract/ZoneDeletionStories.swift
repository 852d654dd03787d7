import LockstepModel
import LockstepStorage
import Testing

/// Deletion of a whole zone.
enum ZoneDeletionStories {
  private static func delete(
    _ scene: ZoneScene, through: ChangeToken? = nil, zone: Name? = nil, by device: DeviceID? = nil
  ) throws -> ZoneDeletion {
    let request = CommitRequest.deleteZone(
      scene.account, device ?? scene.tablet, zone ?? scene.zone, through: through)
    guard case .zoneDeleted(let deletion) = try scene.commit(request) else {
      throw Unexpected(what: "the zone was not deleted")
    }
    return deletion
  }

  private static func refusal(
    _ scene: ZoneScene, through: ChangeToken
  ) throws -> RefusalCode? {
    try scene.refusal(
      .deleteZone(scene.account, scene.tablet, scene.zone, through: through))
  }

  static let all = [
    ZoneStory("each live record of a deleted zone becomes a tombstone with a tag of its own") {
      scene in
      let other = Name(trusted: "Other")
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"), ZoneScene.put("c"))
      try scene.save(ZoneScene.delete("b", over: nil))
      try scene.save(ZoneScene.put("x"), zone: other)
      try scene.save(ZoneScene.put("a", over: nil, type: "Memo"))
      scene.wall += 5
      let deletion = try delete(scene)
      #expect(deletion.since == ZoneScene.token(6))
      #expect(deletion.token == ZoneScene.token(8))
      let changed = try #require(deletion.changed)
      // In the order of their last saves, and stamped with the relay's time.
      #expect(changed.map(\.name.text) == ["c", "a"])
      #expect(changed.map(\.tag) == [7, 8])
      #expect(changed.map(\.type.text) == ["Note", "Memo"])
      #expect(changed.allSatisfy { $0.isDeleted && $0.modifiedAt == scene.wall })
      #expect(changed.allSatisfy { $0.device == scene.tablet && $0.zone == scene.zone })
      try scene.reopen()
      #expect(try scene.page(since: ZoneScene.token(6)).changes == changed)
      #expect(try scene.page().names == ["x"])
      #expect(try scene.zones() == ["Other"])
      #expect(try scene.save(ZoneScene.put("a", over: 6)).conflicts == [changed[1]])
      #expect(try scene.save(ZoneScene.put("a", over: 0)).tags == [9])
      #expect(try scene.zones() == ["Notes", "Other"])
    },
    ZoneStory("records that a token does not cover stay") { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.put(name)) }
      try scene.save(ZoneScene.put("a", over: nil))
      let through = ZoneScene.token(2)
      #expect(try delete(scene, through: through).changed?.map(\.name.text) == ["b"])
      #expect(try scene.page().names == ["c", "a"])
      #expect(try scene.zones() == ["Notes"])
      let ofZone = ZoneScene.token(3, zone: scene.zone)
      #expect(try delete(scene, through: ofZone).changed?.map(\.name.text) == ["c"])
      // In the middle of a read, the token covers the records read so far.
      let middle = ZoneScene.token(3, pinned: 5, horizon: 6)
      #expect(try delete(scene, through: middle).changed == [])
      #expect(try delete(scene).changed?.map(\.name.text) == ["a"])
      #expect(try scene.zones().isEmpty)
    },
    ZoneStory("a zone is deleted through a token that is good, as for a read") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      let putBack = try scene.backUp()
      try scene.save(ZoneScene.put("b"))
      #expect(
        try refusal(scene, through: ChangeToken(generation: 1, sequence: 0)) == .badChangeToken)
      #expect(try refusal(scene, through: ZoneScene.token(3)) == .storeRestored)
      let other = ZoneScene.token(1, zone: Name(trusted: "Other"))
      #expect(try refusal(scene, through: other) == .filterChanged)
      try scene.restore(putBack)
      #expect(try refusal(scene, through: ZoneScene.token(2)) == .storeRestored)
      #expect(try scene.page().names == ["a"])
      #expect(try delete(scene, through: ZoneScene.token(1)).changed?.count == 1)
      scene.wall += Limits.historyMilliseconds + 1
      try scene.commit(.touchDevices([]))
      #expect(try refusal(scene, through: ZoneScene.token(1)) == .storeRestored)
    },
    ZoneStory("a zone without live records is deleted without a change") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.delete("a", over: nil))
      for zone in [scene.zone, Name(trusted: "Nowhere")] {
        let deletion = try delete(scene, zone: zone)
        #expect(deletion.since == deletion.token)
        #expect(deletion.changed == [])
      }
      #expect(try scene.page(since: ZoneScene.token(0)).names == ["a"])
    },
    ZoneStory("only a device of the account deletes a zone of it") { scene in
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount()
      try scene.makeAccount(other)
      try scene.save(scene.batch([ZoneScene.put("a")], of: other))
      func refusal(_ id: AccountID, _ device: DeviceID) throws -> RefusalCode? {
        try scene.refusal(.deleteZone(id, device, scene.zone, through: nil))
      }
      #expect(try refusal(scene.account, DeviceID(rawValue: 9)) == .badToken)
      #expect(try refusal(AccountID(rawValue: 404), scene.phone) == .badToken)
      try scene.commit(.revokeDevice(scene.account, scene.phone))
      #expect(try refusal(scene.account, scene.phone) == .badToken)
      #expect(try delete(scene).changed == [])
      #expect(try scene.page(of: other).names == ["a"])
    },
    ZoneStory("a deleted zone lets go of its chunks") { scene in
      let hash = try #require(ChunkHash(bytes: ZoneScene.hash(1)))
      let file = ChunkFile(account: scene.account, number: 1)
      try scene.makeAccount()
      try scene.commit(.addChunk(scene.account, hash, file, bytes: 10))
      var naming = [ZoneScene.put("a"), ZoneScene.put("b")]
      for index in naming.indices { naming[index].chunks = [hash] }
      try scene.save(scene.batch(naming))
      #expect(try delete(scene, through: ZoneScene.token(1)).changed?.map(\.chunks) == [[]])
      scene.wall += 2 * Limits.chunkLeaseMilliseconds
      #expect(try scene.commit(.collectChunks(atMost: 9)) == .collected([]))
      _ = try delete(scene)
      scene.wall += Limits.chunkLeaseMilliseconds - 1
      #expect(try scene.commit(.collectChunks(atMost: 9)) == .collected([]))
      scene.wall += 1
      #expect(try scene.commit(.collectChunks(atMost: 9)) == .collected([file]))
    },
    ZoneStory(
      "a deletion of more than fits into a batch is reported by its tokens alone"
    ) { scene in
      try scene.makeAccount()
      let names = (0..<Limits.batchRecords).map { "n\($0)" }
      try scene.save(scene.batch(names.map { ZoneScene.put($0) }))
      let exact = try delete(scene)
      #expect(exact.changed?.count == Limits.batchRecords)
      try scene.save(scene.batch(names.map { ZoneScene.put($0, over: 0) }))
      try scene.save(ZoneScene.put("one more"))
      let deletion = try delete(scene)
      #expect(deletion.changed == nil)
      #expect(deletion.token.sequence - deletion.since.sequence == Int64(names.count) + 1)
      let page = try scene.page(since: deletion.since)
      #expect(page.changes.count == names.count + 1 && !page.more)
      #expect(page.changes.allSatisfy { $0.isDeleted })
      #expect(page.names == names + ["one more"])
    },
  ]
}

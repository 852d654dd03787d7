import LockstepModel
import LockstepStorage
import Testing

/// Devices that may use a part of their account only.
enum ScopeStories {
  private static let todos = Name(trusted: "Todos")
  private static let journal = Name(trusted: "Journal")
  private static let scope = DeviceScope(
    zones: [todos, Name(trusted: "\u{e9} \"q\"")], isReadOnly: true)
  private static let watch = DeviceID(rawValue: 3)

  /// Adds a watch with that scope to the account.
  private static func addWatch(_ scene: ZoneScene, _ scope: DeviceScope = scope) throws {
    var pairing = ZoneScene.pairing(7, until: scene.wall + 1_000)
    pairing.scope = scope
    #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
    try scene.reopen()
    let redeem = CommitRequest.redeemPairing(
      codeHash: pairing.codeHash, device: ZoneScene.device(watch, of: scene.account))
    #expect(try scene.commit(redeem) == .redeemed(scene.account, scope))
  }

  private static func page(
    _ scene: ZoneScene, since: ChangeToken?, _ zones: [Name] = [todos], limit: Int = 1_000
  ) throws -> ChangePage {
    let result = try scene.store.read(
      .changes(scene.account, since: since, zones: .scope(zones), limit: limit))
    guard case .page(let page) = result else { throw Unexpected(what: "\(result)") }
    return page
  }

  private static func named(
    _ hashes: [UInt8], _ zones: [Name], _ scene: ZoneScene
  ) throws -> [Int?] {
    let hashes = hashes.compactMap { ChunkHash(bytes: ZoneScene.hash($0)) }
    let result = try scene.store.read(.namedChunks(scene.account, hashes, zones: zones))
    guard case .namedChunks(let chunks) = result else { throw Unexpected(what: "\(result)") }
    return chunks.map { $0?.bytes }
  }

  static let all = [
    ZoneStory("a device has the scope of the code with which it joined, for good") { scene in
      try scene.makeAccount()
      try addWatch(scene)
      try scene.reopen()
      #expect(try scene.principal(watch).scope == scope)
      #expect(try scene.principal(scene.phone).scope == .everything)
      #expect(try scene.devices().map(\.scope) == [.everything, .everything, scope])
      try scene.commit(.renameDevice(scene.account, watch, deviceName: "new"))
      #expect(try scene.principal(watch).scope == scope)
    },
    ZoneStory("a scope has the changes of its zones, with the tokens of the account") { scene in
      try scene.makeAccount()
      for (name, zone) in [("a", todos), ("b", journal), ("c", todos), ("d", scene.zone)] {
        try scene.save(ZoneScene.put(name), zone: zone)
      }
      try scene.save(ZoneScene.delete("c", over: 3), zone: todos)
      let snapshot = try page(scene, since: nil)
      #expect(snapshot.names == ["a"] && snapshot.token == ZoneScene.token(5))
      let changes = try page(scene, since: ZoneScene.token(0))
      #expect(changes.names == ["a", "c"] && changes.token == ZoneScene.token(5))
      #expect(try page(scene, since: ZoneScene.token(3), [scene.zone, journal]).names == ["d"])
      let none = try page(scene, since: ZoneScene.token(0), [Name(trusted: "Nothing")])
      #expect(none.changes.isEmpty && none.token == ZoneScene.token(5) && !none.more)
      // A token of the scope is one of the account.
      #expect(try scene.page(since: changes.token).changes.isEmpty)
      let first = try page(scene, since: ZoneScene.token(0), [todos, journal], limit: 1)
      #expect(first.names == ["a"] && first.more)
      let second = try page(scene, since: first.token, [todos, journal], limit: 1)
      #expect(second.names == ["b"] && second.more)
      #expect(try page(scene, since: second.token, [todos, journal]).names == ["c"])
    },
    ZoneStory("a list of zones leaves out those that are not in the scope") { scene in
      try scene.makeAccount()
      for zone in [todos, journal, scene.zone] { try scene.save(ZoneScene.put("a"), zone: zone) }
      func zones(_ within: [Name], after: Name? = nil, limit: Int = 9) throws -> ReadResult {
        try scene.store.read(
          .zones(scene.account, after: after, within: within, limit: limit))
      }
      #expect(try zones([todos]) == .zones([todos], more: false))
      #expect(
        try zones([todos, scene.zone, Name(trusted: "X")])
          == .zones([scene.zone, todos], more: false))
      #expect(try zones([todos, journal], limit: 1) == .zones([journal], more: true))
      #expect(try zones([todos, journal], after: journal) == .zones([todos], more: false))
    },
    ZoneStory("a scope has the chunks that live records of its zones name") { scene in
      try scene.makeAccount()
      for seed in [5, 6, 8] as [UInt8] {
        let hash = try #require(ChunkHash(bytes: ZoneScene.hash(seed)))
        let file = ChunkFile(account: scene.account, number: UInt64(seed))
        try scene.commit(.addChunk(scene.account, hash, file, bytes: Int(seed)))
      }
      for (name, zone, seeds) in [
        ("a", todos, [5, 6]), ("b", journal, [6, 8]),
      ] as [(String, Name, [UInt8])] {
        var mutation = ZoneScene.put(name)
        mutation.chunks = seeds.compactMap { ChunkHash(bytes: ZoneScene.hash($0)) }
        try scene.save(scene.batch([mutation], zone: zone))
      }
      #expect(try named([5, 6, 8, 9], [todos], scene) == [5, 6, nil, nil])
      #expect(try named([8, 6, 5], [journal], scene) == [8, 6, nil])
      #expect(try named([5, 8], [todos, journal], scene) == [5, 8])
      #expect(try named([5], [scene.zone], scene) == [nil])
      try scene.save(ZoneScene.delete("a", over: nil), zone: todos)
      #expect(try named([5, 6], [todos], scene) == [nil, nil])
      #expect(try named([6], [journal], scene) == [6])
      #expect(try named([], [journal], scene) == [])
    },
    ZoneStory("changes outside of its scope do not wake a device") { scene in
      try scene.makeAccount()
      try addWatch(scene)
      try scene.registerForWakes(watch)
      func due() throws -> [SleeperID] {
        try scene.store.dueWakes(
          .accounts([scene.account]), keys: ZoneScene.wakeKeys, wall: scene.wall
        ).due
      }
      #expect(try scene.sleepers().map(\.scope) == [scope])
      try scene.save(ZoneScene.put("a"), zone: journal)
      #expect(try due().isEmpty)
      try scene.save(ZoneScene.put("a"), zone: todos)
      #expect(try due() == [scene.sleeper(watch)])
    },
  ]
}

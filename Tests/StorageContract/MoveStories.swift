import LockstepModel
import LockstepStorage
import Testing

/// Accounts that move to another store: what their former store does.
enum MoveStories {
  private static let relay = "https://b.example"
  /// Longer than any test.
  private static let lease: Int64 = 3_600_000
  private static let few: StoreRules = {
    var rules = StoreRules()
    rules.deletedPerCommit = 2
    return rules
  }()

  private static func freeze(
    _ scene: ZoneScene, _ milliseconds: Int64 = lease, id: UInt64 = 7
  ) throws -> AccountMove {
    let result = try scene.commit(.move(.freeze(scene.account, milliseconds: milliseconds)))
    guard case .frozen(let version) = result else { throw Unexpected(what: "\(result)") }
    return AccountMove(id: id, frozen: version)
  }

  private static func depart(_ scene: ZoneScene) throws -> AccountMove {
    let move = try freeze(scene)
    #expect(try scene.commit(.move(.depart(move, relay: relay))) == .done)
    return move
  }

  private static func residence(_ scene: ZoneScene) throws -> AccountResidence {
    guard case .residence(let found) = try scene.store.read(.residence(scene.account)) else {
      throw Unexpected(what: "no residence")
    }
    return found
  }

  private static func authentication(_ scene: ZoneScene) -> ReadRequest {
    .authenticate(tokenHash: ZoneScene.device(scene.phone, of: scene.account).tokenHash)
  }

  private static func lives(_ scene: ZoneScene) throws -> Bool {
    if case .living = try residence(scene) { true } else { false }
  }

  /// Requests that change the account.
  private static func commits(_ scene: ZoneScene) throws -> [CommitRequest] {
    let hash = try #require(ChunkHash(bytes: ZoneScene.hash(1)))
    let file = ChunkFile(account: scene.account, number: 1)
    return [
      .save(scene.batch([ZoneScene.put("b")])),
      .issuePairing(scene.account, ZoneScene.pairing(0x77, until: scene.wall + 1_000)),
      .renameDevice(scene.account, scene.phone, deviceName: "new"),
      .revokeDevice(scene.account, scene.tablet),
      .putSubscription(
        scene.account, scene.phone, Subscription(id: Name(trusted: "s"), kind: .database)),
      .setPlan(scene.account, .everything),
      .addChunk(scene.account, hash, file, bytes: 1),
      .deleteZone(scene.account, scene.phone, scene.zone, through: nil),
    ]
  }

  static let all = [
    ZoneStory("a frozen account is read, and changed no more until it thaws") { scene in
      try scene.makeAccount()
      let code = ZoneScene.pairing(0x55, until: scene.wall + 1_000)
      try scene.commit(.issuePairing(scene.account, code))
      try scene.save(ZoneScene.put("a"))
      #expect(try lives(scene))
      let move = try freeze(scene)
      guard case .moving = try residence(scene) else { throw Unexpected(what: "it is not moving") }
      for request in try commits(scene) {
        let result = try scene.commit(request)
        #expect(result == .refused(StoreRefusals.moving), "\(request)")
      }
      let joining = CommitRequest.redeemPairing(
        codeHash: code.codeHash, device: ZoneScene.device(DeviceID(rawValue: 9), of: scene.account))
      #expect(try scene.refusal(joining) == .accountMoving)
      #expect(try scene.page().names == ["a"])
      #expect(try scene.principal(scene.phone).newest.sequence == 1)
      #expect(try scene.commit(.move(.thaw(move))) == .done)
      #expect(try scene.refusal(joining) == nil)
      try scene.save(ZoneScene.put("b"))
      #expect(try lives(scene))
    },
    ZoneStory("other accounts go on while one is frozen") { scene in
      try scene.makeAccount()
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount(other)
      _ = try freeze(scene)
      let both = [
        CommitRequest.save(scene.batch([ZoneScene.put("a")])),
        .save(scene.batch([ZoneScene.put("a")], of: other)),
      ]
      let results = try scene.store.commit(both, wall: scene.wall)
      #expect(results[0] == .refused(StoreRefusals.moving))
      guard case .saved = results[1] else { throw Unexpected(what: "\(results[1])") }
    },
    ZoneStory("an account whose mover was killed works on when the lease is over") { scene in
      try scene.makeAccount()
      let move = try freeze(scene, 0)
      try scene.save(ZoneScene.put("a"))
      // The mover was only suspended: it may not switch over.
      #expect(try scene.refusal(.move(.renew(move, milliseconds: lease))) == .preconditionFailed)
      #expect(try scene.refusal(.move(.depart(move, relay: relay))) == .preconditionFailed)
      #expect(try scene.page().names == ["a"])
    },
    ZoneStory("a lease that had a break is lost, although nothing was saved") { scene in
      try scene.makeAccount()
      let move = try freeze(scene, 0)
      #expect(try scene.refusal(.move(.depart(move, relay: relay))) == .preconditionFailed)
    },
    ZoneStory("of two movers, only the one that froze last lets the account depart") { scene in
      try scene.makeAccount()
      let early = try freeze(scene, id: 1)
      let late = try freeze(scene, id: 2)
      #expect(late.frozen.membershipVersion > early.frozen.membershipVersion)
      for step in [
        MoveStep.renew(early, milliseconds: lease), .thaw(early), .depart(early, relay: relay),
      ] {
        #expect(try scene.refusal(.move(step)) == .preconditionFailed)
      }
      #expect(try scene.commit(.move(.renew(late, milliseconds: lease))) == .done)
      #expect(try scene.commit(.move(.depart(late, relay: relay))) == .done)
    },
    ZoneStory("devices and pairing codes of a departed account learn its address") { scene in
      try scene.makeAccount()
      let code = ZoneScene.pairing(0x55, until: scene.wall + 1_000)
      try scene.commit(.issuePairing(scene.account, code))
      try scene.save(ZoneScene.put("a"))
      let move = try depart(scene)
      try scene.reopen()
      let moved = StoreRefusals.moved(to: relay)
      #expect(try scene.store.read(authentication(scene)) == .refused(moved))
      #expect(try scene.store.read(.newestToken(scene.account)) == .refused(moved))
      #expect(try scene.refusal(.account(scene.account)) == .accountMoved)
      for request in try commits(scene) {
        let result = try scene.commit(request)
        #expect(result == .refused(moved), "\(request)")
      }
      let joining = CommitRequest.redeemPairing(
        codeHash: code.codeHash, device: ZoneScene.device(DeviceID(rawValue: 9), of: scene.account))
      #expect(try scene.commit(joining) == .refused(moved))
      scene.wall += 1_000
      #expect(try scene.refusal(joining) == .badPairingCode)
      // The answer was lost.
      #expect(try scene.commit(.move(.depart(move, relay: relay))) == .done)
      #expect(try scene.refusal(.move(.freeze(scene.account, milliseconds: 1))) == .accountMoved)
      let stranger = ReadRequest.authenticate(tokenHash: ZoneScene.hash(0x99))
      #expect(try scene.refusal(stranger) == .badToken)
    },
    ZoneStory("what a departed account leaves is cleared in portions", rules: few) { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c", "d", "e"] { try scene.save(ZoneScene.put(name)) }
      let move = try depart(scene)
      var departure = Departure(
        relay: relay, move: move.id, version: move.frozen.membershipVersion, isCleared: false)
      #expect(try residence(scene) == .departed(departure))
      var portions = 1
      while try scene.commit(.move(.clear(scene.account))) == .removing { portions += 1 }
      #expect(portions > 2)
      departure.isCleared = true
      #expect(try residence(scene) == .departed(departure))
      #expect(try scene.refusal(authentication(scene)) == .accountMoved)
      // Its owner gives it up.
      while try scene.commit(.removeAccount(scene.account)) == .removing {}
      #expect(try residence(scene) == .unknown)
      #expect(try scene.refusal(authentication(scene)) == .badToken)
    },
    ZoneStory("the relay clears what a killed mover left", rules: few) { scene in
      try scene.makeAccount()
      for name in ["a", "b", "c"] { try scene.save(ZoneScene.put(name)) }
      _ = try depart(scene)
      for _ in 0..<8 { try scene.commit(.collectChunks(atMost: 10)) }
      guard case .departed(let departure) = try residence(scene), departure.isCleared else {
        throw Unexpected(what: "\(try residence(scene))")
      }
    },
    ZoneStory("an account that is alive again departs again") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      let step = MoveStep.departAgain(scene.account, relay: relay, move: 3)
      #expect(try scene.commit(.move(step)) == .done)
      #expect(try scene.refusal(authentication(scene)) == .accountMoved)
      #expect(try scene.commit(.move(.clear(scene.account))) == .done)
    },
    ZoneStory("steps of a move of no account are refused") { scene in
      let id = AccountID(rawValue: 404)
      let frozen = try scene.refusal(.move(.freeze(id, milliseconds: 1)))
      let activated = try scene.refusal(.move(.activate(id, move: 1)))
      #expect(frozen == .notFound && activated == .preconditionFailed)
      #expect(try scene.commit(.move(.clear(id))) == .done)
    },
  ]
}

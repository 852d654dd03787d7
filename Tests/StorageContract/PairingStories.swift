import LockstepModel
import LockstepStorage
import Testing

/// Pairing of a device with an account.
enum PairingStories {
  private static func redeem(
    _ code: UInt8, as device: UInt64, in scene: ZoneScene
  ) -> CommitRequest {
    .redeemPairing(
      codeHash: ZoneScene.hash(code),
      device: ZoneScene.device(DeviceID(rawValue: device), of: scene.account))
  }

  static let all = [
    ZoneStory("an account without a device is entered with its code") { scene in
      let create = CommitRequest.createAccount(
        scene.account, generation: ZoneScene.generation, label: "Ada", device: nil,
        pairing: ZoneScene.pairing(5, until: scene.wall + 1))
      #expect(try scene.commit(create) == .done)
      #expect(try scene.devices().isEmpty)
      try scene.reopen()
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account, .everything))
      #expect(try scene.devices().map(\.id.rawValue) == [3])
    },
    ZoneStory("a code lets one device in, once") { scene in
      try scene.makeAccount()
      let pairing = ZoneScene.pairing(5, until: scene.wall + 1)
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account, .everything))
      #expect(try scene.refusal(redeem(5, as: 4, in: scene)) == .badPairingCode)
      #expect(try scene.devices().map(\.id.rawValue) == [1, 2, 3])
    },
    ZoneStory("a code of another account than a device expects stays good") { scene in
      try scene.makeAccount()
      try scene.commit(.issuePairing(scene.account, ZoneScene.pairing(5, until: scene.wall + 100)))
      func redeem(as device: UInt64, expecting account: AccountID) -> CommitRequest {
        var device = ZoneScene.device(DeviceID(rawValue: device), of: scene.account)
        device.expectedAccount = account
        return .redeemPairing(codeHash: ZoneScene.hash(5), device: device)
      }
      let other = AccountID(rawValue: 0xB)
      #expect(try scene.refusal(redeem(as: 3, expecting: other)) == .otherAccount)
      #expect(try scene.devices().map(\.id.rawValue) == [1, 2])
      #expect(
        try scene.commit(redeem(as: 3, expecting: scene.account))
          == .redeemed(scene.account, .everything))
    },
    ZoneStory("a code is good until the moment it expires") { scene in
      try scene.makeAccount()
      for code in [5, 6] as [UInt8] {
        try scene.commit(
          .issuePairing(scene.account, ZoneScene.pairing(code, until: scene.wall + 100)))
      }
      scene.wall += 99
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account, .everything))
      scene.wall += 1
      #expect(try scene.refusal(redeem(6, as: 4, in: scene)) == .badPairingCode)
    },
    ZoneStory("the oldest code gives way to a new one too many") { scene in
      try scene.makeAccount()
      let codes = (1...UInt8(Limits.pairingCodesPerAccount + 1)).map { $0 }
      for code in codes {
        try scene.commit(
          .issuePairing(scene.account, ZoneScene.pairing(code, until: scene.wall + 100)))
      }
      #expect(try scene.refusal(redeem(1, as: 3, in: scene)) == .badPairingCode)
      #expect(
        try scene.commit(redeem(2, as: 3, in: scene)) == .redeemed(scene.account, .everything))
    },
    ZoneStory("a valid code is not issued again, an expired one may be") { scene in
      try scene.makeAccount()
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount(other)
      let pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(other, pairing)) == .done)
      #expect(try scene.refusal(.issuePairing(scene.account, pairing)) == .internalError)
      scene.wall += 100
      let fresh = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(scene.account, fresh)) == .done)
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account, .everything))
    },
    ZoneStory("a device whose id or token is taken does not spend the code") { scene in
      try scene.makeAccount()
      let pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      #expect(try scene.refusal(redeem(5, as: 1, in: scene)) == .internalError)
      var thief = ZoneScene.device(DeviceID(rawValue: 3), of: scene.account)
      thief.tokenHash = ZoneScene.device(scene.phone, of: scene.account).tokenHash
      let theft = CommitRequest.redeemPairing(codeHash: pairing.codeHash, device: thief)
      #expect(try scene.refusal(theft) == .internalError)
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account, .everything))
    },
    ZoneStory("a revocation ends every code of the account, and no other account's") { scene in
      try scene.makeAccount()
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount(other)
      for (account, code) in [(scene.account, 5), (scene.account, 6), (other, 7)] {
        let pairing = ZoneScene.pairing(UInt8(code), until: scene.wall + 100)
        #expect(try scene.commit(.issuePairing(account, pairing)) == .done)
      }
      // The tablet was stolen, and the thief made it issue codes before.
      #expect(try scene.commit(.revokeDevice(scene.account, scene.tablet)) == .done)
      #expect(try scene.refusal(redeem(5, as: 3, in: scene)) == .badPairingCode)
      try scene.reopen()
      #expect(try scene.refusal(redeem(6, as: 3, in: scene)) == .badPairingCode)
      #expect(try scene.devices().map(\.id) == [scene.phone])
      let stranger = ZoneScene.device(DeviceID(rawValue: 4), of: other)
      let join = CommitRequest.redeemPairing(codeHash: ZoneScene.hash(7), device: stranger)
      #expect(try scene.commit(join) == .redeemed(other, .everything))
      // A code made afterwards is valid, even with the same text.
      let fresh = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(scene.account, fresh)) == .done)
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account, .everything))
    },
    ZoneStory("a revocation that is refused leaves the codes alone") { scene in
      try scene.makeAccount()
      let pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      let nobody = DeviceID(rawValue: 99)
      #expect(try scene.refusal(.revokeDevice(scene.account, nobody)) == .notFound)
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account, .everything))
    },
    ZoneStory(
      "a code, its device's revocation and its use in one commit admit no device"
    ) { scene in
      try scene.makeAccount()
      let pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      let results = try scene.store.commit(
        [
          .issuePairing(scene.account, pairing), .revokeDevice(scene.account, scene.tablet),
          redeem(5, as: 3, in: scene),
        ], wall: scene.wall)
      guard case .refused(let refusal)? = results.last else { throw Unexpected(what: "let in") }
      #expect(refusal.code == .badPairingCode)
    },
    ZoneStory("a device makes no code behind its own revocation; the relay's owner does") { scene in
      try scene.makeAccount()
      var pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      pairing.issuer = scene.tablet
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      pairing.codeHash = ZoneScene.hash(6)
      let results = try scene.store.commit(
        [.revokeDevice(scene.account, scene.tablet), .issuePairing(scene.account, pairing)],
        wall: scene.wall)
      #expect(results == [.done, .refused(StoreRefusals.revokedDevice)])
      #expect(try scene.refusal(redeem(6, as: 3, in: scene)) == .badPairingCode)
      pairing.issuer = nil
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      #expect(
        try scene.commit(redeem(6, as: 3, in: scene)) == .redeemed(scene.account, .everything))
    },
    ZoneStory("the device that uses a code gets its wrapped keys, and no other does") { scene in
      try scene.makeAccount()
      let longest = String(repeating: "aZ0_", count: Limits.wrappedKeyCharacters / 4)
      let codes: [(code: UInt8, keys: String?)] = [(5, longest), (6, nil), (7, "_-A")]
      for (code, keys) in codes {
        var pairing = ZoneScene.pairing(code, until: scene.wall + 100)
        pairing.wrapped = keys
        #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      }
      try scene.reopen()
      for (device, (code, keys)) in zip(3..., codes) {
        #expect(
          try scene.commit(redeem(code, as: UInt64(device), in: scene))
            == .redeemed(scene.account, .everything, wrapped: keys))
        #expect(
          try scene.refusal(redeem(code, as: UInt64(device) + 10, in: scene)) == .badPairingCode)
      }
    },
    ZoneStory("wrapped keys end with their code: used, expired, or of a revoked device") { scene in
      try scene.makeAccount()
      var pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      pairing.issuer = scene.tablet
      pairing.wrapped = "AAAA"
      let issue = CommitRequest.issuePairing(scene.account, pairing)
      // Issues the same code again, without keys, and uses it.
      func joinAnew(as device: UInt64) throws {
        try scene.commit(
          .issuePairing(scene.account, ZoneScene.pairing(5, until: scene.wall + 100)))
        #expect(
          try scene.commit(redeem(5, as: device, in: scene))
            == .redeemed(scene.account, .everything))
      }
      #expect(try scene.commit(issue) == .done)
      #expect(
        try scene.commit(redeem(5, as: 3, in: scene))
          == .redeemed(scene.account, .everything, wrapped: "AAAA"))
      try joinAnew(as: 4)
      #expect(try scene.commit(issue) == .done)
      scene.wall += 100
      #expect(try scene.refusal(redeem(5, as: 5, in: scene)) == .badPairingCode)
      try joinAnew(as: 5)
      pairing.expiresAt = scene.wall + 100
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      #expect(try scene.commit(.revokeDevice(scene.account, scene.tablet)) == .done)
      #expect(try scene.refusal(redeem(5, as: 6, in: scene)) == .badPairingCode)
      try joinAnew(as: 6)
    },
    ZoneStory("a full account takes a device only after one was revoked") { scene in
      try scene.makeAccount()
      var next: UInt64 = 3
      func join() throws -> CommitResult {
        try scene.commit(
          .issuePairing(scene.account, ZoneScene.pairing(200, until: scene.wall + 100)))
        return try scene.commit(redeem(200, as: next, in: scene))
      }
      while next <= UInt64(Limits.devicesPerAccount) {
        #expect(try join() == .redeemed(scene.account, .everything))
        next += 1
      }
      guard case .refused(let refusal) = try join() else { throw Unexpected(what: "let in") }
      #expect(refusal.code == .tooManyDevices)
      #expect(try scene.commit(.revokeDevice(scene.account, scene.tablet)) == .done)
      #expect(try join() == .redeemed(scene.account, .everything))
    },
  ]
}

import Changes
import Storage
import Testing

/// How a device gets into an account.
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
      #expect(try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account))
      #expect(try scene.devices().map(\.id.rawValue) == [3])
    },
    ZoneStory("a code lets one device in, once") { scene in
      try scene.settle()
      let pairing = ZoneScene.pairing(5, until: scene.wall + 1)
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      #expect(try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account))
      #expect(try scene.refusal(redeem(5, as: 4, in: scene)) == .badPairingCode)
      #expect(try scene.devices().map(\.id.rawValue) == [1, 2, 3])
    },
    ZoneStory("a code is good until the moment it expires") { scene in
      try scene.settle()
      for code in [5, 6] as [UInt8] {
        try scene.commit(
          .issuePairing(scene.account, ZoneScene.pairing(code, until: scene.wall + 100)))
      }
      scene.wall += 99
      #expect(try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account))
      scene.wall += 1
      #expect(try scene.refusal(redeem(6, as: 4, in: scene)) == .badPairingCode)
    },
    ZoneStory("the oldest code gives way to a new one too many") { scene in
      try scene.settle()
      let codes = (1...UInt8(Limits.pairingCodesPerAccount + 1)).map { $0 }
      for code in codes {
        try scene.commit(
          .issuePairing(scene.account, ZoneScene.pairing(code, until: scene.wall + 100)))
      }
      #expect(try scene.refusal(redeem(1, as: 3, in: scene)) == .badPairingCode)
      #expect(try scene.commit(redeem(2, as: 3, in: scene)) == .redeemed(scene.account))
    },
    ZoneStory("a code that stands is not given out again, an expired one may be") { scene in
      try scene.settle()
      let other = AccountID(rawValue: 0xB)
      try scene.settle(other)
      let pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(other, pairing)) == .done)
      #expect(try scene.refusal(.issuePairing(scene.account, pairing)) == .internalError)
      scene.wall += 100
      let fresh = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(scene.account, fresh)) == .done)
      #expect(try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account))
    },
    ZoneStory("a device whose id or token is taken does not spend the code") { scene in
      try scene.settle()
      let pairing = ZoneScene.pairing(5, until: scene.wall + 100)
      #expect(try scene.commit(.issuePairing(scene.account, pairing)) == .done)
      #expect(try scene.refusal(redeem(5, as: 1, in: scene)) == .internalError)
      var thief = ZoneScene.device(DeviceID(rawValue: 3), of: scene.account)
      thief.tokenHash = ZoneScene.device(scene.phone, of: scene.account).tokenHash
      let theft = CommitRequest.redeemPairing(codeHash: pairing.codeHash, device: thief)
      #expect(try scene.refusal(theft) == .internalError)
      #expect(try scene.commit(redeem(5, as: 3, in: scene)) == .redeemed(scene.account))
    },
    ZoneStory("a full account takes a device only after one was revoked") { scene in
      try scene.settle()
      var next: UInt64 = 3
      func join() throws -> CommitResult {
        try scene.commit(
          .issuePairing(scene.account, ZoneScene.pairing(200, until: scene.wall + 100)))
        return try scene.commit(redeem(200, as: next, in: scene))
      }
      while next <= UInt64(Limits.devicesPerAccount) {
        #expect(try join() == .redeemed(scene.account))
        next += 1
      }
      guard case .refused(let refusal) = try join() else { throw Unexpected(what: "let in") }
      #expect(refusal.code == .tooManyDevices)
      #expect(try scene.commit(.revokeDevice(scene.account, scene.tablet)) == .done)
      #expect(try scene.commit(redeem(200, as: next, in: scene)) == .redeemed(scene.account))
    },
  ]
}

import LockstepModel
import LockstepStorage
import Testing

/// Accounts and their devices.
enum AccountStories {
  static let all = [
    ZoneStory("a new account's device signs in with its token") { scene in
      try scene.makeAccount()
      let phone = ZoneScene.device(scene.phone, of: scene.account)
      let known = try scene.store.read(.authenticate(tokenHash: phone.tokenHash))
      #expect(
        known.withoutMembershipVersion
          == .principal(
            Principal(account: scene.account, device: scene.phone, newest: ZoneScene.token(0))))
      let stranger = ReadRequest.authenticate(tokenHash: ZoneScene.hash(99))
      #expect(try scene.refusal(stranger) == .badToken)
      #expect(try scene.store.read(.accountCount) == .count(1))
      #expect(try scene.store.read(.newestToken(scene.account)) == .token(ZoneScene.token(0)))
    },
    ZoneStory("an account id or token hash that is taken is refused without a trace") { scene in
      try scene.makeAccount()
      let again = CommitRequest.createAccount(
        scene.account, generation: 1, label: "", device: nil, pairing: nil)
      #expect(try scene.refusal(again) == .internalError)
      let other = AccountID(rawValue: 0xB)
      let thief = CommitRequest.createAccount(
        other, generation: 1, label: "", device: ZoneScene.device(scene.phone, of: scene.account),
        pairing: nil)
      #expect(try scene.refusal(thief) == .internalError)
      #expect(try scene.store.read(.accountCount) == .count(1))
      #expect(try scene.refusal(.newestToken(other)) == .notFound)
    },
    ZoneStory("requests for an account that does not exist are not found") { scene in
      try scene.makeAccount()
      let nobody = AccountID(rawValue: 404)
      let reads: [ReadRequest] = [
        .devices(nobody), .newestToken(nobody),
        .changes(nobody, since: nil, zones: .all, limit: 1),
        .record(nobody, RecordKey(zone: scene.zone, name: Name(trusted: "a"))),
      ]
      for read in reads { #expect(try scene.refusal(read) == .notFound) }
      let pairing = ZoneScene.pairing(1, until: scene.wall + 1)
      #expect(try scene.refusal(.issuePairing(nobody, pairing)) == .notFound)
      #expect(try scene.refusal(.renameDevice(nobody, scene.phone, deviceName: "x")) == .notFound)
      #expect(try scene.refusal(.revokeDevice(nobody, scene.phone)) == .notFound)
      #expect(try scene.refusal(.save(scene.batch([], of: nobody))) == .badToken)
    },
    ZoneStory("devices are listed in the order in which they joined") { scene in
      try scene.makeAccount()
      let devices = try scene.devices()
      #expect(devices.map(\.id) == [scene.phone, scene.tablet])
      #expect(devices.map(\.description.deviceName) == ["device 1", "device 2"])
      #expect(devices.allSatisfy { $0.lastSeen == scene.wall && !$0.connected })
    },
    ZoneStory("a device is renamed, and only that one") { scene in
      try scene.makeAccount()
      let rename = CommitRequest.renameDevice(scene.account, scene.tablet, deviceName: "Sofa 🛋")
      #expect(try scene.commit(rename) == .done)
      try scene.reopen()
      #expect(try scene.devices().map(\.description.deviceName) == ["device 1", "Sofa 🛋"])
      let stranger = CommitRequest.renameDevice(
        scene.account, DeviceID(rawValue: 9), deviceName: "x")
      #expect(try scene.refusal(stranger) == .notFound)
    },
    ZoneStory("a revoked device's token dies, and its saves are refused") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      #expect(try scene.commit(.revokeDevice(scene.account, scene.phone)) == .done)
      try scene.reopen()
      let phone = ZoneScene.device(scene.phone, of: scene.account)
      #expect(try scene.refusal(.authenticate(tokenHash: phone.tokenHash)) == .badToken)
      #expect(try scene.devices().map(\.id) == [scene.tablet])
      #expect(try scene.refusal(.save(scene.batch([ZoneScene.put("b")]))) == .badToken)
      #expect(try scene.refusal(.revokeDevice(scene.account, scene.phone)) == .notFound)
      #expect(try scene.current("a")?.device == scene.phone)
    },
    ZoneStory("an older sighting of a device changes nothing") { scene in
      try scene.makeAccount()
      func sighting(_ device: DeviceID, _ lastSeen: Int64) -> DeviceSighting {
        DeviceSighting(account: scene.account, device: device, lastSeen: lastSeen)
      }
      let stranger = sighting(DeviceID(rawValue: 9), scene.wall + 5)
      let touch = CommitRequest.touchDevices([
        sighting(scene.phone, scene.wall + 10), stranger, sighting(scene.tablet, scene.wall - 10),
      ])
      #expect(try scene.commit(touch) == .done)
      try scene.reopen()
      #expect(try scene.devices().map(\.lastSeen) == [scene.wall + 10, scene.wall])
    },
    ZoneStory("accounts do not see one another") { scene in
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount()
      try scene.makeAccount(other)
      try scene.save(ZoneScene.put("mine"))
      try scene.save(scene.batch([ZoneScene.put("theirs")], of: other))
      #expect(try scene.page().names == ["mine"])
      #expect(try scene.page(of: other).names == ["theirs"])
      #expect(try scene.page(of: other).token.sequence == 1)
      #expect(try scene.current("theirs") == nil)
    },
    ZoneStory("one refused request spares the others of its commit") { scene in
      try scene.makeAccount()
      let results = try scene.store.commit(
        [
          .save(scene.batch([ZoneScene.put("a")])),
          .redeemPairing(
            codeHash: ZoneScene.hash(77),
            device: ZoneScene.device(DeviceID(rawValue: 3), of: scene.account)),
          .save(scene.batch([ZoneScene.put("b")], by: DeviceID(rawValue: 9))),
          .save(scene.batch([ZoneScene.put("c")])),
        ], wall: scene.wall)
      let refused = results.map { result -> RefusalCode? in
        if case .refused(let refusal) = result { refusal.code } else { nil }
      }
      #expect(refused == [nil, .badPairingCode, .badToken, nil])
      #expect(try scene.page().names == ["a", "c"])
      #expect(try scene.store.commit([], wall: scene.wall) == [])
    },
  ]
}

import LockstepModel
import LockstepStorage
import Testing

/// Registrations of devices for wakes, and the wakes themselves.
enum WakeStories {
  static let all = registrations + wakes + ends + lists

  private static let registrations = [
    ZoneStory("registrations for wakes are kept, and told by id without their secrets") { scene in
      try scene.makeAccount()
      #expect(try scene.wakes().isEmpty)
      #expect(try !scene.principal(scene.phone).hasWakes)
      for id in ["b", "a"] {
        #expect(try scene.putWake(id) == .wakePut(isNew: true, isVerified: false))
      }
      #expect(try scene.putWake("a", code: 6) == .wakePut(isNew: false, isVerified: false))
      try scene.reopen()
      let ids = ["a", "b"].map(Name.init(trusted:))
      #expect(try scene.wakes() == ids.map { WakeStatus(id: $0) })
      #expect(try scene.principal(scene.phone).hasWakes)
      #expect(try !scene.principal(scene.tablet).hasWakes)
      #expect(try scene.wakes(of: scene.tablet).isEmpty)
    },
    ZoneStory("a registration is verified by the code that was sent last") { scene in
      try scene.makeAccount()
      _ = try scene.putWake("a", code: 5)
      #expect(try scene.refusal(scene.verification(of: "b", code: 5)) == .notFound)
      #expect(try scene.refusal(scene.verification(of: "a", code: 6)) == .badWakeCode)
      _ = try scene.putWake("a", code: 6)
      #expect(try scene.refusal(scene.verification(of: "a", code: 5)) == .badWakeCode)
      #expect(try scene.wakes().map(\.verifiedAt) == [nil])
      let verifiedAt = scene.wall
      #expect(try scene.commit(scene.verification(of: "a", code: 6)) == .done)
      scene.wall += 10
      // The answer may have been lost.
      #expect(try scene.commit(scene.verification(of: "a", code: 6)) == .done)
      try scene.reopen()
      #expect(try scene.wakes().map(\.verifiedAt) == [verifiedAt])
    },
    ZoneStory("a verified registration stays so only with the same target and key") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      var longer = ZoneScene.registration("a")
      longer.expiresAt = scene.wall + 1_000
      #expect(try scene.putWake(longer) == .wakePut(isNew: false, isVerified: true))
      #expect(try scene.wakes().map(\.verifiedAt) == [scene.wall])
      #expect(try scene.putWake(longer, key: 2) == .wakePut(isNew: false, isVerified: false))
      #expect(try scene.wakes().map(\.verifiedAt) == [nil])
      #expect(try scene.commit(scene.verification(of: "a")) == .done)
      longer.endpoint += "/other"
      #expect(try scene.putWake(longer, key: 2) == .wakePut(isNew: false, isVerified: false))
      #expect(try scene.wakes().map(\.verifiedAt) == [nil])
    },
    ZoneStory("a device has so many registrations and no more, but may replace one") { scene in
      try scene.makeAccount()
      for number in 0..<Limits.wakesPerDevice { _ = try scene.putWake("w\(number)") }
      #expect(try scene.putWake("more") == .refused(StoreRefusals.tooManyWakes))
      #expect(try scene.putWake("w0", code: 9) == .wakePut(isNew: false, isVerified: false))
      #expect(
        try scene.putWake("more", by: scene.tablet) == .wakePut(isNew: true, isVerified: false))
      #expect(try scene.commit(scene.removal(of: "w1")) == .done)
      #expect(try scene.refusal(scene.removal(of: "w1")) == .notFound)
      #expect(try scene.putWake("more") == .wakePut(isNew: true, isVerified: false))
    },
    ZoneStory("a device without its last registration has none") { scene in
      try scene.makeAccount()
      _ = try scene.putWake("a")
      #expect(try scene.commit(scene.removal(of: "a")) == .done)
      try scene.reopen()
      #expect(try scene.wakes().isEmpty && scene.sleepers().isEmpty)
      #expect(try !scene.principal(scene.phone).hasWakes)
      #expect(try scene.refusal(scene.removal(of: "a")) == .notFound)
    },
    ZoneStory("a revoked device has no registrations, also when its id comes back") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.registerForWakes(scene.tablet)
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      #expect(try scene.commit(.revokeDevice(scene.account, scene.phone)) == .done)
      #expect(try scene.putWake("a") == .refused(StoreRefusals.revokedDevice))
      #expect(try scene.refusal(scene.verification(of: "a")) == .notFound)
      #expect(try scene.claim([scene.sleeper()]).isEmpty)
      #expect(try scene.sleepers().map(\.id) == [scene.sleeper(scene.tablet)])
      try scene.commit(
        .issuePairing(scene.account, ZoneScene.pairing(5, until: scene.wall + 100)))
      try scene.commit(
        .redeemPairing(
          codeHash: ZoneScene.hash(5), device: ZoneScene.device(scene.phone, of: scene.account)))
      #expect(try scene.wakes().isEmpty)
      #expect(try !scene.principal(scene.phone).hasWakes)
    },
    ZoneStory("a removed account has no registrations, and the others keep theirs") { scene in
      let other = AccountID(rawValue: 0xB)
      for id in [scene.account, other] {
        try scene.makeAccount(id)
        _ = try scene.putWake("a", of: id)
      }
      #expect(try scene.commit(.removeAccount(scene.account)) == .done)
      #expect(try scene.wakes().isEmpty)
      #expect(try scene.sleepers().map(\.id.account) == [other])
      #expect(try scene.putWake("a") == .refused(StoreRefusals.revokedDevice))
      try scene.makeAccount()
      #expect(try scene.wakes().isEmpty)
    },
  ]

  private static let wakes = [
    ZoneStory("a wake is claimed when it is due, and once") { scene in
      try scene.makeAccount()
      try scene.save(ZoneScene.put("a"))
      try scene.registerForWakes()
      _ = try scene.putWake("b")
      _ = try scene.putWake("unverified", by: scene.tablet)
      let phone = scene.sleeper()
      #expect(try scene.claim([phone]).isEmpty, "it is awake, and nothing has changed since")
      try scene.save(ZoneScene.put("b"), by: scene.tablet)
      let nobody = SleeperID(account: AccountID(rawValue: 404), device: scene.phone)
      let claimed = try scene.claim([scene.sleeper(scene.tablet), phone, nobody, phone])
      #expect(claimed.map(\.id) == [phone])
      #expect(
        claimed.first?.newest == WakeMark(generation: ZoneScene.generation, sequence: 2))
      #expect(claimed.first?.entries.map(\.registration) == [ZoneScene.registration("a")])
      #expect(try scene.claim([phone]).isEmpty)
      try scene.reopen()
      #expect(try scene.claim([phone]).isEmpty)
      #expect(try scene.commit(.claimWakes([], keys: ZoneScene.wakeKeys)) == .wakesClaimed([]))
    },
    ZoneStory("wakes are claimed in the order of the request, with saves of the commit") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.registerForWakes(scene.tablet)
      let ids = [scene.sleeper(scene.tablet), scene.sleeper()]
      let results = try scene.store.commit(
        [.save(scene.batch([ZoneScene.put("a")])), .claimWakes(ids, keys: ZoneScene.wakeKeys)],
        wall: scene.wall)
      guard case .wakesClaimed(let claimed) = results[1] else {
        throw Unexpected(what: "\(results)")
      }
      #expect(claimed.map(\.id) == ids && claimed.map(\.newest.sequence) == [1, 1])
    },
    ZoneStory("a wake whose result was lost is claimed again after its lease") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      #expect(try scene.claim([scene.sleeper()]).count == 1)
      try scene.save(ZoneScene.put("b"), by: scene.tablet)
      scene.wall += Limits.wakeLeaseMilliseconds - 1
      try scene.reopen()
      #expect(try scene.claim([scene.sleeper()]).isEmpty)
      scene.wall += 1
      #expect(try scene.claim([scene.sleeper()]).map(\.newest.sequence) == [2])
    },
    ZoneStory("a device that does not answer is woken again after a pause") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      #expect(try scene.claim([scene.sleeper()]).count == 1)
      try scene.report(.sent)
      #expect(try scene.wakes().map(\.sentAt) == [scene.wall])
      try scene.save(ZoneScene.put("b"), by: scene.tablet)
      scene.wall += Limits.wakeRepeats.lowerBound - 1
      #expect(try scene.claim([scene.sleeper()]).isEmpty)
      scene.wall += 1
      #expect(try scene.claim([scene.sleeper()]).map(\.newest.sequence) == [2])
    },
    ZoneStory("a contact answers a wake, and the next change makes one due") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      _ = try scene.claim([scene.sleeper()])
      try scene.report(.sent)
      scene.wall += 100
      try scene.sight(contact: nil)
      #expect(try scene.wakes().map(\.answeredAt) == [nil])
      try scene.sight(contact: WakeContact(seen: scene.mark(1)))
      try scene.reopen()
      #expect(try scene.wakes().map(\.answeredAt) == [scene.wall])
      #expect(try scene.claim([scene.sleeper()]).isEmpty)
      try scene.save(ZoneScene.put("b"), by: scene.tablet)
      scene.wall += Limits.wakeDelayMilliseconds - 1
      #expect(try scene.claim([scene.sleeper()]).isEmpty)
      scene.wall += 1
      #expect(try scene.claim([scene.sleeper()]).count == 1)
    },
    ZoneStory("a contact while the push is under way answers it") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      _ = try scene.claim([scene.sleeper()])
      try scene.sight(contact: WakeContact(seen: scene.mark(1)))
      try scene.report(.sent)
      try scene.save(ZoneScene.put("b"), by: scene.tablet)
      scene.wall += Limits.wakeDelayMilliseconds
      #expect(try scene.claim([scene.sleeper()]).count == 1)
    },
    ZoneStory("what a device has shown is not taken back by what is written later") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      let early = scene.wall
      scene.wall += 1_000
      try scene.sight(contact: WakeContact(seen: scene.mark(1), at: scene.wall))
      try scene.reopen()
      scene.wall += 1_000
      try scene.sight(contact: WakeContact(seen: scene.mark(0), at: early))
      #expect(try scene.sleepers().map(\.wakes.progress.seen) == [scene.mark(1)])
    },
    ZoneStory("only a device with registrations has contacts") { scene in
      try scene.makeAccount()
      try scene.sight(contact: WakeContact(seen: scene.mark(9)))
      #expect(try scene.sleepers().isEmpty)
      #expect(try scene.devices().map(\.lastSeen) == [scene.wall, scene.wall])
      _ = try scene.putWake("a")
      #expect(try scene.sleepers().map(\.wakes.progress.seen) == [scene.mark(0)])
    },
  ]

  private static let ends = [
    ZoneStory("a registration that has ended twice is removed") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      _ = try scene.claim([scene.sleeper()])
      try scene.report(.gone)
      #expect(try scene.wakes().count == 1)
      scene.wall += Limits.wakeFailurePauses.lowerBound
      try scene.reopen()
      #expect(try scene.claim([scene.sleeper()]).count == 1)
      try scene.report(.gone)
      #expect(try scene.wakes().isEmpty && scene.sleepers().isEmpty)
      #expect(try !scene.principal(scene.phone).hasWakes)
    },
    ZoneStory("a failed push is tried again, and its reason told until one is sent") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      _ = try scene.claim([scene.sleeper()])
      try scene.report(.failed(.throttled, retryAfter: 5_000))
      #expect(try scene.wakes().map(\.fault) == [.throttled])
      scene.wall += 4_999
      #expect(try scene.claim([scene.sleeper()]).isEmpty)
      scene.wall += 1
      #expect(try scene.claim([scene.sleeper()]).count == 1)
      try scene.report(.sent)
      try scene.reopen()
      #expect(
        try scene.wakes().map { [$0.fault == nil, $0.sentAt == scene.wall] } == [[true, true]])
    },
    ZoneStory("a report on a registration that was replaced is not applied") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      _ = try scene.putWake(ZoneScene.registration("a", "https://push.example/new"))
      for _ in 0..<2 { try scene.report(.gone) }
      #expect(try scene.wakes() == [WakeStatus(id: Name(trusted: "a"))])
      let nobody = SleeperID(account: AccountID(rawValue: 404), device: scene.phone)
      let report = WakeReport(id: nobody, event: .finished(.change, []))
      #expect(try scene.commit(.reportWakes([report])) == .done)
    },
    ZoneStory("the relay's keys are kept in their order, and the first is added once") { scene in
      let keys = (1...3 as ClosedRange<UInt8>).map {
        WakeKey(madeAt: 10 * Int64($0), privateKey: ZoneScene.hash($0))
      }
      #expect(try scene.store.read(.wakeKeys) == .wakeKeys([]))
      #expect(
        try scene.commit(.addWakeKey(keys[1], onlyFirst: true)) == .wakeKeys([keys[1]]))
      #expect(
        try scene.commit(.addWakeKey(keys[2], onlyFirst: true)) == .wakeKeys([keys[1]]))
      try scene.reopen()
      // A clock that is behind the last key's makes a later one all the same.
      var all = [keys[1], keys[2]]
      #expect(try scene.commit(.addWakeKey(keys[2], onlyFirst: false)) == .wakeKeys(all))
      all.append(WakeKey(madeAt: 31, privateKey: keys[0].privateKey))
      #expect(try scene.commit(.addWakeKey(keys[0], onlyFirst: false)) == .wakeKeys(all))
      try scene.reopen()
      #expect(try scene.store.read(.wakeKeys) == .wakeKeys(all))
    },
    ZoneStory("a new key of the relay wakes each device once, without a change") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      scene.wall += Limits.wakeDelayMilliseconds
      let phone = scene.sleeper()
      let newestKey = Int64(1 << 40)
      let keys = WakeKeyTimes(oldest: 0, newest: newestKey)
      let due = try scene.store.dueWakes(
        .accounts([scene.account]), keys: keys, wall: scene.wall)
      #expect(due.due == [phone] && due.relayKeys == nil)
      let claimed = try scene.commit(.claimWakes([phone], keys: keys))
      guard case .wakesClaimed(let wakes) = claimed else { throw Unexpected(what: "\(claimed)") }
      #expect(wakes.map(\.id) == [phone] && wakes.map(\.purpose) == [.newKey])
      try scene.report(.sent, of: .newKey, toldKey: newestKey)
      scene.wall += Limits.wakeRepeats.upperBound
      try scene.reopen()
      let later = try scene.store.dueWakes(
        .after(nil, limit: 9), keys: keys, wall: scene.wall)
      #expect(later.due.isEmpty && later.relayKeys == [])
      let again = try scene.store.dueWakes(
        .accounts([scene.account]), keys: WakeKeyTimes(oldest: 0, newest: newestKey + 1),
        wall: scene.wall)
      #expect(again.due == [phone])
    },
    ZoneStory("a registration for a key that has ended is not used, and shows it") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      scene.wall += Limits.wakeDelayMilliseconds
      let keys = WakeKeyTimes(oldest: 2, newest: 2)
      let found = try scene.store.dueWakes(
        .accounts([scene.account]), keys: keys, wall: scene.wall)
      #expect(found.due.isEmpty && found.nextAt == nil)
      #expect(found.reports.map(\.id) == [scene.sleeper()])
      #expect(
        try scene.commit(.claimWakes([scene.sleeper()], keys: keys)) == .wakesClaimed([]))
      try scene.commit(.reportWakes(found.reports))
      try scene.reopen()
      #expect(try scene.wakes().map(\.fault) == [.keyRefused])
      let later = try scene.store.dueWakes(.after(nil, limit: 9), keys: keys, wall: scene.wall)
      #expect(later.reports.isEmpty)
    },
    ZoneStory("a restored copy has the registrations, and each device is woken") { scene in
      try scene.makeAccount()
      let key = WakeKey(madeAt: 1, privateKey: ZoneScene.hash(1))
      try scene.commit(.addWakeKey(key, onlyFirst: true))
      try scene.registerForWakes()
      let putBack = try scene.backUp()
      try scene.commit(scene.removal(of: "a"))
      try scene.restore(putBack)
      #expect(try scene.store.read(.wakeKeys) == .wakeKeys([key]))
      #expect(try scene.wakes().map(\.id.text) == ["a"])
      let claimed = try scene.claim([scene.sleeper()])
      #expect(claimed.map { $0.newest.generation != ZoneScene.generation } == [true])
    },
  ]

  private static let lists = [
    ZoneStory("sleeping devices are listed with what decides if they are woken") { scene in
      try scene.makeAccount()
      let subscription = Subscription(id: Name(trusted: "s"), kind: .zone(scene.zone))
      try scene.commit(.putSubscription(scene.account, scene.phone, subscription))
      try scene.registerForWakes(scene.tablet)
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"))
      try scene.reopen()
      let sleepers = try scene.sleepers()
      #expect(sleepers.map(\.id) == [scene.sleeper(), scene.sleeper(scene.tablet)])
      #expect(sleepers.map(\.subscriptions) == [[subscription], []])
      #expect(sleepers.allSatisfy { $0.newest == scene.mark(1) && !$0.isConnectedElsewhere })
      for sleeper in sleepers {
        #expect(sleeper.wakes.entries.map(\.registration) == [ZoneScene.registration("a")])
        #expect(sleeper.wakes.entries.map(\.codeHash) == [ZoneScene.hash(5)])
        #expect(sleeper.wakes.progress.seen == scene.mark(0))
      }
    },
    ZoneStory("sleeping devices of all ids are listed page by page, and by account") { scene in
      // Ids below and above the value at which a signed number becomes negative.
      let (least, greatest): (UInt64, UInt64) = (1 << 63, .max >> 1)
      let numbers: [(account: UInt64, device: UInt64)] = [
        (least, least), (.max, 1), (1, .max), (1, 5), (greatest, greatest),
      ]
      let ids = numbers.map {
        SleeperID(
          account: AccountID(rawValue: $0.account), device: DeviceID(rawValue: $0.device))
      }
      for id in ids.reversed() {
        let device = ZoneScene.device(id.device, of: id.account)
        let create = CommitRequest.createAccount(
          id.account, generation: 1, label: "", device: device, pairing: nil)
        if try scene.refusal(create) != nil {
          // The account is there already.
          let pairing = ZoneScene.pairing(200, until: scene.wall + 10)
          try scene.commit(.issuePairing(id.account, pairing))
          try scene.commit(.redeemPairing(codeHash: pairing.codeHash, device: device))
        }
        _ = try scene.putWake("a", by: id.device, of: id.account)
      }
      #expect(try scene.sleepers().map(\.id) == ids)
      for limit in 0...3 {
        var (found, last): ([SleeperID], SleeperID?) = ([], nil)
        repeat {
          let page = try scene.sleeperPage(.after(last, limit: limit))
          #expect(page.ids.count <= max(1, limit))
          found += page.ids
          last = page.next
        } while last != nil
        #expect(found == ids)
      }
      let asked = [1, greatest, 1, 404].map { AccountID(rawValue: $0) }
      #expect(try scene.sleeperPage(.accounts(asked)).ids == Array(ids[2...]))
      #expect(try scene.sleeperPage(.accounts([])).ids.isEmpty)
    },
  ]
}

extension ZoneScene {
  /// Times of the one key for which the scene's devices subscribe.
  static let wakeKeys = WakeKeyTimes(oldest: 1, newest: 1)

  static func registration(
    _ id: String, _ endpoint: String = "https://push.example/\u{e9}?a=\"b\""
  ) -> WakeRegistration {
    WakeRegistration(
      id: Name(trusted: id), endpoint: endpoint, p256dh: [4] + hash(1) + hash(2),
      auth: [UInt8](repeating: 9, count: 16))
  }

  func putWake(
    _ registration: WakeRegistration, by device: DeviceID? = nil, of id: AccountID? = nil,
    key: Int64 = 1, code: UInt8 = 5
  ) throws -> CommitResult {
    try commit(
      .putWake(
        id ?? account, device ?? phone, registration, keyMadeAt: key, codeHash: Self.hash(code)))
  }

  func putWake(
    _ id: String, by device: DeviceID? = nil, of account: AccountID? = nil, code: UInt8 = 5
  ) throws -> CommitResult {
    try putWake(Self.registration(id), by: device, of: account, code: code)
  }

  func verification(
    of id: String, by device: DeviceID? = nil, code: UInt8 = 5
  ) -> CommitRequest {
    .verifyWake(account, device ?? phone, Name(trusted: id), codeHash: Self.hash(code))
  }

  func removal(of id: String) -> CommitRequest { .removeWake(account, phone, Name(trusted: id)) }

  /// Makes a verified registration of a device, with the id `a`.
  func registerForWakes(_ device: DeviceID? = nil) throws {
    _ = try putWake("a", by: device)
    #expect(try commit(verification(of: "a", by: device)) == .done)
  }

  func wakes(of device: DeviceID? = nil) throws -> [WakeStatus] {
    let result = try store.read(.wakes(account, device ?? phone))
    guard case .wakes(let wakes) = result else { throw Unexpected(what: "\(result)") }
    return wakes
  }

  func claim(_ ids: [SleeperID]) throws -> [ClaimedWake] {
    let result = try commit(.claimWakes(ids, keys: ZoneScene.wakeKeys))
    guard case .wakesClaimed(let claimed) = result else { throw Unexpected(what: "\(result)") }
    return claimed
  }

  /// Reports the result of the push to the phone's registration `a`.
  func report(
    _ outcome: WakeResult.Outcome, of purpose: WakePurpose = .change, toldKey: Int64? = nil
  ) throws {
    let registration = Self.registration("a")
    let result = WakeResult(
      id: registration.id, endpoint: registration.endpoint, outcome: outcome, toldKey: toldKey)
    #expect(
      try commit(.reportWakes([WakeReport(id: sleeper(), event: .finished(purpose, [result]))]))
        == .done)
  }

  /// Reports that the phone is there.
  func sight(contact: WakeContact?) throws {
    let sighting = DeviceSighting(
      account: account, device: phone, lastSeen: wall, contact: contact)
    #expect(try commit(.touchDevices([sighting])) == .done)
  }

  func sleeper(_ device: DeviceID? = nil) -> SleeperID {
    SleeperID(account: account, device: device ?? phone)
  }

  func mark(_ sequence: Int64) -> WakeMark {
    WakeMark(generation: Self.generation, sequence: sequence)
  }

  func sleepers() throws -> [Sleeper] {
    let result = try store.read(.sleepers(.after(nil, limit: 100)))
    guard case .sleepers(let sleepers, next: nil) = result else {
      throw Unexpected(what: "\(result)")
    }
    return sleepers
  }

  func sleeperPage(_ query: SleeperQuery) throws -> (ids: [SleeperID], next: SleeperID?) {
    let result = try store.read(.sleepers(query))
    guard case .sleepers(let sleepers, let next) = result else {
      throw Unexpected(what: "\(result)")
    }
    return (sleepers.map(\.id), next)
  }
}

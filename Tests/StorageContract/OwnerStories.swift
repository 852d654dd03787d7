import LockstepModel
import LockstepStorage
import Testing

/// Accounts as the relay's owner manages them: listed, given a plan, removed.
enum OwnerStories {
  private struct Listed: Equatable {
    var ids: [UInt64]
    var more = false
  }

  private static func list(
    _ scene: ZoneScene, after: AccountID? = nil, limit: Int = 1_000
  ) throws -> Listed {
    let result = try scene.store.read(.accounts(after: after, limit: limit))
    guard case .accounts(let accounts, let more) = result else {
      throw Unexpected(what: "\(result)")
    }
    return Listed(ids: accounts.map(\.id.rawValue), more: more)
  }

  static let all = [
    ZoneStory("an account's summary has its counts") { scene in
      try scene.makeAccount()
      let madeAt = scene.wall
      scene.wall += 5
      try scene.save(ZoneScene.put("a"), ZoneScene.put("b"))
      let summary = AccountSummary(
        id: scene.account, label: "Ada", plan: .everything, madeAt: madeAt, devices: 2,
        newestTag: 2, chunkBytes: 0, recordBytes: 3 * Limits.rowBytes + 24, records: 2,
        lastSeen: madeAt)
      try scene.reopen()
      #expect(try scene.store.read(.account(scene.account)) == .account(summary))
      #expect(try scene.refusal(.account(AccountID(rawValue: 404))) == .notFound)
      let all = ReadRequest.accounts(after: nil, limit: 10)
      #expect(try scene.store.read(all) == .accounts([summary], more: false))
    },
    ZoneStory("accounts are listed by id, page by page") { scene in
      // Ids below and above the value at which a signed number becomes negative.
      let ids: [UInt64] = [1, .max >> 1, (.max >> 1) + 1, .max - 1, .max]
      for id in ids.reversed() {
        let create = CommitRequest.createAccount(
          AccountID(rawValue: id), generation: 1, label: "", device: nil, pairing: nil)
        try scene.commit(create)
      }
      #expect(try list(scene) == Listed(ids: ids))
      #expect(try list(scene, limit: 0) == Listed(ids: [1], more: true))
      for (index, id) in ids.enumerated() {
        let rest = Array(ids[(index + 1)...])
        let after = AccountID(rawValue: id)
        #expect(try list(scene, after: after) == Listed(ids: rest))
        let page = Listed(ids: Array(rest.prefix(2)), more: rest.count > 2)
        #expect(try list(scene, after: after, limit: 2) == page)
      }
      #expect(try list(scene, after: AccountID(rawValue: 5)) == Listed(ids: Array(ids[1...])))
    },
    ZoneStory("a label is given once, in whatever case and spelling") { scene in
      func create(_ id: UInt64, _ label: String) -> CommitRequest {
        .createAccount(
          AccountID(rawValue: id), generation: 1, label: label, device: nil, pairing: nil)
      }
      #expect(try scene.commit(create(1, "Ren\u{E9}e Ünal")) == .done)
      #expect(try scene.commit(create(2, "Mum")) == .done)
      // A spelling that no normalized text has.
      #expect(try scene.commit(create(3, "e\u{301}toile")) == .done)
      try scene.reopen()
      let taken = [
        (1, ["Ren\u{E9}e Ünal", "Rene\u{301}e u\u{308}NAL", "RENÉE ÜNAL"]), (2, ["Mum", "mUM"]),
        (3, ["E\u{301}toile", "\u{E9}toile", "ÉTOILE"]),
      ]
      for (holder, labels) in taken {
        for label in labels {
          let refused = StoreRefusals.labelTaken(by: AccountID(rawValue: UInt64(holder)))
          #expect(try scene.commit(create(9, label)) == .refused(refused), "\(label)")
        }
      }
      #expect(try list(scene).ids == [1, 2, 3])
      // No label is no name, and one that merely looks alike is another.
      for (id, label) in [(4, ""), (5, ""), (6, "Mum "), (7, "Renee Unal"), (8, "母")] {
        #expect(try scene.commit(create(UInt64(id), label)) == .done)
      }
      #expect(try scene.commit(.removeAccount(AccountID(rawValue: 2))) == .done)
      #expect(try scene.commit(create(9, "MUM")) == .done)
    },
    ZoneStory("of two new accounts with one label in one commit, the first is made") { scene in
      let label = "Ada"
      let requests = (1...2).map { id in
        CommitRequest.createAccount(
          AccountID(rawValue: UInt64(id)), generation: 1, label: label, device: nil, pairing: nil)
      }
      let taken = CommitResult.refused(StoreRefusals.labelTaken(by: AccountID(rawValue: 1)))
      #expect(try scene.store.commit(requests, wall: scene.wall) == [.done, taken])
      try scene.reopen()
      #expect(try list(scene).ids == [1])
    },
    ZoneStory("a plan is kept, and returned at sign-in") { scene in
      try scene.makeAccount()
      let plans = [
        Plan(zones: [Name(trusted: "a \"b\""), Name(trusted: "é")]), Plan(zones: []), .everything,
      ]
      for plan in plans {
        #expect(try scene.commit(.setPlan(scene.account, plan)) == .done)
        try scene.reopen()
        #expect(try scene.principal(scene.tablet).plan == plan)
        guard case .account(let summary) = try scene.store.read(.account(scene.account)) else {
          throw Unexpected(what: "no summary")
        }
        #expect(summary.plan == plan)
      }
      let nobody = CommitRequest.setPlan(AccountID(rawValue: 404), .everything)
      #expect(try scene.refusal(nobody) == .notFound)
    },
    ZoneStory("a removed account is gone with all that it had, and no other") { scene in
      let other = AccountID(rawValue: 0xB)
      try scene.makeAccount()
      try scene.makeAccount(other)
      let batch = scene.batch([ZoneScene.put("a")])
      try scene.save(batch)
      try scene.save(scene.batch([ZoneScene.put("b")], of: other))
      let subscription = Subscription(id: Name(trusted: "s"), kind: .database)
      try scene.commit(.putSubscription(scene.account, scene.phone, subscription))
      try scene.commit(
        .issuePairing(scene.account, ZoneScene.pairing(5, until: scene.wall + 100)))
      #expect(try scene.commit(.removeAccount(scene.account)) == .done)
      try scene.reopen()
      #expect(try scene.refusal(.removeAccount(scene.account)) == .notFound)
      #expect(try scene.refusal(.newestToken(scene.account)) == .notFound)
      #expect(try scene.current("a") == nil)
      let phone = ZoneScene.device(scene.phone, of: scene.account)
      #expect(try scene.refusal(.authenticate(tokenHash: phone.tokenHash)) == .badToken)
      let join = CommitRequest.redeemPairing(
        codeHash: ZoneScene.hash(5), device: ZoneScene.device(scene.phone, of: other))
      #expect(try scene.refusal(join) == .badPairingCode)
      #expect(try list(scene) == Listed(ids: [0xB]))
      #expect(try scene.page(of: other).names == ["b"])
      // A new account may have the same id: nothing is left of the first one.
      try scene.makeAccount()
      #expect(try scene.page().changes.isEmpty)
      #expect(try scene.zones().isEmpty)
      #expect(try scene.principal(scene.phone).subscriptions.isEmpty)
      #expect(try scene.save(batch).changed.map(\.name.text) == ["a"])
    },
  ]
}

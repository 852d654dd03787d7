import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

/// Subscriptions of devices.
enum SubscriptionStories {
  private static func subscription(
    _ id: String, _ kind: Subscription.Kind = .database
  ) -> Subscription {
    Subscription(id: Name(trusted: id), kind: kind)
  }

  private static func put(
    _ subscription: Subscription, by device: DeviceID? = nil, in scene: ZoneScene
  ) throws -> CommitResult {
    try scene.commit(.putSubscription(scene.account, device ?? scene.phone, subscription))
  }

  static let all = [
    ZoneStory("subscriptions are kept as they were made, and returned at sign-in by id") { scene in
      try scene.makeAccount()
      let query = Subscription.Query(
        recordType: Name(trusted: "Note"), zone: Name(trusted: "Z\u{301}"),
        conditions: [
          JSONMember("z", ["deep": [1, "two", .null]]),
          JSONMember("a \"b\"", try JSONValue(parsing: "1.5e3")),
        ], events: [.create, .delete])
      let anywhere = Subscription.Query(
        recordType: Name(trusted: "Memo"), zone: nil, conditions: [], events: .all)
      let made = [
        subscription("a", .query(query)), subscription("b", .zone(Name(trusted: "Notes"))),
        subscription("c", .query(anywhere)), subscription("d"),
      ]
      for index in [2, 0, 3, 1] {
        guard case .subscribed(_, isNew: true) = try put(made[index], in: scene) else {
          throw Unexpected(what: "it was not new")
        }
      }
      try scene.reopen()
      #expect(try scene.principal(scene.phone).subscriptions == made)
      #expect(try scene.principal(scene.tablet).subscriptions.isEmpty)
    },
    ZoneStory("a subscription of an id that is there is replaced") { scene in
      try scene.makeAccount()
      #expect(
        try put(subscription("a"), in: scene) == .subscribed([subscription("a")], isNew: true))
      let other = subscription("a", .zone(scene.zone))
      #expect(try put(other, in: scene) == .subscribed([other], isNew: false))
      // Ids are unique per device only.
      #expect(
        try put(subscription("a"), by: scene.tablet, in: scene)
          == .subscribed([subscription("a")], isNew: true))
      #expect(try scene.principal(scene.phone).subscriptions == [other])
    },
    ZoneStory("a subscription is removed once") { scene in
      try scene.makeAccount()
      _ = try put(subscription("a"), in: scene)
      _ = try put(subscription("b"), in: scene)
      let remove = CommitRequest.removeSubscription(
        scene.account, scene.phone, Name(trusted: "a"))
      #expect(try scene.commit(remove) == .subscribed([subscription("b")], isNew: false))
      #expect(try scene.refusal(remove) == .notFound)
      try scene.reopen()
      #expect(try scene.principal(scene.phone).subscriptions == [subscription("b")])
    },
    ZoneStory("a device has so many subscriptions and no more, but may replace one") { scene in
      try scene.makeAccount()
      for number in 0..<Limits.subscriptionsPerDevice {
        _ = try put(subscription("s\(number)"), in: scene)
      }
      let more = CommitRequest.putSubscription(
        scene.account, scene.phone, subscription("one more"))
      #expect(try scene.refusal(more) == .tooManySubscriptions)
      guard
        case .subscribed(let all, isNew: false) = try put(
          subscription("s0", .zone(scene.zone)), in: scene)
      else { throw Unexpected(what: "it was not replaced") }
      #expect(all.count == Limits.subscriptionsPerDevice)
      let remove = CommitRequest.removeSubscription(
        scene.account, scene.phone, Name(trusted: "s1"))
      _ = try scene.commit(remove)
      #expect(try scene.refusal(more) == nil)
    },
    ZoneStory("a revoked device has no subscriptions, also when its id comes back") { scene in
      try scene.makeAccount()
      _ = try put(subscription("a"), in: scene)
      #expect(try scene.commit(.revokeDevice(scene.account, scene.phone)) == .done)
      let late = CommitRequest.putSubscription(scene.account, scene.phone, subscription("b"))
      #expect(try scene.refusal(late) == .badToken)
      let remove = CommitRequest.removeSubscription(
        scene.account, scene.phone, Name(trusted: "a"))
      #expect(try scene.refusal(remove) == .badToken)
      try scene.commit(
        .issuePairing(scene.account, ZoneScene.pairing(5, until: scene.wall + 100)))
      try scene.commit(
        .redeemPairing(
          codeHash: ZoneScene.hash(5), device: ZoneScene.device(scene.phone, of: scene.account)))
      #expect(try scene.principal(scene.phone).subscriptions.isEmpty)
    },
  ]
}

import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

/// Search for devices that are to be woken.
enum DueWakeStories {
  private static let other = Name(trusted: "Other")

  private static func find(_ scene: ZoneScene) throws -> DueWakes {
    let found = try scene.store.dueWakes(
      .accounts([scene.account]), keys: ZoneScene.wakeKeys, wall: scene.wall)
    #expect(found.accounts == [scene.account])
    return found
  }

  private static func subscribe(_ scene: ZoneScene, _ kind: Subscription.Kind) throws {
    let subscription = Subscription(id: Name(trusted: "s"), kind: kind)
    try scene.commit(.putSubscription(scene.account, scene.phone, subscription))
  }

  /// Saves as many new records, by the tablet.
  private static func save(_ count: Int, in scene: ZoneScene) throws {
    let names = (0..<count).map { "r\(scene.wall) \($0)" }
    for start in stride(from: 0, to: count, by: Limits.batchRecords) {
      let batch = names[start...].prefix(Limits.batchRecords).map { ZoneScene.put($0) }
      try scene.save(scene.batch(batch, by: scene.tablet))
    }
  }

  static let all = relevance + positions

  private static let relevance = [
    ZoneStory("changes of other devices make a wake due, and a device's own do not") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      #expect(try find(scene).due.isEmpty)
      try scene.save(ZoneScene.put("own"))
      #expect(try find(scene).due.isEmpty)
      try scene.save(ZoneScene.put("other"), by: scene.tablet)
      #expect(try find(scene).due == [scene.sleeper()])
      let all = try scene.store.dueWakes(
        .after(nil, limit: 10), keys: ZoneScene.wakeKeys, wall: scene.wall)
      #expect(all.due == [scene.sleeper()] && all.next == nil)
      let nobody = try scene.store.dueWakes(
        .accounts([AccountID(rawValue: 404)]), keys: ZoneScene.wakeKeys, wall: scene.wall)
      #expect(nobody.due.isEmpty && nobody.accounts.isEmpty && nobody.nextAt == nil)
    },
    ZoneStory("a device without a verified registration is not woken") { scene in
      try scene.makeAccount()
      _ = try scene.putWake("a")
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      #expect(try find(scene).due.isEmpty)
      try scene.commit(scene.verification(of: "a"))
      #expect(try find(scene).due == [scene.sleeper()])
    },
    ZoneStory("a change in another zone than that of the subscription wakes nobody") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try subscribe(scene, .zone(other))
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      #expect(try find(scene).due.isEmpty)
      try scene.save(ZoneScene.put("a"), by: scene.tablet, zone: other)
      #expect(try find(scene).due == [scene.sleeper()])
    },
    ZoneStory("a query wakes for records with its type, members and events") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      func expect(_ isDue: Bool, _ mutation: Mutation) throws {
        try scene.save(mutation, by: scene.tablet)
        #expect(try find(scene).due.isEmpty == !isDue)
      }
      func query(_ events: ChangeEvents) -> Subscription.Kind {
        .query(
          .init(
            recordType: Name(trusted: "Note"), zone: nil, conditions: [.init("a", 1)],
            events: events))
      }
      try subscribe(scene, query([.create, .update]))
      try expect(false, ZoneScene.put("other", #"{"a":1}"#, type: "Memo"))
      try expect(false, ZoneScene.put("note", #"{"a":2}"#))
      try expect(false, ZoneScene.put("none", "{}"))
      try expect(true, ZoneScene.put("note", #"{"a":1.0,"b":2}"#, over: nil))
      try expect(false, ZoneScene.delete("note", over: nil))
      try subscribe(scene, query(.delete))
      #expect(try find(scene).due == [scene.sleeper()])
    },
  ]

  private static let positions = [
    ZoneStory("after a contact the search names the time at which a wake will be due") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      try scene.sight(contact: WakeContact(seen: scene.mark(1)))
      #expect(try find(scene).nextAt == nil)
      try scene.save(ZoneScene.put("b"), by: scene.tablet)
      let dueAt = scene.wall + Limits.wakeDelayMilliseconds
      let found = try find(scene)
      #expect(found.due.isEmpty && found.nextAt == dueAt)
      scene.wall = dueAt
      #expect(try find(scene).due == [scene.sleeper()])
    },
    ZoneStory("what was sent without a proof is announced after a pause") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("a"), by: scene.tablet)
      try scene.sight(contact: WakeContact(told: scene.mark(1)))
      let dueAt = scene.wall + Limits.wakeRepeats.lowerBound
      let found = try find(scene)
      #expect(found.due.isEmpty && found.nextAt == dueAt)
      // Something new does not wait for it.
      scene.wall += Limits.wakeDelayMilliseconds
      try scene.save(ZoneScene.put("own"))
      let passed = try find(scene)
      #expect(passed.due.isEmpty && passed.nextAt == dueAt)
      try scene.commit(.reportWakes(passed.reports))
      #expect(try scene.sleepers().map(\.wakes.progress.told) == [scene.mark(2)])
      #expect(try scene.sleepers().map(\.wakes.progress.seen) == [scene.mark(0)])
      scene.wall = dueAt
      #expect(try find(scene).due == [scene.sleeper()])
    },
    ZoneStory("changes that concern no device are passed over once") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("own"))
      try scene.sight(contact: WakeContact(told: scene.mark(1)))
      scene.wall += Limits.wakeRepeats.lowerBound
      let found = try find(scene)
      #expect(found.due.isEmpty && found.reports.count == 1)
      try scene.commit(.reportWakes(found.reports))
      #expect(try find(scene).reports.isEmpty)
      #expect(try scene.sleepers().map(\.wakes.progress.seen) == [scene.mark(1)])
    },
    ZoneStory("many changes that concern no device are not read again") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try subscribe(scene, .zone(other))
      try save(Limits.wakePassedRecords - 1, in: scene)
      #expect(try find(scene).reports.isEmpty)
      try scene.save(ZoneScene.put("one more"), by: scene.tablet)
      let found = try find(scene)
      #expect(found.due.isEmpty && found.reports.map(\.id) == [scene.sleeper()])
      // What happens in between stays to be looked at.
      try scene.save(ZoneScene.put("b"), by: scene.tablet, zone: other)
      try scene.commit(.reportWakes(found.reports))
      #expect(try find(scene).due == [scene.sleeper()])
    },
    ZoneStory("more changes than are looked at concern a device") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try subscribe(scene, .zone(other))
      try save(Limits.wakeScannedRecords + 1, in: scene)
      #expect(try find(scene).due == [scene.sleeper()])
    },
    ZoneStory("a report that a contact has overtaken changes nothing") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try scene.save(ZoneScene.put("own"))
      try scene.sight(contact: WakeContact(told: scene.mark(1)))
      try scene.save(ZoneScene.put("own 2"))
      scene.wall += Limits.wakeDelayMilliseconds
      let found = try find(scene)
      #expect(found.reports.count == 1)
      try scene.sight(contact: WakeContact(told: scene.mark(2)))
      try scene.commit(.reportWakes(found.reports))
      #expect(try scene.sleepers().map(\.wakes.progress.seen) == [scene.mark(0)])
    },
    ZoneStory("in a new generation every device is woken, whatever it subscribed to") { scene in
      try scene.makeAccount()
      try scene.registerForWakes()
      try subscribe(scene, .zone(other))
      try scene.restore(try scene.backUp())
      #expect(try find(scene).due == [scene.sleeper()])
    },
  ]
}

import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Records whose merge rules are a table: the replica keeps the stamps of their fields.
struct ReplicaRulesTests {
  private let me = "0000000000000001"
  private let other = "0000000000000002"

  private func set(_ name: String, _ value: JSONValue?) -> EditRequest {
    EditRequest(key: .desk("a"), type: TestApp.task) { context throws(EditRefusal) in
      (context.current?.value ?? [:]).setting(name, to: value)
    }
  }

  private func fields(_ harness: ReplicaHarness) throws -> JSONValue {
    try #require(try harness.store.record(.desk("a"))?.value)
  }

  @Test func aNewRecordHasNoStampsAndALaterEditHasThem() throws {
    var harness = try ReplicaHarness()
    harness.edit(set("title", "milk"))
    #expect(try fields(harness) == ["title": "milk"])
    harness.pass(milliseconds: 5)
    harness.edit(set("done", true))
    #expect(
      try fields(harness) == [
        "title": "milk", "done": true,
        "~": ["": [1_000_000, .string(me)], "done": [1_000_005, .string(me)]],
      ])
  }

  @Test func whatAnotherProgramWroteWithoutStampsIsStampedBeforeItIsABase() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("a", TestApp.task, ["title": "milk", "note": 1], at: 10, tag: 2)
    ])
    // curl changes the title alone, with an old clock.
    try harness.apply([
      harness.record("a", TestApp.task, ["title": "tea", "note": 1], at: 4, tag: 3)
    ])
    #expect(
      try fields(harness) == [
        "title": "tea", "note": 1,
        "~": ["": [10, .string(other)], "title": [11, .string(other)]],
      ])
  }

  @Test func aVersionThatAnotherDeviceSavesAgainHasTheBytesThatTheRelayHas() throws {
    var harness = try ReplicaHarness()
    harness.edit(set("title", "milk"))
    let sent = try harness.freezeOneBatch()
    try harness.answer(sent, [.saved(name: sent.mutations[0].name, tag: 2)])
    // The relay lost it, and a device that had read it brought it back.
    let back = harness.record("a", TestApp.task, ["title": "milk"], at: 1_000_000, tag: 9)
    try harness.apply([back])
    #expect(try harness.store.record(.desk("a")) == back)
  }

  @Test func anOldVersionThatAnotherDeviceSavesAgainIsNoChangeOfTheNewOne() throws {
    for isEdited in [false, true] {
      var harness = try ReplicaHarness()
      let first = harness.record("a", TestApp.task, ["title": "milk"], at: 10, tag: 2)
      try harness.apply([first])
      try harness.apply([
        harness.record(
          "a", TestApp.task, ["title": "tea", "~": ["": [20, "b"]]], at: 20, tag: 3)
      ])
      // The relay has forgotten a deletion, and that it has saved the first version before.
      var again = first
      again.tag = 9
      if isEdited { harness.edit(set("done", true)) }
      try harness.apply([again])
      if isEdited {
        #expect(try harness.store.outbox().map(\.base) == [again])
      } else {
        #expect(try harness.store.record(.desk("a")) == again)
      }
    }
  }

  @Test func theSameVersionKeepsTheStampsThatThisDeviceHasGivenIt() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("a", TestApp.task, ["title": "milk", "note": 1], at: 10, tag: 2)
    ])
    try harness.apply([
      harness.record("a", TestApp.task, ["title": "tea", "note": 1], at: 20, tag: 3)
    ])
    let stamped = try fields(harness)
    #expect(stamped["~"]?["title"] == [20, .string(other)])
    var again = harness.record("a", TestApp.task, ["title": "tea", "note": 1], at: 20, tag: 4)
    again.device = DeviceID(rawValue: 3)
    try harness.apply([again])
    #expect(try fields(harness) == stamped)
    #expect(try harness.store.record(.desk("a"))?.tag == 4)
  }

  @Test func anEditAfterItIsNewerThanEveryStamp() throws {
    var harness = try ReplicaHarness()
    let far: Int64 = 9_000_000
    try harness.apply([
      harness.record("a", TestApp.task, ["title": "milk"], at: far, tag: 2)
    ])
    try harness.apply([harness.record("a", TestApp.task, ["title": "tea"], at: 4, tag: 3)])
    harness.edit(set("title", "bread"))
    let record = try #require(try harness.store.record(.desk("a")))
    #expect(record.modifiedAt == far + 2)
    #expect(record.value?["~"]?[""] == [.number(JSONNumber(far + 2)), .string(me)])
  }

  @Test func bothChangesOfDifferentFieldsStand() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("a", TestApp.task, ["title": "milk", "done": false], at: 10, tag: 2)
    ])
    harness.edit(set("done", true))
    try harness.apply([
      harness.record(
        "a", TestApp.task,
        ["title": "tea", "done": false, "~": ["": [10, "b"], "title": [2_000_000, "b"]]],
        at: 2_000_000, tag: 3)
    ])
    #expect(harness.conflicts == 1)
    let merged = try fields(harness)
    #expect(merged["title"] == "tea" && merged["done"] == true)
    let sent = try harness.freezeOneBatch()
    #expect(sent.mutations.map(\.baseTag) == [3])
  }

  @Test func whatAPersonChoseHasTheStampsOfAChangeOfTheOtherVersion() throws {
    var harness = try ReplicaHarness()
    harness.edit(.fields("a", TestApp.poll, ["title": "milk", "note": 1, "mine": true]))
    let batch = try harness.freezeOneBatch()
    let theirs = harness.record(
      "a", TestApp.poll,
      ["title": "tea", "note": 1, "~": ["": [10, "b"], "title": [2_000_000, "b"]]],
      at: 20, tag: 4)
    try harness.answer(batch, [.conflict(name: theirs.name, record: theirs)])
    let chosen = try harness.decide("a", keepLocal: true).get()
    // Later than every stamp in either version.
    #expect(chosen.modifiedAt == 2_000_001)
    let demanded: JSONValue = [
      "title": "milk", "note": 1, "mine": true,
      "~": ["": [2_000_001, .string(me)], "note": [10, "b"]],
    ]
    #expect(chosen.value == demanded)
    let sent = try harness.freezeOneBatch()
    #expect(sent.mutations[0].baseTag == 4)
    // A device that had their version holds what the relay has.
    var another = try ReplicaHarness()
    try another.apply([theirs])
    var saved = chosen
    saved.tag = 5
    try another.apply([saved])
    #expect(try another.store.record(.desk("a")) == saved)
  }

  @Test func whatAPersonChoseInThePlaceOfADeletionHasStamps() throws {
    var harness = try ReplicaHarness()
    harness.edit(.fields("a", TestApp.poll, ["title": "milk"]))
    let batch = try harness.freezeOneBatch()
    let gone = harness.record("a", TestApp.poll, nil, at: 1_000_010, tag: 4)
    try harness.answer(batch, [.conflict(name: gone.name, record: gone)])
    let chosen = try harness.decide("a", keepLocal: true).get()
    #expect(chosen.value == ["title": "milk", "~": ["": [1_000_011, .string(me)]]])
  }

  @Test func aCorrectedClockMovesTheStampsOfTheChangeAndNoOthers() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("a", TestApp.task, ["title": "milk"], at: 10, tag: 2)
    ])
    harness.isTrusted = false
    harness.offset = 500_000
    harness.edit(set("done", true))
    #expect(try fields(harness)["~"]?["done"] == [1_500_000, .string(me)])
    harness.offset = 0
    harness.isTrusted = true
    let sent = try harness.freezeOneBatch()
    #expect(sent.mutations[0].modifiedAt == 1_000_000)
    let stamps = try fields(harness)["~"]
    #expect(stamps?["done"] == [1_000_000, .string(me)])
    #expect(stamps?[""] == [10, .string(other)])
  }

  @Test func editsOfOneTransactionAreAllMadeOrNone() throws {
    var harness = try ReplicaHarness()
    harness.perform(
      .transact(OrderID(rawValue: 1)) { session throws(EditFailure) in
        try session.write(.desk("a"), type: TestApp.task, fields: ["title": "a"])
        try session.write(.desk("b"), type: TestApp.task, fields: ["title": "b"])
        // Each edit sees those before it.
        let seen = try session.context(for: .desk("a")).current?.value
        try session.write(.desk("c"), type: TestApp.task, fields: ["seen": seen ?? .null])
      })
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.map(\.name.text) == ["a", "b", "c"])
    harness.perform(
      .transact(OrderID(rawValue: 2)) { session throws(EditFailure) in
        try session.write(.desk("d"), type: TestApp.task, fields: ["title": "d"])
        throw .refused(EditRefusal("no"))
      })
    #expect(try harness.store.record(.desk("d")) == nil)
    #expect(harness.changed.isEmpty)
    guard case .success(.transacted(_, let result)) = harness.outcome.result else {
      throw TestFault("another result")
    }
    #expect(result == .failure(.refused(EditRefusal("no"))))
  }

  @Test func aTransactionIsOneBatchWhateverWaitsBesides() throws {
    var harness = try ReplicaHarness()
    harness.edit(set("title", "before"))
    harness.perform(
      .transact(OrderID(rawValue: 1)) { session throws(EditFailure) in
        for number in 0..<3 {
          try session.write(.desk("t\(number)"), type: TestApp.task, fields: ["n": 1])
        }
      })
    var bounds = BatchBounds()
    bounds.records = 2
    let sent = [try harness.freezeOneBatch(bounds)]
    try harness.answer(sent[0], [.saved(name: sent[0].mutations[0].name, tag: 5)])
    let second = try harness.freezeOneBatch(bounds)
    #expect(second.mutations.map(\.name.text) == ["t0", "t1", "t2"])
  }

  @Test func editsBeforeJoiningBecomeTheDevicesOwn() throws {
    let store = MemoryReplicaStore()
    var replica = Replica(store: store, apps: [TestApp()], editsBeforeJoining: true)
    var now: Int64 = 1_000
    func perform(_ task: ReplicaTask, _ replica: inout Replica<MemoryReplicaStore>, _ now: Int64)
      -> ReplicaOutcome
    {
      let clock = ClockReading(wall: now, offset: 0, isTrusted: false)
      return replica.perform(ReplicaJob(task: task, offer: nil, clock: clock))
    }
    _ = perform(.edit(OrderID(rawValue: 1), set("title", "milk")), &replica, now)
    now += 5
    let counted = EditRequest(key: .desk("a"), type: TestApp.task) { context throws(EditRefusal) in
      (context.current?.value ?? [:])
        .setting("count", to: .object([JSONMember(context.device.text, [3, 0])]))
        .setting("done", to: true)
    }
    _ = perform(.edit(OrderID(rawValue: 2), counted), &replica, now)
    let identity = HomeIdentity(
      relay: "http://relay:1",
      credentials: Credentials(
        account: AccountID(rawValue: 7), device: DeviceID(rawValue: 1), token: "secret"),
      deviceName: "desk")
    let outcome = perform(.join(OrderID(rawValue: 3), identity), &replica, now)
    guard case .success(.joined(_, .success(let home))) = outcome.result else {
      throw TestFault("not joined")
    }
    #expect(home.identity == identity)
    let record = try #require(try store.record(.desk("a")))
    #expect(record.device == DeviceID(rawValue: 1))
    #expect(
      record.value == [
        "title": "milk", "done": true, "count": .object([JSONMember(me, [3, 0])]),
        "~": ["": [1_000, .string(me)], "done": [1_005, .string(me)]],
      ])
    #expect(try store.outbox().count == 1)
  }

  @Test func aRecordsStateFollowsItsChange() throws {
    var harness = try ReplicaHarness()
    func state(_ harness: inout ReplicaHarness) throws -> RecordSyncState {
      harness.perform(.readState(OrderID(rawValue: 9), .desk("a")))
      guard case .success(.stateRead(_, let state)) = harness.outcome.result else {
        throw TestFault("no state")
      }
      return state
    }
    #expect(try state(&harness) == .synced)
    harness.edit(set("title", "milk"))
    #expect(try state(&harness) == .waiting)
    let batch = try harness.freezeOneBatch()
    #expect(try state(&harness) == .waiting)
    try harness.answer(batch, [.saved(name: batch.mutations[0].name, tag: 5)])
    #expect(try state(&harness) == .synced)
  }
}

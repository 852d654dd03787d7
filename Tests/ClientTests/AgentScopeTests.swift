import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

/// Devices that were paired for a part of an account: they send nothing that the relay would
/// refuse, and the user is told at once.
struct AgentScopeTests {
  private static let elsewhere = Name(trusted: "Elsewhere")
  private let elsewhere = AgentScopeTests.elsewhere
  private static let desk = DeviceScope(zones: [TestApp.zone])
  private static let reader = DeviceScope(zones: [TestApp.zone, elsewhere], isReadOnly: true)

  @Test(arguments: [desk, reader, DeviceScope(zones: nil, isReadOnly: true)])
  func anEditOutOfTheScopeIsRefusedBeforeItEntersTheOutbox(_ scope: DeviceScope) throws {
    let stage = try Stage()
    let device = try stage.device(1, scope: scope)
    // Without a network: the device knows by itself.
    device.isCutOff = true
    try stage.run()
    #expect(throws: EditFailure.outOfScope(elsewhere, scope)) {
      try device.edit(.text("no", in: elsewhere))?.get()
    }
    #expect(try device.store.outbox().isEmpty && device.store.allRecords().isEmpty)
    device.isCutOff = false
    try stage.run(60_000)
    #expect(stage.relay.saves.isEmpty)
    #expect(device.status.state == .inSync && device.status.zonesOutOfScope.isEmpty)
  }

  @Test func aTransactionWithOneEditOutOfTheScopeMakesNone() throws {
    let stage = try Stage()
    let device = try stage.device(1, scope: Self.desk)
    try stage.run()
    let elsewhere = elsewhere
    let id = try device.order {
      .transact($0) { session throws(EditFailure) in
        try session.write(.desk("b"), type: TestApp.note, fields: ["text": "in"])
        try session.write(
          RecordKey(zone: elsewhere, name: Name(trusted: "a")), type: TestApp.note,
          fields: ["text": "out"])
      }
    }
    for case .transacted(id, let result) in device.reports {
      #expect(throws: EditFailure.outOfScope(elsewhere, Self.desk)) { try result.get() }
    }
    #expect(try device.record("b") == nil && device.store.outbox().isEmpty)
  }

  @Test func aDeviceThatMayOnlyReadReceivesAndLeavesDueEditsToOthers() throws {
    let stage = try Stage()
    let (reader, other) = (try stage.device(1, scope: Self.reader), try stage.device(2))
    try stage.run()
    let due = JSONNumber(stage.now + 30_000)
    try other.edit(
      .fields("egg", TestApp.egg, ["rings": 0, "dueAt": .number(due), "owner": "nobody"]))
    try other.edit(.note("b", "hello"))
    try stage.run()
    #expect(try reader.text("b") == "hello")
    try other.order { _ in .goOffline }
    try stage.run(300_000)
    #expect(try reader.record("egg")?.value?["rings"] == 0)
    #expect(try reader.store.outbox().isEmpty)
    #expect(throws: EditFailure.outOfScope(TestApp.zone, Self.reader)) {
      try reader.edit(.note("b", "mine"))?.get()
    }
    #expect(throws: EditFailure.outOfScope(TestApp.zone, Self.reader)) {
      try reader.edit(.delete("b"))?.get()
    }
    try other.order { _ in .goOnline }
    try stage.run(60_000)
    #expect(try reader.record("egg")?.value?["rings"] == 1)
    #expect(reader.status.state == .inSync)
  }

  @Test func anAppOfAnotherZoneIsNotShown() throws {
    let stage = try Stage()
    let device = try stage.device(1, apps: [TestApp(), TallyApp()], scope: Self.desk)
    try stage.run()
    let failure = EditFailure.outOfScope(TallyApp().zone, Self.desk)
    #expect(throws: failure) { try device.show("tally", ["show": "tallies"]) }
    #expect(throws: failure) {
      try device.perform("tally", ["do": "add", "tally": "a", "by": 1])?.get()
    }
  }

  /// The home was joined again, by a command, with a narrower code.
  @Test func whatWaitedBeforeTheDeviceWasPairedForLessStaysAndTheRestGoesOn() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    try stage.run()
    try device.edit(.text("waits", in: elsewhere))
    try device.edit(.note("b", "goes"))
    try device.store.write([.setIdentity(TestDevice.identity(device.id, Self.desk))])
    device.isCutOff = false
    try device.restart()
    try stage.run(600_000)
    #expect(try stage.relay.record("b")?.text == "goes")
    #expect(stage.relay.saves.allSatisfy { $0.zone == TestApp.zone })
    #expect(device.status.state == .needsPerson)
    #expect(device.status.zonesOutOfScope == [elsewhere] && device.status.waiting == 1)
    // Paired for everything again, it goes.
    let id = device.id
    try device.order { .join($0, TestDevice.identity(id, .everything)) }
    try stage.run(60_000)
    #expect(try stage.relay.record("a", zone: elsewhere.text)?.text == "waits")
    #expect(device.status.state == .inSync && device.status.zonesOutOfScope.isEmpty)
  }

  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func aZoneThatTheRelayRefusesWaitsAndTheOthersGoOn(_ transport: Transport) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [transport])
    try stage.run()
    let refusals = stage.relay.refuseSaves(
      into: elsewhere, Refusal(.outOfScope, "not for this device"))
    try device.edit(.text("waits", in: elsewhere))
    try device.edit(.note("b", "goes"))
    try stage.run(60_000)
    #expect(refusals.count == 1)
    #expect(try stage.relay.record("b")?.text == "goes")
    #expect(device.status.state == .needsPerson)
    #expect(device.status.zonesOutOfScope == [elsewhere])
    #expect(device.status.blockedZones.isEmpty && device.status.waiting == 1)
    for index in 0..<10 {
      try device.edit(.note("b", "\(index)"))
      try stage.run(120_000)
    }
    #expect(try stage.relay.record("b")?.text == "9")
    #expect(refusals.count == 1)
  }
}

/// The same on a replica alone.
struct ReplicaScopeTests {
  private func harness(_ scope: DeviceScope) throws -> ReplicaHarness {
    var harness = try ReplicaHarness()
    try pair(&harness, scope)
    return harness
  }

  /// Joins the home again, as a command does.
  private func pair(_ harness: inout ReplicaHarness, _ scope: DeviceScope) throws {
    var identity = try #require(try harness.store.identity())
    identity.credentials.scope = scope
    try harness.store.write([.setIdentity(identity)])
    harness.reopen()
  }

  private func position(_ harness: ReplicaHarness) throws -> ChangePosition? {
    guard case .loaded(let home) = try harness.outcome.result.get() else { return nil }
    return home.position
  }

  /// The cursor says nothing about zones that the relay has left out.
  @Test func aHomeThatIsPairedForOtherZonesReadsFromTheBeginning() throws {
    var harness = try ReplicaHarness()
    harness.reopen()
    #expect(try position(harness)?.cursor != nil, "everything, as before scopes")
    try pair(&harness, DeviceScope(zones: [TestApp.zone]))
    #expect(try position(harness) == .nothing)
    #expect(try harness.store.cursor() == nil)
    harness.page([harness.record("a", "there", at: 5, tag: 2)], from: nil, to: 3)
    harness.reopen()
    #expect(try position(harness)?.cursor?.sequence == 3, "once is enough")
    // Less access to the same zones needs no reading.
    try pair(&harness, DeviceScope(zones: [TestApp.zone], isReadOnly: true))
    #expect(try position(harness)?.cursor?.sequence == 3)
    try pair(&harness, .everything)
    #expect(try position(harness) == .nothing)
  }

  @Test func recordsThatTheDeviceIsNoLongerPairedForGoWithTheSnapshot() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "there", at: 5, tag: 2)])
    try pair(&harness, DeviceScope(zones: [Name(trusted: "Other")]))
    harness.page([], from: nil, to: 9)
    #expect(try harness.store.allRecords().isEmpty)
  }

  @Test func aConflictEndsWithTheRelaysVersionAlone() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 1]))
    let batch = try harness.freezeOneBatch()
    let server = harness.record("a", TestApp.choice, ["v": 2], at: harness.now + 50, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let scope = DeviceScope(zones: nil, isReadOnly: true)
    try pair(&harness, scope)
    #expect(throws: EditFailure.outOfScope(TestApp.zone, scope)) {
      try harness.decide("a", keepLocal: true).get()
    }
    #expect(try harness.decide("a", keepLocal: false).get().value == ["v": 2])
    #expect(try harness.store.outbox().isEmpty)
  }

  /// Others bring back what the relay has lost; a device that cannot save follows the relay.
  @Test func aDeviceThatMayOnlyReadBringsNothingBack() throws {
    var harness = try harness(DeviceScope(zones: nil, isReadOnly: true))
    try harness.apply([harness.record("kept", "old", at: 5, tag: 2)])
    try harness.apply([harness.record("lost", "new", at: 6, tag: 9)])
    harness.reportRestore(through: 4)
    harness.page([harness.record("kept", "old", at: 5, tag: 2)], from: nil, to: 4)
    #expect(try harness.store.allRecords().map(\.name.text) == ["kept"])
    #expect(!harness.outbox.mayBringBack)
    #expect(harness.freezeBatch() == nil)
    #expect(try harness.store.outbox().isEmpty)
  }

  @Test func whatIsOutOfTheScopeIsNeverChosenForABatch() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "waits"))
    try pair(&harness, DeviceScope(zones: [TestApp.zone], isReadOnly: true))
    #expect(harness.outbox.outOfScope == [TestApp.zone])
    #expect(harness.freezeBatch() == nil)
  }
}

import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

/// Zones that a user switches off and on again.
struct AgentZonesTests {
  private func set(
    _ device: TestDevice, _ isOn: Bool, zone: Name = TestApp.zone
  ) throws -> Result<Bool, EditFailure>? {
    let id = try device.order { .setSyncing($0, zone: zone, isOn) }
    for case .switched(id, let result) in device.reports { return result }
    return nil
  }

  private func shown(_ device: TestDevice, _ name: String) -> Int {
    device.changes.joined().count { $0.key == .desk(name) }
  }

  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func whileItIsOffNothingGoesOutOrComesIn(_ transport: Transport) throws {
    let stage = try Stage()
    let phone = try stage.device(1, transports: [transport])
    let laptop = try stage.device(2)
    try stage.run(40_000)
    try phone.edit(.note("before", "known"))
    try stage.run(40_000)
    #expect(try laptop.text("before") == "known")
    #expect(try set(phone, false)?.get() == true)
    #expect(try set(phone, false)?.get() == false)
    phone.forgetReports()
    try phone.edit(.note("mine", "from the phone"))
    try laptop.edit(.note("theirs", "from the laptop"))
    try laptop.edit(.note("before", "changed"))
    try stage.run(60_000)
    #expect(try stage.relay.record("mine") == nil)
    #expect(try phone.record("theirs") == nil && phone.text("before") == "known")
    #expect(try laptop.record("mine") == nil)
    #expect(phone.status.state == .inSync && phone.status.waiting == 0)
    #expect(phone.status.switchedOff == [.init(zone: TestApp.zone, waiting: 1)])
    #expect(try set(phone, true)?.get() == true)
    try stage.run(60_000)
    for device in [phone, laptop] {
      #expect(try device.text("mine") == "from the phone")
      #expect(try device.text("theirs") == "from the laptop")
      #expect(try device.text("before") == "changed")
      #expect(device.status.state == .inSync)
    }
    #expect(phone.status.switchedOff.isEmpty)
    #expect(shown(phone, "theirs") == 1 && shown(phone, "before") == 1)
  }

  @Test func whatIsKnownIsNotShownASecondTime() throws {
    let stage = try Stage()
    let (phone, laptop) = (try stage.device(1), try stage.device(2))
    try stage.run()
    for number in 0..<20 { try laptop.edit(.note("n\(number)", "x")) }
    try stage.run()
    _ = try set(phone, false)
    try stage.run()
    phone.forgetReports()
    _ = try set(phone, true)
    try stage.run(5_000)
    #expect(phone.changes.isEmpty)
    #expect(phone.status.state == .inSync)
  }

  @Test func itStaysOffOverARestartAndOtherZonesGoOn() throws {
    let stage = try Stage()
    let apps: [any App] = [TestApp(), TallyApp()]
    let (phone, laptop) = (try stage.device(1, apps: apps), try stage.device(2, apps: apps))
    try stage.run()
    _ = try set(phone, false)
    try phone.edit(.note("mine", "waits"))
    try phone.restart()
    try stage.run(5_000)
    try laptop.edit(.note("theirs", "out"))
    try laptop.perform("tally", ["do": "add", "tally": "steps", "by": 1])
    try phone.perform("tally", ["do": "add", "tally": "steps", "by": 1])
    try stage.run(5_000)
    #expect(try phone.show("tally", ["show": "tallies"])?.json == ["steps": 2])
    #expect(try phone.record("theirs") == nil)
    #expect(try stage.relay.record("mine") == nil)
    #expect(phone.status.state == .inSync)
    try phone.restart()
    try stage.run(5_000)
    _ = try set(phone, true)
    try stage.run(5_000)
    #expect(try phone.text("theirs") == "out" && laptop.text("mine") == "waits")
  }

  @Test func editsOfOneRecordMeetByTheRule() throws {
    let stage = try Stage()
    let (phone, laptop) = (try stage.device(1), try stage.device(2))
    try stage.run()
    try phone.edit(.note("a", "first"))
    try stage.run()
    _ = try set(phone, false)
    try laptop.edit(.note("a", "laptop, older"))
    try stage.run(1_000)
    try phone.edit(.note("a", "phone, newer"))
    try stage.run(1_000)
    _ = try set(phone, true)
    try stage.run(5_000)
    for device in [phone, laptop] { #expect(try device.text("a") == "phone, newer") }
    #expect(phone.status.traffic.conflicts == 1)
  }

  /// The relay has forgotten the earlier history: the device reads a snapshot, and skips the zone;
  /// once the zone is on, it reads another one.
  @Test func aSnapshotMeanwhileLeavesTheZoneAlone() throws {
    let stage = try Stage()
    let (phone, laptop) = (try stage.device(1), try stage.device(2))
    try stage.run()
    for name in ["stays", "goes"] { try laptop.edit(.note(name, "known")) }
    try stage.run()
    _ = try set(phone, false)
    try phone.edit(.note("mine", "waits"))
    try laptop.edit(
      EditRequest(key: .desk("goes"), type: TestApp.note) { _ throws(EditRefusal) in nil })
    try laptop.edit(.note("theirs", "new"))
    try stage.run()
    stage.relay.expiries[phone.id] = Refusal(.tokenExpired, "too old")
    try phone.cut()
    try stage.run(60_000)
    #expect(try phone.text("goes") == "known" && phone.record("theirs") == nil)
    #expect(phone.status.state == .inSync)
    _ = try set(phone, true)
    try stage.run(60_000)
    #expect(try phone.record("goes")?.isDeleted != false)
    #expect(try phone.text("theirs") == "new" && phone.text("stays") == "known")
    #expect(try laptop.text("mine") == "waits")
    #expect(phone.status.state == .inSync)
  }

  /// Other programs of a home may have zones that this one has no app for.
  @Test func aZoneThatNoAppKnowsIsSwitchedLikeAnyOther() throws {
    let stage = try Stage()
    let (phone, laptop) = (try stage.device(1), try stage.device(2))
    try stage.run()
    let zone = Name(trusted: "Elsewhere")
    #expect(try set(phone, false, zone: zone)?.get() == true)
    #expect(try set(phone, false, zone: zone)?.get() == false)
    func edit(_ name: String) -> EditRequest {
      EditRequest(
        key: RecordKey(zone: zone, name: Name(trusted: name)), type: TestApp.note
      ) { _ in ["text": "there"] }
    }
    try phone.edit(edit("mine"))
    try laptop.edit(edit("theirs"))
    try stage.run(60_000)
    #expect(
      phone.status.switchedOff == [AgentStatus.SwitchedOff(zone: zone, waiting: 1)])
    #expect(try stage.relay.record("mine", zone: zone.text) == nil)
    #expect(try phone.store.record(edit("theirs").key) == nil)
    #expect(try set(phone, true, zone: zone)?.get() == true)
    try stage.run(60_000)
    #expect(try laptop.store.record(edit("mine").key) != nil)
    #expect(try phone.store.record(edit("theirs").key) != nil)
    #expect(phone.status.state == .inSync && phone.status.switchedOff.isEmpty)
  }

  @Test func noMoreZonesAreSwitchedOffThanAHomeMayRemember() throws {
    let stage = try Stage()
    let phone = try stage.device(1)
    try stage.run()
    for number in 0..<ReplicaState.zonesOffMax {
      #expect(try set(phone, false, zone: Name(trusted: "Zone \(number)"))?.get() == true)
    }
    #expect(throws: EditFailure.self) { try set(phone, false)?.get() }
    #expect(try set(phone, true, zone: Name(trusted: "Zone 7"))?.get() == true)
    #expect(try set(phone, false)?.get() == true)
  }

  @Test func aZoneIsNotSwitchedIfTheStoreFails() throws {
    let stage = try Stage()
    let phone = try stage.device(1)
    try stage.run()
    phone.fail(.diskFull(path: "home"))
    #expect(throws: EditFailure.storage(.diskFull(path: "home"))) { try set(phone, false)?.get() }
    phone.fail(nil)
    #expect(phone.status.switchedOff.isEmpty)
  }

  /// Texts copied while the zone was off must not displace unread ones of other devices.
  @Test func nothingIsTooMuchBeforeTheZoneIsOnAndCaughtUp() throws {
    let stage = try Stage()
    let apps: [any App] = [TestApp(), TallyApp()]
    let (phone, laptop) = (try stage.device(1, apps: apps), try stage.device(2, apps: apps))
    try stage.run()
    _ = try set(phone, false, zone: Name(trusted: "Tally"))
    for name in ["a", "b", "c", "d", "e"] {
      try phone.perform("tally", ["do": "add", "tally": .string(name), "by": 1])
    }
    try laptop.perform("tally", ["do": "add", "tally": "z", "by": 1])
    try stage.run(60_000)
    #expect(try phone.show("tally", ["show": "tallies"])?.json.members?.count == 5)
    _ = try set(phone, true, zone: Name(trusted: "Tally"))
    try stage.run(60_000)
    for device in [phone, laptop] {
      #expect(try device.show("tally", ["show": "tallies"])?.json == ["d": 1, "e": 1, "z": 1])
    }
  }

  /// This requires no other device.
  @Test func oneDeviceAloneLetsGoOfWhatIsTooMuch() throws {
    let stage = try Stage()
    let phone = try stage.device(1, apps: [TallyApp()])
    try stage.run()
    for name in ["a", "b", "c", "d", "e"] {
      try phone.perform("tally", ["do": "add", "tally": .string(name), "by": 1])
      try stage.run(2_000)
    }
    #expect(
      try phone.show("tally", ["show": "tallies"])?.json == ["c": 1, "d": 1, "e": 1])
    #expect(phone.status.state == .inSync)
  }
}

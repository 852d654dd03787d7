import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

/// Orders to an app that only these tests define.
struct AgentAppTests {
  private let apps: [any App] = [TestApp(), TallyApp()]
  private let tallies: JSONValue = ["show": "tallies"]

  private func add(_ tally: String, _ amount: Int64 = 1) -> JSONValue {
    ["do": "add", "tally": .string(tally), "by": .number(JSONNumber(amount))]
  }

  @Test func anOrderOnOneDeviceIsSeenOnTheOther() throws {
    let stage = try Stage()
    let (phone, laptop) = (try stage.device(1, apps: apps), try stage.device(2, apps: apps))
    try stage.run()
    let view = try phone.perform("tally", add("steps", 5))?.get()
    #expect(view?.lines == ["steps: 5"])
    try stage.run()
    #expect(try laptop.show("tally", tallies)?.json == ["steps": 5])
    #expect(phone.status.traffic.edits == 1)
  }

  @Test func withoutARelayEverythingWorksAndAddsUpLater() throws {
    let stage = try Stage()
    let devices = try (1...3).map { try stage.device($0, apps: apps) }
    try devices[0].perform("tally", add("steps"))
    try stage.run()
    for device in devices {
      device.isCutOff = true
      try device.cut()
      try device.perform("tally", add("steps", 10))
      #expect(try device.show("tally", tallies)?.json == ["steps": 11])
    }
    for device in devices { device.isCutOff = false }
    try stage.run(120_000)
    for device in devices { #expect(try device.show("tally", tallies)?.json == ["steps": 31]) }
  }

  @Test func anOrderIsDoneAsAWholeOrNotAtAll() throws {
    let stage = try Stage()
    let device = try stage.device(1, apps: apps)
    try stage.run()
    let moved = try device.perform("tally", ["do": "move", "from": "a", "to": "b"])
    #expect(throws: EditFailure.refused(EditRefusal("nothing of a is left here"))) {
      try moved?.get()
    }
    #expect(try device.show("tally", tallies)?.json == [:])
    #expect(try device.store.outbox().isEmpty && device.changes.isEmpty)
    try device.perform("tally", add("a"))
    #expect(
      try device.perform("tally", ["do": "move", "from": "a", "to": "b"])?.get().lines
        == ["moved to b"])
    #expect(try device.show("tally", tallies)?.json == ["a": 0, "b": 1])
    try stage.run()
    #expect(device.status.state == .inSync)
  }

  @Test func anAnswerIsInTheLanguageOfThePersonWhoAsks() throws {
    let stage = try Stage()
    let device = try stage.device(1, apps: apps)
    try stage.run()
    func inJapanese(_ request: JSONValue) -> JSONValue { request.setting("language", to: "ja") }
    try Language.chinese { () throws in
      #expect(try device.show("tally", inJapanese(["show": "language"]))?.json == "ja")
      // A program names no language.
      #expect(try device.show("tally", ["show": "language"])?.json == "en")
    }
    // The app never sees the language among the members that it knows.
    #expect(try device.perform("tally", inJapanese(add("a")))?.get().lines == ["a: 1"])
    #expect(try device.show("tally", inJapanese(tallies))?.json == ["a": 1])
    let moved = try device.perform("tally", inJapanese(["do": "move", "from": "b", "to": "a"]))
    #expect(throws: EditFailure.refused(EditRefusal("bはここにもうありません"))) { try moved?.get() }
  }

  @Test func whatNobodyUnderstandsIsRefusedInASentence() throws {
    let stage = try Stage()
    let device = try stage.device(1, apps: apps)
    for (app, order) in [("tally", ["do": "dance"]), ("chess", [:]), ("desk", [:])]
      as [(String, JSONValue)]
    {
      let result = try device.perform(app, order)
      guard case .failure(.refused(let refusal))? = result else {
        Issue.record("\(app): \(String(describing: result))")
        continue
      }
      #expect(!refusal.reason.isEmpty)
      #expect(throws: EditFailure.self) { try device.show(app, order) }
    }
  }

  @Test func whereTheDiskIsFullNothingIsDoneAndThatIsSaid() throws {
    let stage = try Stage()
    let device = try stage.device(1, apps: apps)
    try stage.run()
    device.fail(.diskFull(path: "home"))
    #expect(throws: EditFailure.storage(.diskFull(path: "home"))) {
      try device.perform("tally", add("a"))?.get()
    }
    device.fail(nil)
    #expect(try device.show("tally", tallies)?.json == [:])
    try device.perform("tally", add("a"))
    try stage.run(60_000)
    #expect(device.status.state == .inSync)
  }

  /// Only a caught-up device may remove surplus records.
  @Test func whatIsTooMuchGoesOnceTheDeviceIsCaughtUp() throws {
    let stage = try Stage()
    let (phone, laptop) = (try stage.device(1, apps: apps), try stage.device(2, apps: apps))
    try stage.run()
    phone.isCutOff = true
    try phone.cut()
    for name in ["a", "b", "c", "d", "e"] { try phone.perform("tally", add(name)) }
    try stage.run(60_000)
    #expect(try phone.show("tally", tallies)?.json.members?.count == 5)
    phone.isCutOff = false
    try stage.run(120_000)
    for device in [phone, laptop] {
      #expect(try device.show("tally", tallies)?.json == ["c": 1, "d": 1, "e": 1])
    }
    // Records removed before they were sent never reach the relay.
    #expect(try stage.relay.record("a", zone: "Tally") == nil)
    try laptop.perform("tally", add("f"))
    try stage.run(5_000)
    for device in [phone, laptop] {
      #expect(try device.show("tally", tallies)?.json == ["d": 1, "e": 1, "f": 1])
    }
    #expect(try stage.relay.record("c", zone: "Tally")?.isDeleted != false)
    #expect(phone.status.state == .inSync && laptop.status.state == .inSync)
  }

  @Test func whatDevicesAreCalledIsRememberedOverARestart() throws {
    let stage = try Stage()
    let device = try stage.device(1, apps: apps)
    try stage.run()
    #expect(try device.show("tally", ["show": "names"])?.lines == ["device 1"])
    let names = [DeviceID(rawValue: 1): "phone", DeviceID(rawValue: 2): "laptop"]
    try device.order { _ in .nameDevices(names) }
    #expect(try device.show("tally", ["show": "names"])?.lines == ["phone", "laptop"])
    try device.restart()
    try stage.run()
    #expect(try device.show("tally", ["show": "names"])?.lines == ["phone", "laptop"])
  }

  @Test func anAppThatTakesNoOrdersSaysSo() {
    let state = AppState(now: 0, device: DeviceID(rawValue: 1))
    #expect(throws: EditRefusal("desk takes no orders")) {
      try TestApp().outcome(of: [:], on: state)
    }
    #expect(throws: EditRefusal("desk has nothing to show")) { try TestApp().view([:], of: state) }
    #expect(TestApp().types.isEmpty && TestApp().boundedTypes.isEmpty)
    #expect(TestApp().surplus(of: TestApp.note, among: []).isEmpty)
    #expect(state.name(of: DeviceID(rawValue: 5)) == "0000000000000005")
  }
}

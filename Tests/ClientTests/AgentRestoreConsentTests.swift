import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

/// An app that asks the user of a new device whether to use the records of other devices.
struct AgentWelcomeTests {
  private let apps: [any App] = [TestApp(), TallyApp(asksToRestore: [TallyApp.tally])]
  private let tallies: JSONValue = ["show": "tallies"]

  private func add(_ tally: String) -> JSONValue {
    ["do": "add", "tally": .string(tally), "by": 1]
  }

  private func answer(_ device: TestDevice) throws -> Bool? {
    let id = try device.order { .answerRestore($0, app: "tally") }
    for case .switched(id, let result) in device.reports { return try result.get() }
    return nil
  }

  /// Makes an account in which the phone has made two tallies.
  private func account() throws -> (Stage, TestDevice) {
    let stage = try Stage()
    let phone = try stage.device(1, apps: apps)
    try stage.run()
    for tally in ["steps", "cups"] { try phone.perform("tally", add(tally)) }
    try stage.run(5_000)
    return (stage, phone)
  }

  @Test func whoMadeThemIsNotAsked() throws {
    let (stage, phone) = try account()
    try phone.restart()
    try stage.run(5_000)
    #expect(try phone.show("tally", tallies)?.json.members?.count == 2)
    #expect(phone.status.questions.isEmpty && phone.status.state == .inSync)
  }

  @Test func whoFindsThemIsAskedBeforeAnythingIsShownOrWritten() throws {
    let (stage, phone) = try account()
    let laptop = try stage.device(2, apps: apps)
    try stage.run(5_000)
    let question = EditFailure.restoreFirst(app: "tally", count: 2)
    #expect(throws: question) { try laptop.show("tally", tallies) }
    #expect(throws: question) { try laptop.perform("tally", add("steps"))?.get() }
    #expect(laptop.status.questions.map(\.count) == [2])
    #expect(laptop.status.state == .needsPerson)
    // Other apps continue, and a restart changes nothing.
    try laptop.edit(.note("a", "goes"))
    try laptop.restart()
    try stage.run(5_000)
    #expect(try phone.text("a") == "goes")
    #expect(throws: question) { try laptop.show("tally", tallies) }
    try phone.perform("tally", add("miles"))
    try stage.run(5_000)
    #expect(try answer(laptop) == true)
    #expect(try laptop.show("tally", tallies)?.json == ["cups": 1, "miles": 1, "steps": 1])
    #expect(laptop.status.state == .inSync)
    try laptop.perform("tally", add("steps"))
    try laptop.restart()
    try stage.run(5_000)
    #expect(try phone.show("tally", tallies)?.json["steps"] == 2)
    #expect(try answer(laptop) == false)
  }

  @Test func whoMadeSomethingBeforeTheFirstSyncIsNotEmpty() throws {
    let (stage, _) = try account()
    let laptop = try stage.device(2, apps: apps)
    laptop.isCutOff = true
    try laptop.perform("tally", add("own"))
    try stage.run(5_000)
    laptop.isCutOff = false
    try stage.run(120_000)
    #expect(try laptop.show("tally", tallies)?.json == ["cups": 1, "own": 1, "steps": 1])
  }

  @Test func whoFindsNothingIsNeverAsked() throws {
    let stage = try Stage()
    let (phone, laptop) = (try stage.device(1, apps: apps), try stage.device(2, apps: apps))
    try stage.run(5_000)
    try phone.perform("tally", add("steps"))
    try stage.run(5_000)
    #expect(try laptop.show("tally", tallies)?.json == ["steps": 1])
  }

  /// Also a home that was made before the question existed.
  @Test func aHomeThatHasReadAllThereIsIsNotAsked() throws {
    let (stage, _) = try account()
    let laptop = try stage.device(2, apps: [TestApp(), TallyApp()])
    try stage.run(5_000)
    try laptop.store.write([.setValue(key: "welcome.Tally", nil)])
    try laptop.restart()
    try stage.run(5_000)
    #expect(try laptop.show("tally", tallies)?.json.members?.count == 2)
  }

  @Test func whatIsGoneIsNotAskedAbout() throws {
    let (stage, phone) = try account()
    let laptop = try stage.device(2, apps: apps)
    try stage.run(5_000)
    for tally in ["steps", "cups"] {
      let key = RecordKey(zone: Name(trusted: "Tally"), name: Name(trusted: tally))
      try phone.edit(EditRequest(key: key, type: TallyApp.tally) { _ throws(EditRefusal) in nil })
    }
    try stage.run(5_000)
    #expect(try laptop.show("tally", tallies)?.json == [:])
    #expect(laptop.status.questions.isEmpty && laptop.status.state == .inSync)
    try laptop.perform("tally", add("own"))
    try phone.perform("tally", add("steps"))
    try stage.run(5_000)
    #expect(try laptop.show("tally", tallies)?.json == ["own": 1, "steps": 1])
  }
}

import LockstepApps
import LockstepModel
import Testing

/// A person presses the timer's buttons, sent as orders.
struct TimerAppOrdersTests {
  @Test func anOrderIsAnsweredWithTheScreen() throws {
    var table = AppTable(TimerApp())
    #expect(try table.view(TimerQuestion.screen.json).lines == ["idle"])
    try table.order(TimerAction.event(.start(length: 60_000)).json)
    let view = try table.view(TimerQuestion.screen.json)
    #expect(view.lines == ["focus 00:59"])
    #expect(view.changesAt == table.now + 1_000)
    let stableJSON = view.stableJSON
    table.now += 5_000
    #expect(try table.view(TimerQuestion.screen.json).stableJSON == stableJSON)
    #expect(throws: EditRefusal.self) { try table.view(["show": "dance"]) }
    #expect(table.refusal(["do": "dance"]) != nil)
  }

  @Test func theSettingsThatTheDeviceHoldsAreTaken() throws {
    var table = AppTable(TimerApp())
    table.take("settings", TimerApp.settingsType, ["focusMinutes": 50], at: 1)
    try table.order(TimerAction.event(.start(length: nil)).json)
    #expect(try table.view(TimerQuestion.screen.json).lines == ["focus 49:59"])
  }

  @Test func settingsAreChangedOneByOne() throws {
    var table = AppTable(TimerApp())
    #expect(try table.view(TimerQuestion.settings.json).json["focusMinutes"] == 25)
    table.take("settings", TimerApp.settingsType, ["focusMinutes": 50, "theme": "dark"], at: 1)
    let view = try table.order(
      ["do": "set", "settings": ["shortBreakMinutes": try json("7.5"), "autoStart": false]])
    let half = try json("7.5")
    #expect(view.json["focusMinutes"] == 50 && view.json["shortBreakMinutes"] == half)
    #expect(view.json["autoStart"] == false && view.lines.count == 6)
    #expect(table.fields("settings")?["theme"] == "dark")
    #expect(view.lines.first == "focusMinutes          50  how long a focus is")
  }

  @Test(arguments: [
    #"{"focusMinutes":0}"#, #"{"focusMinutes":"25"}"#, #"{"focusMinutes":1441}"#,
    #"{"autoStart":1}"#, #"{"longBreakEvery":-1}"#, #"{"longBreakEvery":2.5}"#,
    #"{"theme":"dark"}"#, "{}", "[]",
  ])
  func settingsThatMakeNoSenseAreRefused(_ settings: String) throws {
    let table = AppTable(TimerApp())
    #expect(table.refusal(["do": "set", "settings": try json(settings)]) != nil)
  }
}

import LockstepApps
import LockstepModel
import Testing

/// A person presses the timer's buttons, sent as orders.
struct TimerAppOrdersTests {
  @Test func everyButtonIsAnOrderAndBack() {
    let events: [TimerEvent] = [
      .start(length: nil), .start(length: 1_500_000), .pause, .resume, .stop, .skip,
      .snooze(length: nil), .snooze(length: 60_000),
    ]
    for event in events { #expect(TimerEvent(order: event.order) == event) }
    #expect(TimerEvent(order: ["do": "explode"]) == nil)
    #expect(TimerEvent(order: [:]) == nil)
  }

  @Test func anOrderIsAnsweredWithTheScreen() throws {
    var table = AppTable(TimerApp())
    #expect(try table.view(TimerApp.screen).lines == ["idle"])
    try table.order(TimerEvent.start(length: 60_000).order)
    let view = try table.view(TimerApp.screen)
    #expect(view.lines == ["focus 00:59"])
    #expect(view.changesAt == table.now + 1_000)
    let stableJSON = view.stableJSON
    table.now += 5_000
    #expect(try table.view(TimerApp.screen).stableJSON == stableJSON)
    #expect(throws: EditRefusal.self) { try table.view(["show": "dance"]) }
    #expect(table.refusal(["do": "dance"]) != nil)
  }

  @Test func theSettingsThatTheDeviceHoldsAreTaken() throws {
    var table = AppTable(TimerApp())
    table.take("settings", TimerApp.settingsType, ["focusMinutes": 50], at: 1)
    try table.order(TimerEvent.start(length: nil).order)
    #expect(try table.view(TimerApp.screen).lines == ["focus 49:59"])
  }

  @Test func settingsAreChangedOneByOne() throws {
    var table = AppTable(TimerApp())
    #expect(try table.view(TimerApp.settings).json["focusMinutes"] == 25)
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

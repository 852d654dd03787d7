import Apps
import Changes
import Testing

/// A person presses the timer's buttons, as orders.
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
    let face = view.face
    table.now += 5_000
    #expect(try table.view(TimerApp.screen).face == face)
    #expect(throws: EditRefusal.self) { try table.view(["show": "dance"]) }
    #expect(table.refusal(["do": "dance"]) != nil)
  }

  @Test func theSettingsThatTheDeviceHoldsAreTaken() throws {
    var table = AppTable(TimerApp())
    table.take("settings", TimerApp.settingsType, ["focusMinutes": 50], at: 1)
    try table.order(TimerEvent.start(length: nil).order)
    #expect(try table.view(TimerApp.screen).lines == ["focus 49:59"])
  }
}

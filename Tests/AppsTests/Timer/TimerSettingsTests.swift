import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import Testing

struct TimerSettingsTests {
  @Test func defaultsStandWhereNothingIsSaid() {
    let settings = TimerSettings(fields: nil)
    #expect(settings == TimerSettings())
    #expect(settings.focusMilliseconds == 1_500_000)
    #expect(settings.shortBreakMilliseconds == 300_000)
    #expect(settings.longBreakMilliseconds == 900_000)
    #expect(settings.snoozeMilliseconds == 300_000)
    #expect(settings.longBreakEvery == 4 && settings.autoStart)
  }

  @Test func fieldsAreRead() throws {
    let settings = TimerSettings(
      fields: try json(
        #"""
        {"focusMinutes": 50, "shortBreakMinutes": 0.5, "longBreakMinutes": 3e1,
        "snoozeMinutes": 1, "longBreakEvery": 0, "autoStart": false}
        """#))
    #expect(settings.focusMilliseconds == 3_000_000)
    #expect(settings.shortBreakMilliseconds == 30_000)
    #expect(settings.longBreakMilliseconds == 1_800_000)
    #expect(settings.snoozeMilliseconds == 60_000)
    #expect(settings.longBreakEvery == 0 && !settings.autoStart)
  }

  @Test func nonsenseReadsAsTheDefault() throws {
    let settings = TimerSettings(
      fields: try json(
        #"""
        {"focusMinutes": 0, "shortBreakMinutes": -1, "longBreakMinutes": 1e400,
        "snoozeMinutes": "5", "longBreakEvery": -4, "autoStart": 3}
        """#))
    #expect(settings == TimerSettings())
  }

  @Test func aRefusalNamesTheSettingInWords() throws {
    let cases: [(String, String)] = [
      (
        #"{"focusMinutes": 0}"#,
        "“0” is no value for the length of a focus; give minutes, more "
          + "than 0 and at most 1440"
      ),
      (
        #"{"longBreakEvery": -1}"#,
        "“-1” is no value for the number of pomodoros until the long "
          + "break; give a whole number from 0 to 1000"
      ),
      (
        #"{"autoStart": "maybe"}"#,
        "“\"maybe\"” is no value for the automatic start of a break; "
          + "give true or false"
      ),
    ]
    for (text, reason) in cases {
      let fault = #expect(throws: EditRefusal.self) {
        _ = try TimerSettings.changes(try json(text))
      }
      #expect(fault?.reason == reason)
    }
  }

  @Test func settingsAreExplainedInTheLanguageOfThePerson() {
    let settings = TimerSettings(fields: nil)
    #expect(
      Language.japanese { settings.view.lines.first } == "focusMinutes          25  集中の時間")
    #expect(Language.japanese { settings.view.json } == settings.view.json)
    #expect(
      throws: EditRefusal("“\"soon\"”不能用作休息的自动开始；请输入 true 或 false")
    ) { try Language.chinese { try TimerSettings.changes(["autoStart": "soon"]) } }
  }

  @Test func lengthsHaveBounds() {
    #expect(TimerSettings.milliseconds(minutes: 1_440) == Limits.timerMilliseconds)
    for minutes in [0, -1, 1_440.1, .infinity, .nan, 0.000_001] {
      #expect(TimerSettings.milliseconds(minutes: minutes) == nil, "\(minutes)")
    }
    #expect(TimerSettings.milliseconds(minutes: 0.05) == 3_000)
  }
}

struct TimerPlanTests {
  private func focus(_ plan: JSONValue?) throws -> TimerEdit {
    try #require(
      TimerEdit(object: edit("mac", 0, "focus", left: 9).setting("plan", to: plan)))
  }

  @Test func planComesBackAsItWasWritten() throws {
    var settings = TimerSettings()
    settings.shortBreakMilliseconds = 1_000
    settings.longBreakEvery = 3
    settings.autoStart = false
    let plan = TimerPlan(settings)
    #expect(TimerPlan(of: try focus(plan.object)) == plan)
    #expect(
      plan.object
        == ["autoStart": false, "break": 1_000, "longBreak": 900_000, "longBreakEvery": 3])
  }

  @Test func postponedBreakIsNeverAnotherOne() throws {
    let plan = TimerPlan(postponing: 900_000, autoStart: true)
    #expect(plan.object == ["autoStart": true, "break": 900_000])
    let snooze = try #require(
      TimerEdit(object: edit("mac", 0, "snooze", left: 9).setting("plan", to: plan.object)))
    #expect(TimerPlan(of: snooze).breakMilliseconds(afterPomodoro: 4) == 900_000)
  }

  @Test func editWithoutPlanHasTheDefaults() throws {
    for plan: JSONValue? in [
      nil, .null, [], ["break": 0, "longBreak": -1, "longBreakEvery": "4", "autoStart": 1],
    ] {
      #expect(TimerPlan(of: try focus(plan)) == TimerPlan(TimerSettings()))
    }
  }

  @Test func everyFourthBreakIsLong() {
    let plan = TimerPlan(TimerSettings())
    let lengths = (1...8).map { plan.breakMilliseconds(afterPomodoro: $0) / 60_000 }
    #expect(lengths == [5, 5, 5, 15, 5, 5, 5, 15])
  }
}

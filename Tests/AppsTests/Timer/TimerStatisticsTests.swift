import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import Testing

struct TimerStatisticsTests {
  private func statistics(_ fields: JSONValue?, at instant: Int64) -> TimerStatistics {
    TimerStatistics(
      TimerState(fields: fields), settings: TimerSettings(fields: nil), at: instant)
  }

  @Test func aTimerThatWasNeverStartedHasDoneNothing() {
    let figures = statistics(nil, at: 0)
    #expect(figures.completedPomodoros == 0 && figures.inCycle == 0)
    #expect(figures.lastFocusEndedAt == nil)
  }

  @Test func aFocusThatRanOutCountsBeforeAnyDeviceHasWrittenIt() {
    let running = timer(done: 5, edit("mac", 1_000, "focus", left: 60_000))
    let before = statistics(running, at: 60_999)
    #expect(before.completedPomodoros == 5 && before.lastFocusEndedAt == nil)
    let after = statistics(running, at: 61_000)
    #expect(after.completedPomodoros == 6 && after.inCycle == 2)
    #expect(after.lastFocusEndedAt == 61_000)
    // Also after the break.
    #expect(statistics(running, at: 10_000_000).lastFocusEndedAt == 61_000)
  }

  @Test func whatAPersonDidSinceHidesTheLastFocus() {
    for (phase, left) in [("idle", 0), ("breakTime", 60_000)] as [(String, Int64)] {
      let figures = statistics(timer(done: 3, edit("mac", 1_000, phase, left: left)), at: 90_000)
      #expect(figures.completedPomodoros == 3 && figures.lastFocusEndedAt == nil)
    }
  }

  private func day(_ date: String, _ focuses: JSONValue) -> Record {
    let fields: JSONValue = ["focuses": focuses]
    return Record(
      zone: TimerApp.zone, name: Name(trusted: "focuses-" + date), type: FocusDay.type,
      fields: fields.serialized(), modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 1)
  }

  @Test func focusesAreSummedByPeriodEachOnce() {
    let day: Int64 = 86_400_000
    let days = [
      self.day("1970-01-01", ["3600000-mac": 1_500_000, "7200000-phone": 1_500_000]),
      self.day("1970-01-02", ["86400000-mac": 3_000_000, "x": 5, "90000000-mac": -1]),
    ]
    // The timer's record says again that the focus of the second day has ended.
    let running = timer(done: 3, edit("mac", day - 60_000, "focus", left: 60_000))
    let periods = [
      TimerStatistics.Period(name: "a", from: 3_600_001),
      TimerStatistics.Period(name: "b", from: day),
      TimerStatistics.Period(name: "c", from: 2 * day),
    ]
    let figures = TimerStatistics(
      TimerState(fields: running), days: days, settings: TimerSettings(fields: nil),
      periods: periods, at: 3 * day)
    #expect(figures.counted == 3 && figures.completedPomodoros == 4)
    #expect(figures.sums.map(\.pomodoros) == [1, 1, 0])
    #expect(figures.sums.map(\.milliseconds) == [1_500_000, 3_000_000, 0])
    #expect(figures.lastFocusEndedAt == day)
  }

  /// Few people know which days the week 9 has.
  @Test func aWeekIsShownWithItsDates() throws {
    let week = TimerStatistics.Period(name: "2026-W09", from: 0, dates: "02-23 to 03-01")
    let question = TimerQuestion.stats([week])
    #expect(try TimerQuestion(json: question.json) == question)
    let lines = TimerStatistics(
      TimerState(fields: nil), settings: TimerSettings(fields: nil), periods: [week], at: 1
    ).view(at: 1).lines
    #expect(lines.last == "2026-W09, 02-23 to 03-01    0            –", "\(lines)")
  }

  @Test func aFocusThatHasJustEndedCountsBeforeItIsWritten() {
    let running = timer(edit("mac", 1_000, "focus", left: 60_000))
    let period = [TimerStatistics.Period(name: "1970-01-01", from: 0)]
    func pomodoros(at instant: Int64) -> Int64 {
      TimerStatistics(
        TimerState(fields: running), settings: TimerSettings(fields: nil), periods: period,
        at: instant
      ).sums[0].pomodoros
    }
    #expect(pomodoros(at: 60_999) == 0 && pomodoros(at: 61_000) == 1)
  }

  @Test func theViewShowsARowForEachPeriod() throws {
    let table = AppTable(TimerApp())
    let periods = [
      TimerStatistics.Period(name: "2026-02-28", from: table.now - 86_400_000),
      TimerStatistics.Period(name: "2026-03-01", from: table.now),
    ]
    let view = try table.view(TimerQuestion.stats(periods).json)
    #expect(
      view.lines == [
        "0 pomodoros done in all, on all devices together", "0 of 4 until the long break", "",
        "2026-02-28      0            –", "2026-03-01      0            –",
      ])
    #expect(view.json["periods"]?.array?.count == 2 && view.json["withDay"] == 0)
    #expect(try table.view(["show": "stats"]).lines.count == 2)
  }

  private func weeks(_ focuses: Int, of length: Int64, until instant: Int64) -> AppView {
    let members = (1...focuses).map {
      JSONMember("\($0)-mac", .number(JSONNumber(length)))
    }
    return TimerStatistics(
      TimerState(fields: timer(done: Int64(focuses + 1))),
      days: [day("1970-01-01", .object(members))], settings: TimerSettings(fields: nil),
      periods: [TimerStatistics.Period(name: "2026-W09", from: 0, dates: "02-23 to 03-01")],
      at: instant
    ).view(at: instant)
  }

  /// A year of full days has more hours than a column was made for.
  @Test func aLongTimeStandsApartFromItsNumber() {
    let row = weeks(60, of: 86_400_000, until: 1_000).lines[4]
    #expect(row.hasPrefix("2026-W09, 02-23 to 03-01   60 1440 h 0 min  █"), "\(row)")
    let longer = weeks(101, of: 86_370_000, until: 1_000).lines[4]
    #expect(longer.hasPrefix("2026-W09, 02-23 to 03-01  101 2423 h 10 min  █"), "\(longer)")
  }

  @Test(arguments: Language.allCases) func statisticsFitTheTerminal(_ language: Language) {
    let lines = language { weeks(101, of: 86_370_000, until: 9_000_000) }.lines
    for line in lines {
      let columns = line.unicodeScalars.reduce(0) { $0 + ($1.value > 0x2E80 ? 2 : 1) }
      #expect(columns <= 80, "\(line)")
    }
  }

  @Test func statisticsAreInTheLanguageOfThePerson() {
    let view = weeks(2, of: 3_000_000, until: 600_000)
    let chinese = Language.chinese { weeks(2, of: 3_000_000, until: 600_000) }
    #expect(
      chinese.lines == [
        "所有设备共完成 3 个番茄钟", "长休息进度：3 / 4", "上次专注结束：9 分钟前", "",
        "2026-W09，02-23 to 03-01    2 1 小时 40 分钟  " + String(repeating: "█", count: 24),
        "其中 1 个没有日期：较早的版本未记录日期",
      ], "\(chinese.lines)")
    let japanese = Language.japanese { weeks(2, of: 3_000_000, until: 600_000) }
    #expect(
      japanese.lines[0...2] == [
        "すべてのデバイスで合計3ポモドーロ完了", "長い休憩まで：3 / 4", "最後の集中の終了：9分前",
      ], "\(japanese.lines)")
    // Programs get the same in each language.
    #expect(chinese.json == view.json && japanese.json == view.json)
  }
}

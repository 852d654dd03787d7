import Foundation
import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import Testing

/// Days drawn as text: `x` reached, `-` something done, `.` nothing; the last one is today.
struct HabitStatisticsTests {
  private static let today = HabitDay(number: 20_000)

  private func statistics(_ drawn: String) -> HabitStatistics {
    let days = drawn.enumerated().compactMap { index, mark -> HabitContents.DoneDay? in
      guard mark != "." else { return nil }
      let day = Self.today.advanced(by: Int64(index + 1 - drawn.count))
      return HabitContents.DoneDay(day, isReached: mark == "x")
    }
    return HabitStatistics(days, today: Self.today)
  }

  @Test func aStreakGoesOnUntilADayIsMissed() {
    for (drawn, streak, longest) in [
      ("", 0, 0), ("x", 1, 1), ("xx.", 2, 2), ("xx..", 0, 2), ("xxx.xx", 2, 3), ("xx-x", 1, 2),
      (".x-", 1, 1), ("x.x.x", 1, 1),
    ] {
      let figures = statistics(drawn)
      #expect(figures.streak == streak && figures.longestStreak == longest, "\(drawn)")
    }
    #expect(statistics("xx.xx..").longestSince == Self.today.advanced(by: -3))
    #expect(statistics("-").longestSince == nil)
  }

  @Test func theRateIsOfThirtyDaysAtMost() {
    for (drawn, reached, days, rate) in [
      ("", 0, 0, nil), ("-", 0, 1, 0), ("x", 1, 1, 100), ("x...", 1, 4, 25), ("x-.", 1, 3, 33),
      (String(repeating: "x", count: 31) + String(repeating: ".", count: 29), 1, 30, 3),
    ] as [(String, Int, Int, Int?)] {
      let figures = statistics(drawn)
      #expect(figures.reached == reached && figures.days == days, "\(drawn)")
      #expect(figures.rate == rate, "\(drawn)")
    }
    let many = statistics(String(repeating: "x", count: 400))
    #expect(many.reached == 30 && many.reachedInAll == 400 && many.streak == 400)
  }

  @Test func daysAfterTodayDoNotCount() {
    let tomorrow = HabitContents.DoneDay(Self.today.advanced(by: 1), isReached: true)
    let figures = HabitStatistics([tomorrow], today: Self.today)
    #expect(figures.streak == 0 && figures.rate == nil && figures.reachedInAll == 0)
  }

  /// The page's figures are tested with the same file, which neither of them has written.
  @Test func theFiguresAreThoseOfTheVectors() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let path = folder.appending(path: "Vectors/Figures/HabitStatistics.jsonl")
    let lines = [UInt8](try Data(contentsOf: path)).split(separator: UInt8(ascii: "\n"))
    #expect(lines.count == 24)
    for (number, line) in lines.enumerated() {
      let vector = try JSONValue(parsing: Array(line))
      var table = AppTable(HabitsApp())
      for record in try #require(vector["records"]?.array) {
        let type = try #require(record["type"]?.string.flatMap { Name($0) })
        table.take(try #require(record["name"]?.string), type, record["fields"], at: 1)
      }
      let view = try table.view(
        ["show": "statistics", "day": try #require(vector["today"])])
      #expect(view.json["habits"] == vector["expect"], "line \(number + 1)")
    }
  }

  @Test func theAppShowsARowPerHabit() throws {
    var table = AppTable(HabitsApp())
    let question: JSONValue = ["show": "statistics", "day": "2026-03-03"]
    #expect(try table.view(question).lines == ["there is no habit yet"])
    try table.order(["do": "add", "title": "Run", "kind": "checkbox", "target": 1])
    try table.order(["do": "add", "title": "Water", "kind": "count", "target": 2])
    for day in ["2026-02-28", "2026-03-01", "2026-03-02"] {
      try table.order(["do": "check", "habit": "run", "day": .string(day), "done": true])
    }
    try table.order(["do": "count", "habit": "water", "day": "2026-03-03", "by": 1])
    try table.order(["do": "check", "habit": "run", "day": "2026-02-20", "done": true])
    #expect(
      try table.view(question).lines == [
        "                               streak  longest  30 days  all days",
        "  1  Run                            3        3     33 %         4",
        "  2  Water                          0        0      0 %         0",
      ])
    // Words and figures end at the same columns, of which a character takes two.
    #expect(
      try Language.chinese { try table.view(question).lines[0...1] } == [
        "                                 连续     最长    30 天      累计",
        "  1  Run                            3        3      33%         4",
      ])
    #expect(
      try Language.japanese { try table.view(question).lines[0] }
        == "                                 連続     最長   30日間      累計")
    let run = try table.view(question).json["habits"]?.array?.first
    #expect(run?["streak"] == 3 && run?["longestSince"] == "2026-02-28")
    #expect(run?["ratePercent"] == 33 && run?["days"] == 12 && run?["reached"] == 4)
    // A day that is unchecked again is one on which nothing was done.
    try table.order(["do": "check", "habit": "run", "day": "2026-03-02", "done": false])
    #expect(try table.view(question).json["habits"]?.array?.first?["streak"] == 0)
  }
}

import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import Testing

/// A person uses the habits app.
struct HabitsAppTests {
  private var table = AppTable(HabitsApp())

  private static func started() throws -> AppTable {
    var table = AppTable(HabitsApp())
    try table.order(["do": "add", "title": "Run", "kind": "checkbox", "target": 1])
    try table.order(["do": "add", "title": "Water", "kind": "count", "target": 8])
    return table
  }

  private func order(
    _ word: String, _ habit: String, _ day: String = "2026-03-01", by amount: Int64? = nil,
    done: Bool? = nil
  ) -> JSONValue {
    var order: JSONValue = ["do": .string(word), "habit": .string(habit), "day": .string(day)]
    if let amount { order = order.setting("by", to: .number(JSONNumber(amount))) }
    if let done { order = order.setting("done", to: .bool(done)) }
    return order
  }

  @Test func aWeekShowsWhatWasDone() throws {
    var table = table
    #expect(
      try table.view(["show": "week", "day": "2026-03-01"]).lines == ["there is no habit yet"])
    table = try Self.started()
    try table.order(order("check", "run", done: true))
    try table.order(order("count", "water", by: 3))
    try table.order(order("count", "water", "2026-02-27", by: 8))
    // 2026-03-01 is a Sunday.
    #expect(
      try table.view(["show": "week", "day": "2026-03-01"]).lines == [
        "                               Mo  Tu  We  Th  Fr  Sa  Su",
        "  1  Run                        ·   ·   ·   ·   ·   ·   ✓",
        "  2  Water                      ·   ·   ·   ·   8   ·   3",
      ])
    #expect(
      try table.view(["show": "day", "day": "2026-03-01"]).lines == [
        "2026-03-01", "  1  Run                       done",
        "  2  Water                     3 of 8",
      ])
    let water = try table.view(["show": "week", "day": "2026-03-01"]).json["habits"]?.array?.last
    #expect(
      water?["days"]?.array?[4] == ["day": "2026-02-27", "done": true, "total": 8])
  }

  @Test func aWeekIsInTheLanguageOfThePerson() throws {
    var table = try Self.started()
    try table.order(order("check", "run", done: true))
    let question: JSONValue = ["show": "week", "day": "2026-03-01"]
    #expect(
      try Language.chinese { try table.view(question).lines.first }
        == "                               一  二  三  四  五  六  日")
    #expect(
      try Language.japanese { try table.view(question).lines.first }
        == "                               月  火  水  木  金  土  日")
    #expect(try Language.japanese { try table.view(question).json } == table.view(question).json)
    #expect(
      try Language.japanese { try table.view(["show": "day", "day": "2026-03-01"]).lines[1] }
        == "  1  Run                       完了")
    #expect(
      try Language.chinese { try table.order(order("count", "water", by: 3)).lines }
        == ["Water：2026-03-01 3 / 8"])
    #expect(
      Language.chinese { table.refusal(order("count", "run", by: 1)) } == "“Run”是打卡的习惯；请使用 check")
    // What is stored has no language.
    #expect(
      table.fields("r2/2026-03-01")?["counts"] == ["000000000000000a": 3])
  }

  /// A checkbox has no target that could change, so the person is not told that it has.
  @Test func aTargetOfACheckboxIsRefused() throws {
    var table = try Self.started()
    #expect(
      table.refusal(["do": "edit", "habit": "run", "target": 3])?.contains(
        "\u{201C}Run\u{201D} is checked once a day and has no other target") == true)
    #expect(table.fields("r1")?["target"] == 1)
    try table.order(["do": "edit", "habit": "run", "target": 3, "kind": "count"])
    #expect(table.fields("r1")?["target"] == 3)
    try table.order(["do": "edit", "habit": "water", "target": 9])
    #expect(table.fields("r2")?["target"] == 9)
  }

  @Test func aLongTitleHasTheRoomOfATerminal() throws {
    var table = table
    let title = "Stretch the back, the neck and both legs before work"
    try table.order(["do": "add", "title": .string(title), "kind": "checkbox", "target": 1])
    let rows = try table.view(["show": "statistics", "day": "2026-03-01"]).lines
    #expect(rows.allSatisfy { $0.count == 80 }, "\(rows)")
    #expect(rows[1].hasPrefix("  1  Stretch the back, the neck and both le…"), "\(rows)")
  }

  @Test func aCheckAndACountAreTakenBack() throws {
    var table = try Self.started()
    try table.order(order("check", "1", done: true))
    try table.order(order("check", "1", done: false))
    try table.order(order("count", "2", by: 5))
    let view = try table.order(order("count", "2", by: -2))
    #expect(view.lines == ["Water: 3 of 8 on 2026-03-01"])
    #expect(
      table.fields("r2/2026-03-01")
        == [
          "habit": "r2", "day": "2026-03-01", "done": false, "counts": ["000000000000000a": 5],
          "undone": ["000000000000000a": 2],
        ])
    #expect(
      table.refusal(order("count", "2", by: -4)) == "only 3 can be taken back on 2026-03-01")
    #expect(table.fields("r1/2026-03-01")?["done"] == false)
  }

  @Test func theTargetIsReachedByAllDevicesTogether() throws {
    var table = try Self.started()
    table.take(
      "r2/2026-03-01", HabitsApp.checkInType,
      ["habit": "r2", "day": "2026-03-01", "done": false, "counts": ["000000000000000b": 7]], at: 1)
    try table.order(order("count", "water", by: 1))
    #expect(table.fields("r2/2026-03-01")?["done"] == true)
    #expect(
      try table.view(["show": "day", "day": "2026-03-01"]).lines.last?.hasSuffix("8 of 8") == true)
  }

  @Test func aHabitIsChangedAndRemovedAndItsDaysStay() throws {
    var table = try Self.started()
    try table.order(order("count", "water", by: 3))
    try table.order(["do": "edit", "habit": "water", "title": "Tea", "target": 2])
    #expect(
      try table.view(["show": "day", "day": "2026-03-01"]).lines.last
        == "  2  Tea                       3 of 2")
    #expect(try table.order(["do": "remove", "habit": "tea"]).lines == ["removed: Tea"])
    #expect(
      try table.view(["show": "week", "day": "2026-03-01"]).json["habits"]?.array?.count == 1)
    #expect(table.fields("r2/2026-03-01") != nil)
  }

  private func titles(_ table: AppTable, isArchived: Bool = false) throws -> [String] {
    let question = HabitQuestion.week(day: "2026-03-01", isArchived: isArchived)
    return (try table.view(question.json).json["habits"]?.array ?? []).compactMap {
      $0["title"]?.string
    }
  }

  @Test func aPersonArrangesHabitsAndANewOneComesLast() throws {
    var table = try Self.started()
    try table.order(["do": "add", "title": "Read", "kind": "checkbox", "target": 1])
    #expect(try titles(table) == ["Read", "Run", "Water"])
    #expect(
      try table.order(["do": "move", "habit": "water", "place": 1]).lines
        == ["moved: Water, now number 1"])
    #expect(try titles(table) == ["Water", "Read", "Run"])
    let before = table.fields("list")?["places"]
    #expect(before?.members?.count == 3)
    // There was no order before, so that all have got a place; from now on one is enough.
    try table.order(["do": "move", "habit": "run", "place": 2])
    #expect(try titles(table) == ["Water", "Run", "Read"])
    let places = try #require(table.fields("list")?["places"]?.members)
    #expect(places.count { $0.value != before?[$0.name] } == 1)
    try table.order(["do": "add", "title": "Draw", "kind": "checkbox", "target": 1])
    #expect(try titles(table) == ["Water", "Run", "Read", "Draw"])
    try table.order(["do": "move", "habit": "1", "place": 99])
    #expect(try titles(table) == ["Run", "Read", "Draw", "Water"])
    #expect(
      table.refusal(["do": "move", "habit": "1", "place": 0]) == "a place is 1 or more")
  }

  @Test func movesToOneSpotNeverRunOutOfRoom() throws {
    var table = try Self.started()
    try table.order(["do": "add", "title": "Zzz", "kind": "checkbox", "target": 1])
    var order = ["Run", "Water", "Zzz"]
    for _ in 1...60 {
      let last = order.removeLast()
      order.insert(last, at: 1)
      try table.order(["do": "move", "habit": .string(last), "place": 2])
      #expect(try titles(table) == order)
    }
  }

  @Test func anArchivedHabitIsOutOfTheWayAndKeepsItsNumber() throws {
    var table = try Self.started()
    #expect(
      try table.order(["do": "archive", "habit": "1", "archived": true]).lines
        == ["archived: Run"])
    #expect(try titles(table) == ["Water"])
    #expect(try titles(table, isArchived: true) == ["Run"])
    let archived = try table.view(["show": "week", "day": "2026-03-01", "archived": true])
    #expect(archived.lines.last?.hasPrefix("  2  Run ") == true)
    #expect(archived.json["habits"]?.array?.first?["archived"] == true)
    for view in ["week", "day", "statistics"] {
      let view = try table.view(["show": .string(view), "day": "2026-03-01"])
      #expect(view.json["habits"]?.array?.count == 1)
    }
    #expect(
      table.refusal(["do": "move", "habit": "2", "place": 1])
        == "\u{201C}Run\u{201D} is archived; unarchive it first")
    try table.order(["do": "archive", "habit": "water", "archived": true])
    #expect(
      try table.view(["show": "day", "day": "2026-03-01"]).lines.last
        == "every habit is archived; see lockstep habits list --archived")
    try table.order(["do": "archive", "habit": "run", "archived": false])
    #expect(try titles(table) == ["Run"])
    #expect(table.fields("list")?["archived"] == ["r2"])
  }

  @Test func movesOnTwoDevicesAtOnceBothCount() throws {
    var table = try Self.started()
    try table.order(["do": "add", "title": "Zzz", "kind": "checkbox", "target": 1])
    try table.order(["do": "move", "habit": "run", "place": 1])
    let rules = try #require(HabitsApp().rules(for: HabitsApp.listType))
    func version(_ table: AppTable, _ at: Int64, _ device: String) -> Version {
      Version(name: "list", fields: table.fields("list"), modifiedAt: at, device: device)
    }
    let base = version(table, 1, "a")
    var (ours, theirs) = (table, table)
    try ours.order(["do": "move", "habit": "zzz", "place": 1])
    try theirs.order(["do": "move", "habit": "run", "place": 3])
    try theirs.order(["do": "archive", "habit": "water", "archived": true])
    var (local, server) = (version(ours, 2, "a"), version(theirs, 3, "b"))
    local.fields = rules.completed(local, over: base)
    server.fields = rules.completed(server, over: base)
    let conflict = Conflict(base: base, local: local, server: server)
    guard case .merged(let fields, let copies) = RuleResolver(rules).resolve(conflict) else {
      Issue.record("a person is asked")
      return
    }
    table.take("list", HabitsApp.listType, fields, at: 4)
    #expect(copies.isEmpty)
    #expect(try titles(table) == ["Zzz", "Run"])
    #expect(try titles(table, isArchived: true) == ["Water"])
  }

  @Test func aConflictIsShownSideBySideAndDecided() throws {
    var table = try Self.started()
    #expect(try table.view(["show": "conflicts"]).lines == ["no habit waits for a decision"])
    table.names = [table.device: "phone", DeviceID(rawValue: 0xB): "laptop"]
    table.asking = [
      Record(
        zone: HabitsApp.zone, name: Name(trusted: "r1"), type: HabitsApp.habitType,
        fields: (["title": "Swim", "kind": "checkbox", "target": 1] as JSONValue).serialized(),
        modifiedAt: table.now - 120_000, device: DeviceID(rawValue: 0xB), tag: 4)
    ]
    #expect(
      try table.view(["show": "conflicts"]).lines == [
        "  1  local  Run, once a day  (now, phone)",
        "     cloud  Swim, once a day  (2 min ago, laptop)",
        "keep one of the two: lockstep habits keep local|cloud NUMBER",
      ])
    try table.order(["do": "keep", "habit": "run", "version": "cloud"])
    #expect(
      table.decisions.map(\.0.name.text) == ["r1"] && table.decisions.map(\.keepLocal) == [false])
    #expect(table.refusal(["do": "keep", "habit": "1", "version": "both"]) != nil)
    #expect(table.refusal(["do": "keep", "habit": "2", "version": "local"]) != nil)
  }

  @Test func aConflictWithADeleteSaysWhoDeleted() throws {
    var table = try Self.started()
    table.asking = [
      Record(
        zone: HabitsApp.zone, name: Name(trusted: "r1"), type: HabitsApp.habitType, fields: nil,
        modifiedAt: table.now, device: DeviceID(rawValue: 0xB), tag: 4)
    ]
    #expect(
      try table.view(["show": "conflicts"]).lines[1]
        == "     cloud  deleted  (now, 000000000000000b)")
    try table.order(["do": "remove", "habit": "1"])
    #expect(try table.view(["show": "conflicts"]).lines[0] == "  1  local  deleted here")
  }

  @Test func whatMakesNoSenseIsRefused() throws {
    let table = try Self.started()
    let bad: [JSONValue] = [
      ["do": "add", "name": "x", "title": "", "kind": "count", "target": 1],
      ["do": "add", "name": "x", "title": "a", "kind": "often", "target": 1],
      ["do": "add", "name": "x", "title": "a", "kind": "count", "target": 0],
      ["do": "add", "name": "x", "title": "a", "kind": "count", "target": 1_000_001],
      ["do": "edit", "habit": "1"], ["do": "edit", "habit": "1", "target": "two"],
      ["do": "remove", "habit": "3"], ["do": "dance"],
      order("check", "1", "2026-02-30", done: true), order("check", "1"),
      order("check", "water", done: true), order("count", "run", by: 1),
      order("count", "water", by: 0), order("count", "water", by: 1_000_001),
      order("count", "water", by: -1),
    ]
    for order in bad { #expect(table.refusal(order) != nil, "\(order)") }
    #expect(throws: EditRefusal.self) { try table.view(["show": "week", "day": "today"]) }
    #expect(throws: EditRefusal.self) { try table.view(["show": "dance"]) }
  }

  /// Records of other programs neither trap nor overflow.
  @Test func oddRecordsAreShownAsFarAsTheyCanBe() throws {
    var table = try Self.started()
    let many = JSONValue.number(JSONNumber("9e300") ?? JSONNumber(1))
    table.take(
      "r2/2026-03-01", HabitsApp.checkInType,
      ["counts": ["a": many, "b": many, "c": "x"], "undone": [1]], at: 1)
    table.take("odd", HabitsApp.habitType, ["title": 5, "kind": "later", "target": -3], at: 1)
    #expect(try table.view(["show": "week", "day": "2026-03-01"]).lines.count == 4)
  }
}

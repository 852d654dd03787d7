import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import Testing

/// A person writes memos.
struct MemosAppTests {
  private var table = AppTable(MemosApp())

  @Test func aMemoIsWrittenReadAndFound() throws {
    var table = table
    #expect(try table.view(["show": "list"]).lines == ["there is no memo yet"])
    #expect(try table.order(["do": "add", "content": "Milk\nand Eggs"]).lines == ["added: Milk"])
    try table.order(["do": "add", "content": "Plan"])
    #expect(
      try table.view(["show": "list"]).lines == ["  1  2026-03-01  Plan", "  2  2026-03-01  Milk"])
    #expect(try table.view(["show": "memo", "memo": "milk"]).lines == ["Milk", "and Eggs"])
    #expect(
      try table.view(["show": "search", "words": "eggs MILK"]).lines == ["  2  2026-03-01  Milk"])
    #expect(
      try table.view(["show": "search", "words": "bread"]).lines == ["no memo has these words"])
    #expect(
      table.fields("r1")
        == ["title": "Milk", "content": "Milk\nand Eggs", "date": 1_772_366_400_000])
  }

  @Test func aListIsInTheLanguageOfThePerson() throws {
    var table = table
    try Language.japanese {
      #expect(try table.view(["show": "list"]).lines == ["メモはまだありません"])
      let added = try table.order(["do": "add", "content": "Milk"])
      #expect(added.lines == ["追加しました：Milk"] && added.json == ["name": "r1"])
      #expect(table.refusal(["do": "remove", "memo": "7"]) == "7番のメモはありません。最後は1番です")
    }
    let copy: JSONValue = ["title": "", "content": "\nold", "date": 1_772_366_400_000]
    table.names = [DeviceID(rawValue: 9): "phone"]
    table.take(
      "r1~\(DeviceID(rawValue: 9).text)-5", MemosApp.memoType, copy, at: 1_772_366_400_000, by: 9)
    let rows = try Language.chinese { try table.view(["show": "list"]).lines }
    #expect(rows.contains("  1  2026-03-01  （无标题）  [另一个版本（phone）]"), "\(rows)")
    #expect(
      try Language.chinese { try table.order(["do": "add", "content": "米"]).lines }
        == ["已添加：米"])
    // What is stored has no words of any language.
    #expect(table.fields("r1")?["content"] == "Milk")
  }

  /// A person writes markdown, and looks for the words alone.
  @Test func aTitleIsShownAndFoundWithoutItsSigns() throws {
    var table = table
    #expect(
      try table.order(["do": "add", "content": "# Groceries\nMilk"]).lines == [
        "added: Groceries"
      ])
    try table.order(["do": "add", "content": "- [x] **Pay** the `rent`"])
    try table.order(["do": "add", "content": "#1 of all"])
    #expect(
      try table.view(["show": "list"]).lines == [
        "  1  2026-03-01  #1 of all", "  2  2026-03-01  Pay the rent",
        "  3  2026-03-01  Groceries",
      ])
    for word in ["groceries", "# Groceries", "gro", "3"] {
      #expect(
        try table.view(["show": "memo", "memo": .string(word)]).lines == ["# Groceries", "Milk"])
    }
    #expect(try table.view(["show": "memo", "memo": "pay the"]).json["name"] == "r2")
    #expect(table.fields("r1")?["title"] == "# Groceries")
  }

  @Test(arguments: [
    ("### Plan", "Plan"), ("> said", "said"), ("12) twelfth", "twelfth"), ("* **", ""),
    ("####### seven", "####### seven"), ("2026. A year", "A year"), ("-5 degrees", "-5 degrees"),
    ("[ ] box", "[ ] box"), ("~~old~~ new", "old new"), ("#", "#"), ("", ""),
    ("`a` \u{202E}b", "a b"),
  ])
  func signsOfMarkdownAreLeftOut(_ title: String, _ shown: String) {
    #expect(MemoTitle.plainText(title) == shown)
  }

  @Test func aMemoIsWrittenAnewAndComesFirst() throws {
    var table = table
    try table.order(["do": "add", "content": "Milk"])
    try table.order(["do": "add", "content": "Plan"])
    try table.order(["do": "edit", "memo": "2", "was": "Milk", "content": "Bread\nMilk"])
    #expect(
      try table.view(["show": "list"]).lines == ["  1  2026-03-01  Bread", "  2  2026-03-01  Plan"])
    try table.order(["do": "remove", "memo": "bread"])
    #expect(try table.view(["show": "list"]).lines == ["  1  2026-03-01  Plan"])
  }

  /// The device's clock was ahead when the memo was written.
  @Test func aDateThatProvesWrongIsCorrectedWithItsStamp() {
    func restamped(_ fields: JSONValue, base: JSONValue?) -> JSONValue {
      MemosApp().restamped(
        fields, of: MemosApp.memoType, base: base, from: 90_000, to: 70_000)
    }
    let written: JSONValue = ["title": "Milk", "content": "Milk", "date": 90_000]
    let corrected: JSONValue = ["title": "Milk", "content": "Milk", "date": 70_000]
    #expect(restamped(written, base: nil) == corrected)
    #expect(restamped(written, base: ["content": "Bread", "date": 10_000]) == corrected)
    // This device does not correct a date that another device wrote.
    #expect(restamped(corrected, base: corrected) == corrected)
    #expect(restamped(written, base: written) == written)
  }

  /// Another device's text arrives while a person edits the memo.
  @Test func aTextThatChangedMeanwhileIsKeptAsWell() throws {
    var table = table
    table.names = [DeviceID(rawValue: 0xB): "laptop"]
    try table.order(["do": "add", "content": "Milk"])
    table.take(
      "r1", MemosApp.memoType, ["title": "Eggs", "content": "Eggs", "date": 7],
      at: 1_772_366_400_500)
    try table.order(["do": "edit", "memo": "r1", "was": "Milk", "content": "Bread"])
    #expect(table.fields("r1")?["content"] == "Bread")
    let copy = "r1~000000000000000b-1772366400500"
    #expect(table.fields(copy) == ["title": "Eggs", "content": "Eggs", "date": 7])
    let view = try table.view(["show": "list"])
    #expect(view.lines.last == "  2  1970-01-01  Eggs  [other version, from laptop]")
    #expect(view.json["memos"]?.array?.last?["copyOf"] == "r1")
    // If both wrote the same text, nothing is lost and no copy is needed.
    try table.order(["do": "edit", "memo": "r1", "was": "Milk", "content": "Bread"])
    #expect(try table.view(["show": "list"]).lines.count == 2)
  }

  @Test func fieldsThatNobodyHereKnowsStay() throws {
    var table = table
    table.take("m", MemosApp.memoType, ["content": "a", "date": 1, "colour": "red"], at: 1)
    try table.order(["do": "edit", "memo": "m", "was": "a", "content": "b"])
    #expect(table.fields("m")?["colour"] == "red")
  }

  @Test func whatMakesNoSenseIsRefused() {
    #expect(table.refusal(["do": "add", "name": "r", "content": " \n"]) != nil)
    #expect(table.refusal(["do": "edit", "memo": "1", "was": "", "content": "x"]) != nil)
    #expect(table.refusal(["do": "remove", "memo": "1"]) == "there is no memo here")
    #expect(table.refusal(["do": "dance"]) != nil)
    #expect(throws: EditRefusal.self) { try table.view(["show": "dance"]) }
  }

  @Test func aNameThatMerelyLooksLikeACopyIsNone() throws {
    var table = table
    for name in ["a~b", "a~b-c", "a-5", "a-5~b"] {
      table.take(name, MemosApp.memoType, ["content": .string(name), "date": 1], at: 1)
    }
    let memos = try table.view(["show": "list"]).json["memos"]?.array ?? []
    #expect(memos.count == 4 && memos.allSatisfy { $0["copyOf"] == nil })
  }
}

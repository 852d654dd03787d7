import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal
import Testing

/// A person copies items on this device and on others.
struct ClipboardAppTests {
  private var table = AppTable(ClipboardApp())

  private func contents(_ table: AppTable) throws -> [String] {
    try table.view(["show": "list"]).json["items"]?.array?.compactMap { $0["content"]?.string }
      ?? []
  }

  @Test func whatWasCopiedLastStandsFirst() throws {
    var table = table
    #expect(try table.view(["show": "list"]).lines == ["nothing was copied yet"])
    try table.order(["do": "add", "content": "one"])
    try table.order(["do": "add", "content": "two\nlines"])
    #expect(try contents(table) == ["two\nlines", "one"])
    table.names = [table.device: "phone"]
    #expect(
      try table.view(["show": "list"]).lines == [
        "  1     now  phone         two lines", "  2     now  phone         one",
      ])
    #expect(try table.view(["show": "item", "item": "2"]).json["content"] == "one")
  }

  @Test func aListIsInTheLanguageOfThePerson() throws {
    var table = table
    table.names = [table.device: "電話"]
    try Language.japanese {
      #expect(try table.view(["show": "list"]).lines == ["コピーした項目はまだありません"])
      #expect(try table.order(["do": "add", "content": "one"]).lines == ["追加しました：one"])
      try table.order(["do": "add", "content": "two"])
      #expect(try table.order(["do": "pin", "item": "2"]).lines == ["ピン留めしました：one"])
    }
    let rows = try Language.chinese { try table.view(["show": "list"]).lines }
    #expect(rows.map { $0.hasPrefix("  1") } == [true, false])
    #expect(rows[0].hasSuffix("  電話          [已固定] one"), "\(rows)")
    // The columns stand below each other, since each character has two.
    let starts = rows.compactMap { row in
      row.firstRange(of: "電話").map { RowText.width(of: String(row[..<$0.lowerBound])) }
    }
    #expect(Set(starts).count == 1 && starts.count == 2)
    #expect(
      try Language.chinese { try table.order(["do": "clear"]).lines } == [
        "已移除 1 个项目", "保留了 1 个已固定的项目；要一并移除，请运行 lockstep clipboard clear --all",
      ])
  }

  @Test func itemsAreRemovedByTheirNumberAndAllAtOnce() throws {
    var table = table
    for text in ["one", "two", "three"] {
      try table.order(["do": "add", "content": .string(text)])
    }
    #expect(try table.order(["do": "remove", "item": "2"]).lines == ["removed: two"])
    #expect(try contents(table) == ["three", "one"])
    #expect(try table.order(["do": "clear"]).lines == ["2 items removed"])
    #expect(try contents(table).isEmpty)
    #expect(table.refusal(["do": "remove", "item": "1"]) == "there is no item here")
  }

  @Test func aHundredStandAndTheOldestGo() throws {
    var table = table
    // Two with the same time: the one with the lesser device is older, then the one with the lesser
    // name.
    table.take("z", ClipboardApp.itemType, ["content": "oldest"], at: 5, by: 1)
    table.take("a", ClipboardApp.itemType, ["content": "older"], at: 5, by: 2)
    table.take("b", ClipboardApp.itemType, ["content": "old"], at: 5, by: 2)
    for number in 0..<99 { try table.order(["do": "add", "content": .string("\(number)")]) }
    #expect(try contents(table).count == 100)
    #expect(try contents(table).last == "old")
    let surplus = table.app.surplus(of: ClipboardApp.itemType, among: table.state.records)
    #expect(surplus.map(\.name.text) == ["a", "z"])
    #expect(table.app.surplus(of: Name(trusted: "Other"), among: table.state.records).isEmpty)
  }

  @Test func aPinnedItemStandsFirstAndGoesBackToItsPlace() throws {
    var table = table
    for text in ["one", "two", "three"] {
      try table.order(["do": "add", "content": .string(text)])
    }
    #expect(try table.order(["do": "pin", "item": "3"]).lines == ["pinned: one"])
    #expect(try contents(table) == ["one", "three", "two"])
    #expect(
      try table.view(["show": "list"]).lines.first?.hasSuffix("  [pinned] one") == true)
    #expect(try table.order(["do": "pin", "item": "1"]).lines == ["is already pinned: one"])
    #expect(
      try table.order(["do": "clear"]).lines == [
        "2 items removed",
        "1 pinned item stays; remove pinned items too with lockstep clipboard clear --all",
      ])
    try table.order(["do": "add", "content": "four"])
    #expect(try table.order(["do": "unpin", "item": "1"]).lines == ["no longer pinned: one"])
    #expect(try contents(table) == ["four", "one"])
    #expect(try table.order(["do": "unpin", "item": "2"]).lines == ["is not pinned: one"])
    #expect(try table.order(["do": "clear", "pinned": true]).lines == ["2 items removed"])
  }

  @Test func pinnedItemsStayWhenTheOldestGoAndLeaveRoomForOthers() throws {
    var table = table
    for number in 0..<50 {
      try table.order(["do": "add", "content": .string("pin \(number)")])
      try table.order(["do": "pin", "item": .string("\(number + 1)")])
    }
    try table.order(["do": "add", "content": "51st"])
    #expect(
      table.refusal(["do": "pin", "item": "51"])
        == "50 items are pinned, the most there can be; unpin one")
    for number in 0..<60 { try table.order(["do": "add", "content": .string("\(number)")]) }
    let texts = try contents(table)
    #expect(texts.prefix(50).allSatisfy { $0.hasPrefix("pin ") })
    #expect(texts.dropFirst(50).first == "59")
    #expect(texts.count == 100)
  }

  /// A device writes a pin into an item that holds more than this version knows.
  @Test func aPinKeepsTheOtherFields() throws {
    var table = table
    table.take("a", ClipboardApp.itemType, ["content": "x", "colour": 5], at: 9)
    try table.order(["do": "pin", "item": "1"])
    let value = try #require(table.state.records.first?.value)
    #expect(value["colour"] == 5)
    #expect(value["pinned"] == true)
    #expect(value["copiedAt"] == 9)
  }

  @Test func anItemCannotStayTheNewestByItsOwnTime() throws {
    var table = table
    table.take(
      "a", ClipboardApp.itemType, ["content": "ahead", "copiedAt": 9_000_000_000_000_000], at: 5)
    table.take("b", ClipboardApp.itemType, ["content": "new"], at: 6)
    #expect(try contents(table) == ["new", "ahead"])
  }

  @Test func anImageIsShownAsSuch() throws {
    var table = table
    let hash = String(repeating: "ab", count: 32)
    let image: JSONValue = ["name": "a.png", "bytes": 245_760, "chunks": [.string(hash)]]
    let fields: JSONValue = ["content": "lake.png", "image": image, "imageType": "image/png"]
    table.take("a", ClipboardApp.itemType, fields, at: 9)
    let list = try table.view(["show": "list"])
    #expect(list.lines.first?.hasSuffix("  [image, 240.0 KiB, PNG] lake.png") == true)
    #expect(
      list.json["items"]?.array?.first?["image"] == ["bytes": 245_760, "type": "image/png"])
    let item = try table.view(["show": "item", "item": "1"])
    #expect(item.json["image"] == image.setting("type", to: "image/png"))
    #expect(table.app.chunks(in: fields, of: ClipboardApp.itemType).map(\.text) == [hash])
    #expect(
      try table.order(["do": "remove", "item": "1"]).lines == [
        "removed: [image, 240.0 KiB, PNG] lake.png"
      ])
  }

  @Test func whatIsNoImageIsShownByItsText() throws {
    var table = table
    let odd: [JSONValue] = [
      5, [:], ["name": "a", "bytes": 5, "chunks": []], [["name": "a", "bytes": 0, "chunks": []]],
    ]
    for (number, image) in odd.enumerated() {
      table.take(
        "\(number)", ClipboardApp.itemType, ["content": "x", "image": image], at: Int64(number))
    }
    let list = try table.view(["show": "list"])
    #expect(list.lines.allSatisfy { $0.hasSuffix("  x") })
    table.take(
      "z", ClipboardApp.itemType,
      ["image": ["name": "a", "bytes": 0, "chunks": []], "imageType": "text/html"], at: 99)
    #expect(try table.view(["show": "list"]).lines.first?.hasSuffix("  [image, 0 B]") == true)
  }

  @Test func whatMakesNoSenseIsRefused() {
    for blank: JSONValue in ["", " \t\n", "\u{3000}\u{a0}"] {
      #expect(
        table.refusal(["do": "add", "name": "r", "content": blank])
          == "there is nothing to add: the text is blank")
    }
    #expect(table.refusal(["do": "pin", "item": "1"]) == "there is no item here")
    #expect(table.refusal(["do": "add", "name": "r"]) == "content must be a text")
    #expect(table.refusal(["do": "add", "name": "", "content": "x"]) != nil)
    #expect(table.refusal(["do": "dance"]) != nil)
    #expect(table.refusal([:]) != nil)
    #expect(throws: EditRefusal.self) { try table.view(["show": "dance"]) }
  }

  /// Another program may have written any content.
  @Test func oddRecordsAreShownAndMayGo() throws {
    var table = table
    table.take("odd", ClipboardApp.itemType, ["content": 5], at: 9)
    #expect(try contents(table) == [""])
    try table.order(["do": "remove", "item": "1"])
    #expect(try contents(table).isEmpty)
  }
}

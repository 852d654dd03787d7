import LockstepApps
import LockstepModel
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

  @Test func whatMakesNoSenseIsRefused() {
    #expect(table.refusal(["do": "add", "name": "r", "content": ""]) == "there is nothing to add")
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

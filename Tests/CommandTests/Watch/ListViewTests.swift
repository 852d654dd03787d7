import LockstepJSON
import LockstepLanguage
import LockstepModel
import Testing

@testable import LockstepCommand

struct ListViewTests {
  private func view(_ count: Int) -> ListView {
    var view = ListView(title: "Memos")
    view.handleLine(
      ["view": [:], "lines": .array((0..<count).map { .string("row \($0)") })], at: 0)
    view.handleLine(["status": ["state": "syncing", "deviceName": "phone"]], at: 0)
    return view
  }

  private func text(_ view: ListView, _ height: Int, columns: Int = 40) -> [String] {
    var view = view
    view.layOut(columns: columns, height: height, at: 0)
    return view.rows(columns: columns, height: height, at: 0).map(\.plainText)
  }

  private func press(_ keys: String, _ view: inout ListView, height: Int = 6) {
    for key in keys.utf8 {
      view.layOut(columns: 40, height: height, at: 0)
      _ = view.handleKey(key)
    }
  }

  private let heading = " Memos  ○ syncing                 phone "

  @Test func theHeadingNamesTheAppTheSyncStatusAndTheDevice() {
    #expect(text(view(2), 6) == [heading, "row 0", "row 1", "", "", " ? help  q quit"])
    let gaps = text(view(2), 12)
    #expect(gaps[0] == heading && gaps[1].isEmpty && gaps[2] == "row 0" && gaps[10].isEmpty)
    #expect(text(ListView(title: "Memos"), 6)[0] == " Memos  …")
  }

  @Test func aLongStatusHasARowOfItsOwn() {
    var view = view(1)
    let status: JSONValue = [
      "state": "offline", "deviceName": "phone", "reason": "Connection refused",
    ]
    view.handleLine(["status": status], at: 0)
    let rows = text(view, 6, columns: 30)
    #expect(rows[0] == " Memos                  phone ")
    #expect(rows[1].hasPrefix(" ○ offline"), "\(rows)")
    #expect(rows[2] == "row 0")
    #expect(text(view, 6, columns: 10)[0] == " Memos")
  }

  @Test func whatHasNoRoomIsCounted() {
    let foot = " j k scroll  ? help  q quit"
    #expect(text(view(10), 6) == [heading, "row 0", "row 1", "row 2", "… and 7 more", foot])
    #expect(text(view(4), 6) == [heading, "row 0", "row 1", "row 2", "row 3", " ? help  q quit"])
  }

  @Test func keysScrollTheListWithinItsEnds() {
    var view = view(10)
    press("j", &view)
    #expect(text(view, 6)[1...4] == ["… 2 before", "row 2", "row 3", "… and 6 more"])
    press("\u{1B}[B", &view)
    #expect(text(view, 6)[2] == "row 3")
    press("\u{1B}[A", &view)
    #expect(text(view, 6)[2] == "row 2")
    press("  ", &view)
    #expect(text(view, 6)[1...4] == ["… 7 before", "row 7", "row 8", "row 9"])
    press("jj", &view)
    #expect(text(view, 6)[4] == "row 9")
    press("b", &view)
    #expect(text(view, 6)[2] == "row 3")
    press("g", &view)
    press("k", &view)
    #expect(text(view, 6)[1] == "row 0")
    // Letters alone are no arrows.
    press("AB", &view)
    #expect(text(view, 6)[1] == "row 0")
  }

  @Test func questionMarkListsTheKeysAndGoesBack() {
    var view = view(3)
    press("?", &view)
    let help = text(view, 12)
    #expect(help[0] == heading && help[2] == " Keys" && help.contains { $0.contains("q ") })
    press("?", &view)
    #expect(text(view, 12)[2] == "row 0")
  }

  @Test func headingAndKeysAreInTheLanguageOfThePerson() {
    Language.japanese {
      var view = view(10)
      let rows = text(view, 6)
      #expect(rows[0].hasPrefix(" メモ  ○ "), "\(rows)")
      #expect(rows[4] == "… ほか7件" && rows[5] == " j k スクロール  ? ヘルプ  q 終了")
      press("?", &view)
      #expect(text(view, 12, columns: 80)[2] == " キーボードショートカット")
      #expect(text(view, 12, columns: 80)[5] == "  スペース、b  1ページ下へ、1ページ上へ")
    }
    Language.chinese {
      #expect(text(view(10), 6)[5] == " j k 滚动  ? 帮助  q 退出")
    }
  }

  @Test(arguments: 1...30) func noScreenIsTooSmall(_ height: Int) {
    #expect(text(view(10), height).count <= height)
    #expect(text(view(10), height).last?.hasSuffix("q quit") == true)
  }

  @Test func whatIsRefusedIsShownInPlaceOfTheRows() {
    var view = view(3)
    view.handleLine(["error": "not\u{1B}[2J now"], at: 0)
    #expect(text(view, 6)[1] == "not [2J now")
  }
}

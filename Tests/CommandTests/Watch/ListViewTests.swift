import LockstepModel
import Testing

@testable import LockstepCommand

struct ListViewTests {
  private func view(_ count: Int) -> ListView {
    var view = ListView()
    view.handleLine(
      ["view": [:], "lines": .array((0..<count).map { .string("row \($0)") })], at: 0)
    view.handleLine(["status": ["state": "syncing"]], at: 0)
    return view
  }

  private func text(_ view: ListView, _ height: Int) -> [String] {
    view.rows(columns: 80, height: height, at: 0).map(\.plainText)
  }

  @Test func rowsStandAboveAndSyncBelow() {
    #expect(text(view(2), 6) == ["row 0", "row 1", "", "", "", "syncing · q quit"])
  }

  @Test func whatHasNoRoomIsCounted() {
    #expect(
      text(view(10), 6) == ["row 0", "row 1", "row 2", "… and 7 more", "", "syncing · q quit"])
    #expect(text(view(4), 6) == ["row 0", "row 1", "row 2", "row 3", "", "syncing · q quit"])
  }

  @Test(arguments: 1...30) func noScreenIsTooSmall(_ height: Int) {
    #expect(text(view(10), height).count <= height)
  }

  @Test func whatIsRefusedIsShownInPlaceOfTheRows() {
    var view = view(3)
    view.handleLine(["error": "not\u{1B}[2J now"], at: 0)
    #expect(text(view, 6)[0] == "not [2J now")
  }
}

import Changes
import Testing

@testable import lockstep

struct TimerViewTests {
  private func plain(_ text: String) -> [String] {
    text.replacing("\u{1B}[1m", with: "").replacing("\u{1B}[0m", with: "")
      .replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  @Test func theTimerStandsFirstThenSyncThenTheKeys() {
    var view = TimerView()
    view.take(["line": "focus 24:59"])
    view.take(["status": ["state": "syncing"]])
    let lines = plain(view.drawn())
    #expect(lines.count == 3)
    #expect(lines[0].hasSuffix("focus 24:59"))
    #expect(lines[1] == "syncing")
    #expect(lines[2].contains("q quit"))
  }

  @Test func theNextViewIsDrawnOverTheLast() {
    var view = TimerView()
    #expect(view.drawn().hasPrefix("\r\u{1B}[J"))
    #expect(view.drawn().hasPrefix("\r\u{1B}[2A\u{1B}[J"))
    view.showsKeys = false
    #expect(view.drawn().hasPrefix("\r\u{1B}[2A\u{1B}[J"))
    #expect(view.drawn().hasPrefix("\r\u{1B}[1A\u{1B}[J"))
  }

  @Test func aRefusalStaysUntilAPressSucceeds() {
    var view = TimerView()
    view.take(["error": "nothing runs"])
    #expect(view.drawn().contains("nothing runs"))
    view.take(["line": "idle"])
    #expect(view.drawn().contains("nothing runs"))
    view.take(["answer": [:]])
    #expect(!view.drawn().contains("nothing runs"))
  }
}

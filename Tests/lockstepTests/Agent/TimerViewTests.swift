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
    var view = TimerView(takesColours: true)
    view.take(["view": [:], "lines": ["focus 24:59"]])
    view.take(["status": ["state": "syncing"]])
    let lines = plain(view.drawn(columns: 80, rows: 24))
    #expect(lines.count == 3)
    #expect(lines[0].hasSuffix("focus 24:59"))
    #expect(lines[1] == "syncing")
    #expect(lines[2].contains("q quit"))
  }

  @Test func theNextViewIsDrawnOverTheLast() {
    var view = TimerView(takesColours: true)
    #expect(view.drawn(columns: 80, rows: 24).hasPrefix("\r\u{1B}[J"))
    #expect(view.drawn(columns: 80, rows: 24).hasPrefix("\r\u{1B}[2A\u{1B}[J"))
    view.showsKeys = false
    #expect(view.drawn(columns: 80, rows: 24).hasPrefix("\r\u{1B}[2A\u{1B}[J"))
    #expect(view.drawn(columns: 80, rows: 24).hasPrefix("\r\u{1B}[1A\u{1B}[J"))
  }

  @Test func aLineWiderThanTheTerminalIsCut() {
    var view = TimerView(takesColours: false)
    view.take(["view": [:], "lines": ["focus 24:59, paused"]])
    #expect(view.drawn(columns: 20, rows: 24).hasPrefix("\r\u{1B}[Jfocus 24:59, paused\r\n"))
    #expect(view.drawn(columns: 19, rows: 24).contains("focus 24:59, paus…\r\n"))
  }

  @Test func aDeviceInSyncIsSoAllTheTime() {
    var view = TimerView(takesColours: false)
    view.take(["status": ["state": "inSync", "lastSync": 0]])
    #expect(plain(view.drawn(columns: 80, rows: 24))[1] == "in sync")
  }

  @Test func aRefusalStaysUntilAPressSucceeds() {
    var view = TimerView(takesColours: true)
    view.take(["error": "nothing runs"])
    #expect(view.drawn(columns: 80, rows: 24).contains("nothing runs"))
    view.take(["view": [:], "lines": ["idle"]])
    #expect(view.drawn(columns: 80, rows: 24).contains("nothing runs"))
    view.take(["answer": [:]])
    #expect(!view.drawn(columns: 80, rows: 24).contains("nothing runs"))
  }
}

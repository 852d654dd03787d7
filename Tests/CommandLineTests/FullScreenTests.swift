import LockstepApps
import LockstepTerminal
import Testing

@testable import LockstepCommandLine

struct FullScreenTests {
  private func frame(_ rows: [String], over before: [String]?) -> String {
    FullScreen.frame(
      rows.map { ScreenRow($0) }, over: before?.map { ScreenRow($0) }, supportsColours: false)
  }

  @Test func theFirstFrameWipesWhatStandsThere() {
    #expect(
      frame(["a", "b"], over: nil)
        == "\u{1B}[H\u{1B}[2J\u{1B}[1;1H\u{1B}[Ka\u{1B}[2;1H\u{1B}[Kb")
  }

  @Test func onlyRowsThatDifferAreDrawn() {
    #expect(frame(["a", "c", "d"], over: ["a", "b", "d"]) == "\u{1B}[2;1H\u{1B}[Kc")
    #expect(frame(["a"], over: ["a"]).isEmpty)
    #expect(frame(["a"], over: ["a", "b"]) == "\u{1B}[2;1H\u{1B}[J")
    #expect(frame(["a", "b"], over: ["a"]) == "\u{1B}[2;1H\u{1B}[Kb")
  }
}

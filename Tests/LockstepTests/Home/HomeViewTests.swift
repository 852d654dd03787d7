import LockstepModel
import Testing

@testable import Lockstep

struct HomeViewTests {
  @Test func aViewIsReadFromItsLine() {
    let view = HomeView(["view": ["items": []], "lines": ["one", "two"]])
    #expect(view.json == ["items": []])
    #expect(view.text == "one\ntwo")
  }

  @Test func whatAnotherVersionSaysIsShownAsFarAsItCanBe() {
    let view = HomeView(["screen": 1])
    #expect(view.json == ["screen": 1])
    #expect(view.text == "")
  }
}

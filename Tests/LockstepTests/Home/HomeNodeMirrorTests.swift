import LockstepClient
import LockstepRuntime
import LockstepWire
import Testing

@testable import Lockstep

struct HomeNodeMirrorTests {
  @Test func aRequestGoesToTheMirrorAndItsAnswerBack() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .mirror(["do": "look"]))
    let asked = try #require(stage.asked.first)
    #expect(asked.0 == ConnectionID(rawValue: 1) && asked.1 == ["do": "look"])
    #expect(stage.lines(1).isEmpty)
    stage.order(.answer(asked.0, .success(5)))
    #expect(try stage.answer(1) == 5)
  }

  @Test func whereItStandsIsToldAtOnce() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .mirrorStatus)
    #expect(try stage.answer(1) == ["files": []])
    stage.order(.mirrorState(["files": [1]]))
    stage.ask(1, .mirrorStatus)
    #expect(try stage.answer(1) == ["files": [1]])
  }

  @Test func whoWatchesIsToldOfEveryChange() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.connect(2)
    stage.ask(1, .watchMirror)
    stage.ask(2, .mirrorStatus)
    _ = stage.lines(2)
    let first = stage.lines(1)
    // The mirror has not reported yet.
    #expect(first.count == 1 && first.first?["status"] != nil)
    stage.order(.mirrorState(["files": [2]]))
    #expect(stage.lines(1) == [["mirror": ["files": [2]]]])
    #expect(stage.lines(2).isEmpty)
  }

  @Test func aWatcherThatTakesNothingIsToldNoMore() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .watchMirror)
    _ = stage.lines(1)
    stage.drained(1, unsent: 70_000)
    stage.order(.mirrorState(["files": [1]]))
    #expect(stage.lines(1).isEmpty)
    stage.drained(1, unsent: 0)
    stage.order(.mirrorState(["files": [2]]))
    #expect(stage.lines(1) == [["mirror": ["files": [2]]]])
  }

  @Test func theMirrorsOrdersReachTheAgent() throws {
    var stage = try HomeStage()
    let order = OrderID(rawValue: HomeOrder.firstNumber)
    stage.order(.agent(.readAll(order)))
    let isTold = stage.told.contains { report in
      if case .read(order, .success(let records)) = report { records.isEmpty } else { false }
    }
    #expect(isTold)
  }
}

import LockstepEventLoop
import LockstepTerminal
import Testing

@testable import LockstepBench

struct SeamBenchCommandTests {
  @Test func aFigureStandsBesideItsGoal() {
    let figure = SeamCost.Figure.instructionsPerDelivery(512.4)
    #expect(
      SeamBenchCommand.text(of: figure)
        == "512 instructions a delivery; the goal is at most 700")
    #expect(SeamBenchCommand.text(asJSON: figure) == #"{"instructionsPerDelivery":512}"#)
  }

  @Test func aMachineThatCannotCountNamesWhatCan() {
    let figure = SeamCost.Figure.notSupported(SystemFault(call: "perf_event_open", code: 2))
    #expect(SeamBenchCommand.text(of: figure).contains("scripts/seam-cost"))
    #expect(SeamBenchCommand.text(asJSON: figure) == #"{"instructionsPerDelivery":null}"#)
  }
}

import LockstepModel
import LockstepSimulation
import Testing

@testable import LockstepBench

struct DayScriptTests {
  @Test(arguments: KnownApp.allCases)
  func aDayIsWorkedThroughInOrderAndThenLeftAlone(_ app: KnownApp) {
    var random = SeededRandom(seed: 3)
    let acts = DayScript(of: app, devices: 3, random: &random).acts
    #expect(acts.count > 10)
    #expect(acts.map(\.at) == acts.map(\.at).sorted())
    #expect(acts.allSatisfy { DayScript.work.lowerBound <= $0.at })
    #expect(acts.allSatisfy { $0.at < DayScript.idle.lowerBound })
    #expect(Set(acts.map(\.device)) == [0, 1, 2])
  }
}

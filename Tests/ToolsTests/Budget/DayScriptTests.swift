import Apps
import Changes
import Testing

@testable import Tools

struct DayScriptTests {
  @Test(arguments: AppCatalog.all.map(\.name))
  func aDayIsWorkedThroughInOrderAndThenLeftAlone(_ name: String) throws {
    let app = try #require(AppCatalog.all.first { $0.name == name })
    var random = SeededRandom(seed: 3)
    let acts = DayScript(of: app, devices: 3, random: &random).acts
    #expect(acts.count > 10)
    #expect(acts.map(\.at) == acts.map(\.at).sorted())
    #expect(acts.allSatisfy { DayScript.work.lowerBound <= $0.at })
    #expect(acts.allSatisfy { $0.at < DayScript.idle.lowerBound })
    #expect(Set(acts.map(\.device)) == [0, 1, 2])
  }
}

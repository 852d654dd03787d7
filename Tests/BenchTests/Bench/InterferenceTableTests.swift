import LockstepModel
import Testing

@testable import LockstepBench

struct InterferenceTableTests {
  private func histogram(_ milliseconds: [Int64]) -> LatencyHistogram {
    var histogram = LatencyHistogram()
    for value in milliseconds { histogram.record(nanoseconds: value * 1_000_000) }
    return histogram
  }

  private func pair(quiet: Int64, busy: Int64, relayPeak: Int64? = 50 << 20) -> InterferencePair {
    var pair = InterferencePair(
      quiet: histogram([quiet]), busy: histogram([busy]), records: 1_000,
      nanoseconds: 500_000_000)
    pair.relayPeak = relayPeak
    return pair
  }

  private func table(_ pairs: [InterferencePair], _ load: InterferencePlan.Load = .firstSync)
    -> InterferenceTable
  {
    var plan = InterferencePlan()
    plan.load = load
    return InterferenceTable(plan: plan, pairs: pairs)
  }

  @Test func theRatioIsTheMedianOfThePairs() {
    let table = table([
      pair(quiet: 1, busy: 9), pair(quiet: 2, busy: 3), pair(quiet: 1, busy: 1),
    ])
    #expect(table.json["ratioP50"]?.text == "1.5")
    #expect(table.json["ratiosP50"]?.array?.map(\.text) == ["9", "1.5", "1"])
    #expect(table.json["recordsPerSecond"]?.int64 == 2_000)
    #expect(table.isMet == true)
    #expect(table.text.contains("≤ 2 met"))
  }

  @Test func moreThanTwiceTheQuietMedianIsSaidSo() {
    let table = table([pair(quiet: 1, busy: 3)])
    #expect(table.isMet == false)
    #expect(table.text.contains("≤ 2 MISSED"))
  }

  @Test func peaksAreTheGreatestOfAllRuns() {
    let table = table([
      pair(quiet: 1, busy: 1, relayPeak: 1_536 << 10), pair(quiet: 1, busy: 1, relayPeak: 1),
    ])
    #expect(table.json["relayPeakBytes"]?.int64 == 1_536 << 10)
    #expect(table.text.contains("1.50 MiB"))
  }

  @Test func whatIsNotKnownIsNull() {
    var pair = pair(quiet: 1, busy: 1, relayPeak: nil)
    pair.busy = LatencyHistogram()
    let table = table([pair], .backlog)
    for name in ["ratioP50", "busyP50Ms", "relayPeakBytes", "devicePeakBytes", "logBytes"] {
      #expect(table.json[name] == .null, "\(name)")
    }
    #expect(table.isMet == nil)
    #expect(table.text.contains("unknown"))
  }

  @Test(arguments: InterferencePlan.Load.allCases)
  func everyLoadSaysWhatItIs(_ load: InterferencePlan.Load) {
    let table = table([pair(quiet: 1, busy: 1)], load)
    #expect(table.json["load"]?.string == load.rawValue)
    #expect(table.text.contains("another account saves 50 times a second; 1 pairs"))
  }

  @Test func aBacklogsDevicesAreSpreadOverAccounts() {
    var plan = InterferencePlan()
    #expect(plan.backlogAccounts == 10)
    plan.devices = 21
    #expect(plan.backlogAccounts == 2)
    #expect(InterferencePlan.devicesPerAccount <= Limits.devicesPerAccount)
  }
}

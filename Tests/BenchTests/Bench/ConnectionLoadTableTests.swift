import LockstepModel
import Testing

@testable import LockstepBench

struct ConnectionLoadTableTests {
  private func result(_ milliseconds: Int64, missing: Int = 0) -> BenchResult {
    var result = BenchResult()
    result.latency.record(nanoseconds: milliseconds * 1_000_000)
    result.missing = missing
    return result
  }

  private func pair(_ quiet: Int64, _ loaded: Int64, missing: Int = 0) -> ConnectionLoadPair {
    ConnectionLoadPair(quiet: result(quiet), loaded: result(loaded, missing: missing))
  }

  @Test func theMedianOfThePairsDecides() {
    let table = ConnectionLoadTable(
      plan: ConnectionLoadPlan(), pairs: [pair(1, 9), pair(2, 3), pair(1, 1)])
    #expect(table.json["ratioP99"]?.text == "1.5")
    #expect(table.json["ratiosP99"]?.array?.map(\.text) == ["9", "1.5", "1"])
    #expect(table.isMet && table.text.contains("≤ 2 met"))
    #expect(table.text.contains("100 devices, 200 changes a second, beside 10000 idle"))
  }

  @Test func moreThanTwiceTheQuietTimeIsSaidSo() {
    let table = ConnectionLoadTable(plan: ConnectionLoadPlan(), pairs: [pair(1, 3)])
    #expect(!table.isMet && table.text.contains("≤ 2 MISSED"))
  }

  @Test func aLostChangeIsNoGoodResultHoweverFast() {
    let table = ConnectionLoadTable(plan: ConnectionLoadPlan(), pairs: [pair(1, 1, missing: 1)])
    #expect(!table.isMet && table.text.contains("lost"))
  }

  @Test func theMemoryIsTheMostOfAllRuns() {
    var pairs = [pair(1, 1), pair(1, 1)]
    pairs[0].relayPeak = 3 << 20
    pairs[1].relayPeak = 1 << 20
    let table = ConnectionLoadTable(plan: ConnectionLoadPlan(), pairs: pairs)
    #expect(table.json["relayPeakBytes"]?.int64 == 3 << 20)
    #expect(table.json["relayBeforeBytes"] == .null)
    #expect(table.text.contains("3.00 MiB") && table.text.contains("unknown"))
  }

  @Test func everyoneOfTheCrowdHasAnAccount() {
    var plan = ConnectionLoadPlan()
    #expect(plan.signedIn + plan.silent == plan.idle && plan.idleAccounts == 100)
    #expect(plan.slowAccounts == 10)
    (plan.idle, plan.slow) = (3, 31)
    #expect((plan.signedIn, plan.silent, plan.idleAccounts, plan.slowAccounts) == (1, 2, 1, 2))
    #expect(ConnectionLoadPlan.slowReadersPerAccount < Limits.devicesPerAccount)
  }
}

import LockstepModel
import Testing

@testable import LockstepBench

struct HostileTableTests {
  private func window(_ milliseconds: Int64) -> HostileWindow {
    var latency = LatencyHistogram()
    latency.record(nanoseconds: milliseconds * 1_000_000)
    return HostileWindow(saves: latency, reads: latency)
  }

  private func row(_ quiet: [Int64], _ attacked: [Int64]) -> HostileRow {
    var row = HostileRow(attack: .recordFlood)
    row.quiet = quiet.map(window)
    row.attacked = attacked.map(window)
    return row
  }

  private func pair(_ quiet: Int64, _ attacked: Int64, peak: Int64 = 90) -> ConnectionLoadPair {
    var pair = ConnectionLoadPair(quiet: result(quiet), loaded: result(attacked))
    (pair.relayBefore, pair.relayPeak) = (10, peak)
    return pair
  }

  private func result(_ milliseconds: Int64) -> BenchResult {
    var result = BenchResult()
    result.latency.record(nanoseconds: milliseconds * 1_000_000)
    return result
  }

  private func table(_ rows: [HostileRow], together: [ConnectionLoadPair]? = nil) -> HostileTable {
    HostileTable(rows: rows, seconds: 3, together: together ?? [pair(2, 3)], memoryMost: 100)
  }

  @Test func theMediansOfTheWindowsDecide() {
    let table = table([row([2, 2, 90], [5, 15, 900])])
    #expect(table.isMet && table.text.contains("met"))
    #expect(table.json["isMet"]?.bool == true)
    #expect(self.table([row([3], [2])]).text.contains("-1.00 ms"))
    #expect(table.json["attacks"]?.array?.first?["attack"]?.string == "flood of records")
  }

  @Test func anAttackThatMovesTheVictimIsSaidSo() {
    let table = table([row([2], [2]), row([2], [40])])
    #expect(!table.isMet && table.text.contains("MISSED"))
  }

  @Test func whatWasNotMeasuredIsNotMet() {
    #expect(!table([HostileRow(attack: .chunkNames)]).isMet)
    #expect(!table([row([2], [2])], together: []).isMet)
  }

  @Test func allAtOnceMayDoubleWhatOthersWaitAndNoMore() {
    let rows = [row([2], [2])]
    #expect(table(rows, together: [pair(2, 4), pair(2, 2), pair(2, 90)]).isMet)
    let slow = table(rows, together: [pair(2, 5), pair(2, 2), pair(2, 90)])
    #expect(!slow.isMet && slow.text.contains("≤ 2 MISSED"))
  }

  @Test func theRelayMayTakeItsBoundOfMemoryAndNoMore() {
    let rows = [row([2], [2])]
    #expect(table(rows, together: [pair(2, 2, peak: 110)]).isMet)
    #expect(!table(rows, together: [pair(2, 2, peak: 110), pair(2, 2, peak: 111)]).isMet)
  }
}

import Changes
import Testing

@testable import Tools

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

  @Test func theMediansOfTheWindowsDecide() {
    let table = HostileTable(rows: [row([2, 2, 90], [5, 15, 900])], seconds: 3)
    #expect(table.isMet && table.text.contains("met"))
    #expect(table.json["isMet"]?.bool == true)
    #expect(table.json["attacks"]?.array?.first?["attack"]?.string == "flood of records")
  }

  @Test func anAttackThatMovesTheVictimIsSaidSo() {
    let table = HostileTable(rows: [row([2], [2]), row([2], [40])], seconds: 3)
    #expect(!table.isMet && table.text.contains("MISSED"))
  }

  @Test func whatWasNotMeasuredIsNotMet() {
    #expect(!HostileTable(rows: [HostileRow(attack: .pieceNames)], seconds: 3).isMet)
  }
}

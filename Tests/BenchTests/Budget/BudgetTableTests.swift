import Testing

@testable import LockstepBench

struct BudgetTableTests {
  private func row(_ change: (inout BudgetRow) -> Void) -> BudgetRow {
    var row = BudgetRow(app: .timer, way: .transport(.webSocket))
    (row.edits, row.requests, row.bytes, row.idleWakes) = (40, 12, 70_000, 148)
    change(&row)
    return row
  }

  @Test func whatStaysBelowItsTargetsIsMet() {
    let table = BudgetTable(rows: [row { _ in }])
    #expect(table.isMet)
    #expect(table.json["met"] == true)
    #expect(table.text.contains("met") && !table.text.contains("MISSED"))
  }

  @Test func eachTargetCanBeMissed() {
    let misses = [
      row { $0.requests = 100 }, row { $0.bytes = 1_000_000 }, row { $0.idleWakes = 161 },
      row { $0.faults = ["devices differ in the end"] },
    ]
    for miss in misses {
      let table = BudgetTable(rows: [row { _ in }, miss])
      #expect(!table.isMet)
      #expect(table.json["met"] == false)
      #expect(table.text.contains("MISSED"))
    }
  }

  @Test func aDeviceThatSleepsHasATenthOfTheWakeups() {
    let asleep = row { ($0.way, $0.idleWakes, $0.wakeups) = (.wake, 0, 200) }
    #expect(BudgetTable(rows: [asleep]).isMet)
    for miss in [
      row { ($0.way, $0.idleWakes) = (.wake, 20) },
      row {
        ($0.way, $0.idleWakes, $0.wakeups) = (.wake, 0, 400)
      },
    ] {
      #expect(!BudgetTable(rows: [miss]).isMet)
    }
  }

  /// The timer's bytes have a limit; other apps' bytes have none, because files may have any size.
  @Test func theLastRungAndOtherAppsHaveTargetsOfTheirOwn() {
    let poll = row { ($0.way, $0.requests, $0.bytes) = (.transport(.poll), 130, 1_200_000) }
    let files = row { ($0.app, $0.bytes) = (.vault, 5_000_000) }
    let table = BudgetTable(rows: [poll, files])
    #expect(table.isMet, "\(table.text)")
    #expect(table.text.contains("last fallback"))
    #expect(table.json["rows"]?.array?.first?["requestsAnHourMost"] == .null)
  }
}

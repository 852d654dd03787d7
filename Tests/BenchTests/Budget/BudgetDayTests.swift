import LockstepClient
import LockstepSimulation
import Testing

@testable import LockstepBench

struct BudgetDayTests {
  @Test(arguments: KnownApp.allCases)
  func aDayOfEachAppStaysWithinItsBudget(_ app: KnownApp) throws {
    // `lockstep bench budget` runs every app in every way.
    let ways: [BudgetWay] =
      app == .timer
      ? [.transport(.webSocket), .transport(.poll), .wake] : [.transport(.webSocket), .wake]
    let rows = try ways.map { way in try BudgetDay(app: app, way: way, seed: 1).run() }
    let table = BudgetTable(rows: rows)
    #expect(table.isMet, "\n\(table.text)")
    #expect(rows.allSatisfy { $0.edits > 0 && $0.bytes > 0 && $0.requests > 0 })
    // The actions do not depend on the transport.
    #expect(Set(rows.map(\.edits)).count == 1)
  }

  @Test func theSameDayCostsTheSame() throws {
    for way in [BudgetWay.transport(.webSocket), .wake] {
      let day = BudgetDay(app: .timer, way: way, seed: 7)
      #expect(try day.run() == day.run())
    }
  }

  /// Polling sends more requests all day; a socket wakes a device only for its heartbeat.
  @Test func theRungsDifferAsTheyMust() throws {
    func row(_ way: BudgetWay) throws -> BudgetRow {
      try BudgetDay(app: .habits, way: way, seed: 1).run()
    }
    let (socket, poll) = (try row(.transport(.webSocket)), try row(.transport(.poll)))
    #expect(poll.requests > 2 * socket.requests)
    #expect(poll.bytes > socket.bytes)
    let asleep = try row(.wake)
    #expect(asleep.wakeups > 0 && asleep.wakeups * 10 < socket.wakeups)
    #expect(asleep.idleWakes * 10 < socket.idleWakes)
  }
}

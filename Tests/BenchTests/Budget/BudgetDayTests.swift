import LockstepClient
import LockstepSimulation
import Testing

@testable import LockstepBench

struct BudgetDayTests {
  @Test(arguments: KnownApp.allCases)
  func aDayOfEachAppStaysWithinItsBudget(_ app: KnownApp) throws {
    // `lockstep bench budget` runs every app with every transport.
    let transports = app == .timer ? [Transport.webSocket, .poll] : [.webSocket]
    let rows = try transports.map { transport in
      try BudgetDay(app: app, transport: transport, seed: 1).run()
    }
    let table = BudgetTable(rows: rows)
    #expect(table.isMet, "\n\(table.text)")
    #expect(rows.allSatisfy { $0.edits > 0 && $0.bytes > 0 && $0.requests > 0 })
    // The actions do not depend on the transport.
    #expect(Set(rows.map(\.edits)).count == 1)
  }

  @Test func theSameDayCostsTheSame() throws {
    let day = BudgetDay(app: .timer, transport: .webSocket, seed: 7)
    #expect(try day.run() == day.run())
  }

  /// Polling sends more requests all day; a socket wakes a device only for its heartbeat.
  @Test func theRungsDifferAsTheyMust() throws {
    func row(_ transport: Transport) throws -> BudgetRow {
      try BudgetDay(app: .habits, transport: transport, seed: 1).run()
    }
    let (socket, poll) = (try row(.webSocket), try row(.poll))
    #expect(poll.requests > 2 * socket.requests)
    #expect(poll.bytes > socket.bytes)
  }
}

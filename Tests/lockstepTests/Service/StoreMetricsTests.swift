import Testing

@testable import LockstepCommand
@testable import LockstepRelay

struct StoreMetricsTests {
  @Test func whatIsMeasuredIsShown() {
    let meter = StoreMetrics(accounts: 2)
    #expect(meter.commit(7) { "done" } == "done")
    #expect(meter.fetch { 3 } == 3)
    meter.synced(1_000)
    meter.synced(2_000)
    meter.accounts(change: 1)
    let measures = meter.source(of: .folder("/nowhere")).read()
    #expect(measures.accounts == 3)
    #expect(measures.commits.count == 1)
    #expect(measures.batches.sum == 7)
    #expect(measures.fetches.count == 1)
    #expect(measures.syncs.count == 2)
    #expect(measures.syncs.sum == 3_000)
    #expect(measures.databaseBytes == nil, "there is no such store")
  }
}

import Testing

@testable import LockstepRelay
@testable import LockstepRelayService

struct StoreMetricsTests {
  @Test func whatIsMeasuredIsShown() {
    let metrics = StoreMetrics(accounts: 2)
    #expect(metrics.measureCommit(7) { "done" } == "done")
    #expect(metrics.measureRead { 3 } == 3)
    metrics.recordSync(1_000)
    metrics.recordSync(2_000)
    metrics.addAccounts(1)
    let measures = metrics.source(of: .folder("/nowhere")).read()
    #expect(measures.accounts == 3)
    #expect(measures.commits.count == 1)
    #expect(measures.batches.sum == 7)
    #expect(measures.fetches.count == 1)
    #expect(measures.syncs.count == 2)
    #expect(measures.syncs.sum == 3_000)
    #expect(measures.databaseBytes == nil, "there is no such store")
  }
}

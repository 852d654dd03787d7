import LockstepModel
import LockstepStorage
import Testing

struct StoreRowsTests {
  @Test func eachTableHasRowsOfItsOwn() {
    let empty: [StoreRows] = [
      .accounts([]), .lineage([]), .gaps([]), .devices([]), .pairings([]), .subscriptions([]),
      .wakes([]), .wakeKeys([]), .zones([]), .records([]), .batches([]), .chunks([]),
      .departed([]), .departedDevices([]), .departedPairings([]),
    ]
    #expect(empty.map(\.table) == StoreTable.allCases)
    #expect(empty.allSatisfy { $0.count == 0 })
  }

  @Test func rowsCountOnce() {
    let account = AccountID(rawValue: 1)
    let generations = (1...3 as ClosedRange<UInt32>).map {
      EndedGeneration(account: account, generation: $0, endedAt: 9)
    }
    #expect(StoreRows.lineage(generations).count == 3)
    #expect(StoreRows.lineage(generations) != .lineage(Array(generations.reversed())))
  }
}

import LockstepModel
import LockstepStorage
import Testing

struct AccountUseTests {
  @Test func aRecordCountsForItsNamesItsFieldsAndItsChunks() throws {
    let hash = try #require(ChunkHash(bytes: [UInt8](repeating: 1, count: 32)))
    var record = Record(
      zone: Name(trusted: "Zö"), name: Name(trusted: "ab"), type: Name(trusted: "T"),
      fields: Array("{}".utf8), modifiedAt: 0, device: DeviceID(rawValue: 1), tag: 1,
      chunks: [hash, hash])
    #expect(record.storedBytes == Limits.rowBytes + 3 + 2 + 1 + 2 + 64)
    record.fields = nil
    record.chunks = []
    #expect(record.storedBytes == Limits.rowBytes + 3 + 2 + 1)
  }

  @Test func aPlanTakesTheRelaysLimitsUnlessItHasItsOwn() {
    var rules = StoreRules()
    (rules.recordBytesPerAccount, rules.recordsPerAccount, rules.batchesPerAccount) = (100, 10, 5)
    let use = AccountUse(bytes: 30, records: 4, batches: 1)
    #expect(
      Plan.everything.remainingSpace(beside: use, rules)
        == AccountUse(bytes: 70, records: 6, batches: 4))
    let own = Plan(zones: nil, bytes: 20, records: 4)
    #expect(
      own.remainingSpace(beside: use, rules) == AccountUse(bytes: -10, records: 0, batches: 4))
  }

  @Test func aChangeWithoutGrowthFitsWithoutSpace() {
    let none = AccountUse(bytes: -5, records: 0, batches: 3)
    #expect(AccountUse(bytes: 0, records: 0).fits(into: none))
    #expect(AccountUse(bytes: -9, records: 0).fits(into: none))
    #expect(!AccountUse(bytes: 1, records: 0).fits(into: none))
    #expect(!AccountUse(bytes: 0, records: 1).fits(into: none))
  }
}

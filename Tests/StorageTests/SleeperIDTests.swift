import LockstepModel
import LockstepStorage
import Testing

struct SleeperIDTests {
  private func id(_ account: UInt64, _ device: UInt64) -> SleeperID {
    SleeperID(account: AccountID(rawValue: account), device: DeviceID(rawValue: device))
  }

  @Test func theNextIdFollowsInTheOrderOfSignedNumbers() {
    let (least, greatest): (UInt64, UInt64) = (1 << 63, .max >> 1)
    #expect(id(least, least) == .first)
    for (former, next) in [
      (id(5, 6), id(5, 7)), (id(5, .max), id(5, 0)), (id(5, greatest), id(6, least)),
      (id(.max, greatest), id(0, least)), (id(least, least), id(least, least + 1)),
    ] {
      #expect(former.next == next)
      let isBefore = former.sortKey < next.sortKey
      #expect(isBefore)
    }
    #expect(id(greatest, greatest).next == nil)
  }

  @Test func accountsAreSortedInThatOrderOnce() {
    let numbers: [UInt64] = [1, .max, 0, 1, 1 << 63]
    let sorted: [UInt64] = [1 << 63, .max, 0, 1]
    let accounts = numbers.map { AccountID(rawValue: $0) }
    #expect(accounts.uniqueInSortOrder.map(\.rawValue) == sorted)
  }

  @Test func aLimitIsAtLeastOneAndAtMostThatOfARequest() {
    for (asked, limit) in [(-1, 1), (0, 1), (9, 9), (Int.max, Limits.wakesPerRequest)] {
      #expect(SleeperQuery.after(nil, limit: asked).limit == limit)
    }
    #expect(SleeperQuery.accounts([]).limit == Limits.wakesPerRequest)
  }
}

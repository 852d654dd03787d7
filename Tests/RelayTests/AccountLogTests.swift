import LockstepModel
import Testing

@testable import LockstepRelay

struct AccountLogTests {
  @Test func aChangeIsKnownToWhoAskedBefore() {
    var log = AccountLog()
    let (first, second) = (AccountID(rawValue: 1), AccountID(rawValue: 2))
    #expect(!log.hasChanged(first, since: 0))
    log.recordChange(first)
    #expect(log.hasChanged(first, since: 0))
    #expect(!log.hasChanged(first, since: log.count))
    #expect(!log.hasChanged(second, since: 0))
    let asked = log.count
    log.recordChange(second)
    #expect(log.hasChanged(second, since: asked))
    #expect(!log.hasChanged(first, since: asked))
  }

  @Test func anyAccountHasItsPlace() {
    var log = AccountLog()
    for account in [0, UInt64.max, 1_023, 1_024].map(AccountID.init(rawValue:)) {
      let asked = log.count
      log.recordChange(account)
      #expect(log.hasChanged(account, since: asked))
    }
  }
}

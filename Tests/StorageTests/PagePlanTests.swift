import LockstepModel
import LockstepStorage
import Testing

struct PagePlanTests {
  private let head = AccountHead(generation: 1, newest: 9)

  @Test func aPageAtItsLimitReportsThatItIsFull() throws {
    var plan = try PagePlan(since: nil, zones: .all, limit: 2, head: head)
    #expect(addRecords([record(1), record(2), record(3)], into: &plan) == [true, true, false])
    let page = plan.page()
    #expect(page.changes.map(\.tag) == [1, 2])
    #expect(page.more)
    #expect(page.token == ChangeToken(generation: 1, sequence: 2, pinned: 9, horizon: 9))
  }

  @Test func aPageThatEndsAtItsLimitIsTheLast() throws {
    var plan = try PagePlan(since: nil, zones: .all, limit: 1, head: head)
    #expect(addRecords([record(1)], into: &plan) == [true])
    let page = plan.page()
    #expect(!page.more)
    #expect(page.token == head.token)
  }

  @Test func aPageHoldsNoMoreBytesThanItsLimitButOneRecord() throws {
    var plan = try PagePlan(since: nil, zones: .all, limit: 10, head: head)
    let large = record(1, bytes: Limits.pageBytes + 1)
    #expect(addRecords([large, record(2)], into: &plan) == [true, false])
    var exact = try PagePlan(since: nil, zones: .all, limit: 10, head: head)
    // Zone, name and type take a byte each.
    let most = record(1, bytes: Limits.pageBytes - 6)
    let rest = [record(2, bytes: 0), record(3, bytes: 0)]
    #expect(addRecords([most] + rest, into: &exact) == [true, true, false])
  }

  @Test func theTokenOfAPageNamesItsRange() throws {
    let plain = ChangeToken(generation: 1, sequence: 4)
    let changes = try PagePlan(since: plain, zones: .all, limit: 1, head: head)
    #expect((changes.after, changes.through) == (4, 9))
    #expect(!changes.isSnapshot)
    let middle = ChangeToken(generation: 1, sequence: 4, pinned: 6)
    let snapshot = try PagePlan(since: middle, zones: .all, limit: 1, head: head)
    #expect((snapshot.after, snapshot.through) == (4, 6))
    #expect(snapshot.isSnapshot)
    #expect(snapshot.page().token == ChangeToken(generation: 1, sequence: 6, horizon: 9))
  }

  @Test func aPageInTheMiddleHasTheAccountsHorizon() throws {
    let since = ChangeToken(generation: 1, sequence: 4, horizon: 7)
    var plan = try PagePlan(since: since, zones: .all, limit: 1, head: head)
    #expect(addRecords([record(5), record(6)], into: &plan) == [true, false])
    #expect(plan.page().token == ChangeToken(generation: 1, sequence: 5, horizon: 9))
    var last = try PagePlan(since: since, zones: .all, limit: 1, head: head)
    #expect(addRecords([record(5)], into: &last) == [true])
    #expect(last.page().token == head.token)
  }

  private func addRecords(_ records: [Record], into plan: inout PagePlan) -> [Bool] {
    records.map { plan.addRecord($0) }
  }

  private func record(_ tag: ChangeTag, bytes: Int = 2) -> Record {
    Record(
      zone: Name(trusted: "Z"), name: Name(trusted: "n"), type: Name(trusted: "T"),
      fields: [UInt8](repeating: 0, count: bytes), modifiedAt: 0, device: DeviceID(rawValue: 1),
      tag: tag)
  }
}

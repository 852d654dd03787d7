import LockstepStorage
import Testing

struct ZonePortionTests {
  private let portion = ZonePortion(after: 3, end: 20)

  @Test func aFullPortionContinuesAfterItsLastRecord() {
    let rest = portion.rest(scanned: 15, deleted: 2, last: 9, limit: 2)
    #expect(rest == ZonePortion(after: 9, end: 20))
  }

  @Test func aPortionThatScannedItsLimitContinuesAfterIt() {
    let rest = portion.rest(scanned: 15, deleted: 1, last: 9, limit: 2)
    #expect(rest == ZonePortion(after: 15, end: 20))
  }

  @Test func nothingIsLeftWhereAllRowsWereSeen() {
    #expect(portion.rest(scanned: nil, deleted: 1, last: 9, limit: 2) == nil)
    #expect(portion.rest(scanned: 30, deleted: 0, last: nil, limit: 2) == nil)
    #expect(portion.rest(scanned: nil, deleted: 2, last: 20, limit: 2) == nil)
  }
}

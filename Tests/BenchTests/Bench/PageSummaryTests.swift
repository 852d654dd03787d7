import LockstepModel
import LockstepWire
import Testing

@testable import LockstepBench

struct PageSummaryTests {
  private let token = ChangeToken(generation: 3, sequence: 8, pinned: 9)

  private func message(records: Int, more: Bool) -> [UInt8] {
    let record = Record(
      zone: Name(trusted: "z"), name: Name(trusted: "n"), type: Name(trusted: "t"),
      fields: Array(#"{"more":true,"token":"x","changes":[1,2]}"#.utf8), modifiedAt: 1,
      device: DeviceID(rawValue: 1), tag: 4)
    let page = ChangePage(
      since: nil, token: token, more: more, changes: Array(repeating: record, count: records))
    return RelayMessage.changes(id: "7", page).encoded()
  }

  @Test(arguments: [0, 1, 3], [true, false])
  func itCountsRecordsAndKeepsTheCursor(_ records: Int, _ more: Bool) throws {
    let summary = try #require(PageSummary(message(records: records, more: more)))
    #expect(summary.token == token)
    #expect(summary.more == more)
    #expect(summary.records == records)
  }

  @Test func otherMessagesAreNone() {
    #expect(PageSummary(RelayMessage.changed(token: token).encoded()) == nil)
    #expect(PageSummary([]) == nil)
  }

  @Test func aMessageThatIsCutOffIsNone() {
    let whole = message(records: 2, more: true)
    for length in 0..<whole.count { #expect(PageSummary(Array(whole.prefix(length))) == nil) }
  }
}

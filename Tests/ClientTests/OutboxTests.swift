import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

struct OutboxTests {
  private func entry(
    _ number: Int64, _ name: String, _ state: OutboxEntry.State = .waiting, trusted: Bool = true
  ) -> OutboxEntry {
    OutboxEntry(
      number: number, key: .desk(name), type: TestApp.note, fields: [1, 2, 3], modifiedAt: 1,
      isStampTrusted: trusted, base: nil, state: state)
  }

  private let batch = BatchID(high: 1, low: 2)

  @Test func entriesAreKeptByNumber() {
    let outbox = Outbox([entry(3, "c"), entry(1, "a"), entry(2, "b")])
    #expect(outbox.entries.map(\.number) == [1, 2, 3])
    #expect(outbox.nextNumber == 4)
    #expect(outbox.entry(2)?.key == .desk("b"))
    #expect(outbox.entry(9) == nil)
    #expect(outbox.bytes == 9)
  }

  @Test func aRecordHasOneEntryInFlightAndOneOpen() {
    let outbox = Outbox([entry(1, "a", .sent(batch)), entry(2, "a")])
    #expect(outbox.sent(.desk("a"))?.number == 1)
    #expect(outbox.open(.desk("a"))?.number == 2)
    #expect(outbox.holds(.desk("a")))
    #expect(!outbox.holds(.desk("b")))
    #expect(outbox.frozenBatch?.id == batch)
  }

  @Test func theSummaryFollowsEveryChange() {
    var outbox = Outbox()
    outbox.put(entry(1, "a"))
    outbox.put(entry(2, "b", trusted: false))
    #expect(outbox.summary.waiting == [.init(zone: TestApp.zone, count: 2)])
    #expect(outbox.untrustedCount == 1)
    outbox.put(entry(1, "a", .sent(batch)))
    outbox.put(entry(2, "b", .parked(Refusal(.recordTooLarge, "too large"))))
    #expect(outbox.summary.unsent == 1)
    #expect(outbox.summary.frozen == batch)
    #expect(outbox.summary.waiting.isEmpty)
    #expect(outbox.summary.parked.map(\.key) == [.desk("b")])
    outbox.remove(1)
    outbox.remove(2)
    outbox.remove(2)
    #expect(outbox.summary == OutboxSummary())
    #expect(outbox.bytes == 0)
    #expect(outbox.untrustedCount == 0)
    #expect(outbox.nextNumber == 3)
  }

  @Test func anEntryThatIsPutAgainKeepsItsPlace() {
    var outbox = Outbox([
      entry(1, "a"), entry(2, "b", .parked(Refusal(.badName, ""))), entry(3, "c"),
    ])
    outbox.put(entry(2, "b", .asking(.nothing(at: .desk("b"), type: TestApp.note))))
    outbox.put(entry(1, "a", .asking(.nothing(at: .desk("a"), type: TestApp.note))))
    #expect(outbox.entries.map(\.number) == [1, 2, 3] && outbox.bytes == 9)
    #expect(outbox.summary.asking == [.desk("a"), .desk("b")])
    #expect(outbox.summary.parkedCount == 0 && outbox.summary.unsent == 1)
    // The same number with another record replaces the entry.
    outbox.put(entry(2, "d"))
    #expect(!outbox.holds(.desk("b")) && outbox.open(.desk("d"))?.number == 2)
    #expect(outbox.summary.askingCount == 1 && outbox.summary.unsent == 2)
  }

  @Test func theSummaryNamesOnlySoMany() {
    let count = Limits.statusRecords + 5
    let outbox = Outbox(
      (1...count).map { entry(Int64($0), "n\($0)", .parked(Refusal(.badName, ""))) })
    #expect(outbox.summary.parkedCount == count)
    #expect(outbox.summary.parked.count == Limits.statusRecords)
  }
}

import LockstepModel
import Testing

@testable import LockstepStorage

struct MemoryAccountTests {
  /// The log drops stale entries, and pages stay the same.
  @Test func aRecordSavedOverAndOverIsOneChange() throws {
    var account = MemoryAccount(generation: 1, label: "", madeAt: 0)
    for tag in 1...1_000 { account.write([record(tag == 500 ? "other" : "same", Int64(tag))]) }
    let id = AccountID(rawValue: 1)
    let page = try account.page(since: nil, zones: .all, limit: 10, of: id)
    #expect(page.changes.map(\.tag) == [500, 1_000])
    let after = ChangeToken(generation: 1, sequence: 500)
    let next = try account.page(since: after, zones: .all, limit: 10, of: id)
    #expect(next.changes.map(\.tag) == [1_000])
  }

  private func record(_ name: String, _ tag: ChangeTag) -> Record {
    Record(
      zone: Name(trusted: "Z"), name: Name(trusted: name), type: Name(trusted: "T"), fields: [],
      modifiedAt: 0, device: DeviceID(rawValue: 1), tag: tag)
  }
}

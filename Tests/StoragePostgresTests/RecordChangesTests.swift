import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

struct RecordChangesTests {
  private let account = AccountID(rawValue: 1)

  private func record(_ name: String, tag: ChangeTag) -> Record {
    Record(
      zone: Name(trusted: "Z"), name: Name(trusted: name), type: Name(trusted: "T"),
      fields: [1], modifiedAt: 0, device: DeviceID(rawValue: 1), tag: tag)
  }

  @Test func aRecordIsWrittenOnceInItsFinalVersion() {
    var changes = RecordChanges()
    for (name, tag) in [("a", 1), ("b", 2), ("a", 3)] as [(String, ChangeTag)] {
      changes.put(record(name, tag: tag), of: account, deletedAt: nil)
    }
    let place = SaveBatchPlanner.RecordID(account: account, key: record("a", tag: 0).key)
    #expect(changes.record(at: place)?.tag == 3)
    var pipeline = PostgresPipeline()
    changes.add(to: &pipeline, wall: 0, lease: 0)
    #expect(pipeline.steps.count == 1)
  }

  @Test func sumsOfZeroAreNotWritten() {
    var changes = RecordChanges()
    changes.count(1, in: Name(trusted: "Z"), of: account)
    changes.count(-1, in: Name(trusted: "Z"), of: account)
    var pipeline = PostgresPipeline()
    changes.add(to: &pipeline, wall: 0, lease: 0)
    #expect(pipeline.isEmpty)
  }

  @Test func aTallyKeepsTheOrderInWhichKeysCame() {
    var tally = Tally<String>()
    for (key, change) in [("b", 1), ("a", 2), ("b", -3), ("a", -2)] { tally.add(change, to: key) }
    #expect(tally.sums.map(\.key) == ["b", "a"])
    #expect(tally.sums.map(\.sum) == [-2, 0])
  }
}

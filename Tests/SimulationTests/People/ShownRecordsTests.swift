import LockstepModel
import Testing

@testable import LockstepSimulation

struct ShownRecordsTests {
  private func record(_ name: String, _ text: String?, tag: ChangeTag = 1) -> Record {
    Record(
      zone: Name(trusted: "Zone"), name: Name(trusted: name), type: Name(trusted: "Type"),
      fields: text.map { Array("{\"text\":\"\($0)\"}".utf8) },
      modifiedAt: 1, device: DeviceID(rawValue: 1), tag: tag)
  }

  @Test func whatIsDeletedIsNotShown() {
    var shown = ShownRecords()
    #expect(shown.show(record("b", "one")) == nil)
    shown.show(record("a", "two"))
    #expect(shown.all.map(\.name.text) == ["a", "b"])
    #expect(shown.show(record("b", "three")) == record("b", "one"))
    #expect(shown[record("b", nil).key] == record("b", "three"))
    shown.show(record("b", nil))
    #expect(shown.all.map(\.name.text) == ["a"])
    #expect(shown[record("b", nil).key] == nil)
  }

  @Test func whoSavedItIsNotSeen() {
    var (left, right) = (ShownRecords(), ShownRecords())
    left.show(record("a", "one", tag: 1))
    right.show(record("a", "one", tag: 7))
    #expect(left.hasSameContents(as: right))
    right.show(record("a", "two"))
    #expect(!left.hasSameContents(as: right))
    right.show(record("a", "one"))
    right.show(record("b", "one"))
    #expect(!left.hasSameContents(as: right))
  }
}

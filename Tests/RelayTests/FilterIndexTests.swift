import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepRelay

/// Evaluation of many records at once; FilterTableTests tests the matching.
struct FilterIndexTests {
  @Test(arguments: [1, 63, 64, 65, 128, 400]) func theLastOfManyRecordsIsSeen(_ count: Int) {
    var conditions = FilterConditions()
    let number = conditions.add(JSONMember("n", JSONValue(integerLiteral: Int64(count - 1))))
    let records = (0..<count).map { record("t", #"{"n":\#($0)}"#) }
    var index = FilterIndex(records, records.map { _ in .update })
    let sought = query([number])
    index.parseFields(for: [sought], conditions)
    #expect(index.matches(sought))
    #expect(index.matches(query([])))
  }

  @Test func twoConditionsAreMetByOneRecordTogether() {
    var conditions = FilterConditions()
    let one = conditions.add(JSONMember("a", 1))
    let other = conditions.add(JSONMember("b", 2))
    let records = [record("t", #"{"a":1}"#), record("t", #"{"b":2}"#)]
    var index = FilterIndex(records, [.create, .create])
    index.parseFields(for: [query([one, other])], conditions)
    #expect(!index.matches(query([one, other])))
    #expect(index.matches(query([one])) && index.matches(query([other])))
  }

  @Test func zonesOfAllRecordsAreKnown() {
    let index = FilterIndex([record("t", "{}")], [.create])
    #expect(index.hasZone(Name(trusted: "z")) && !index.hasZone(Name(trusted: "y")))
  }

  private func query(_ conditions: [Int]) -> FilterTable.Query {
    FilterTable.Query(
      recordType: Name(trusted: "t"), zone: nil, events: [.create, .update, .delete],
      conditions: conditions)
  }

  private func record(_ type: String, _ fields: String) -> Record {
    Record(
      zone: Name(trusted: "z"), name: Name(trusted: "r"), type: Name(trusted: type),
      fields: Array(fields.utf8), modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 1)
  }
}

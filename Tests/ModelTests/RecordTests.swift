import Testing

@testable import LockstepModel

@Suite struct RecordTests {
  @Test func recordWithoutFieldsIsATombstone() {
    let name = Name(trusted: "a")
    var record = Record(
      zone: Name(trusted: "Z"), name: name, type: Name(trusted: "T"), fields: nil, modifiedAt: 1,
      device: DeviceID(rawValue: 1), tag: 1)
    #expect(record.isDeleted)
    record.fields = Array("{}".utf8)
    #expect(!record.isDeleted)
    #expect(record.key == RecordKey(zone: Name(trusted: "Z"), name: name))
  }

  @Test func keysAreSortedByZoneThenName() {
    let texts = [("A", "b"), ("A", "c"), ("B", "a"), ("B", "b")]
    let keys = texts.map { RecordKey(zone: Name(trusted: $0.0), name: Name(trusted: $0.1)) }
    #expect(Array(keys.reversed()).sorted() == keys)
    #expect(!(keys[0] < keys[0]))
  }
}

import Foundation
import LockstepJSON
import Testing

@testable import Lockstep

struct FieldsTests {
  struct Everything: SyncedRecord {
    static let zone = "Tests"
    struct Inner: Codable, Hashable, Sendable {
      var name = "inner"
      var list: [Int] = [1, 2]
    }
    enum Kind: String, Codable { case small, large }
    var id = "1"
    var text = "é"
    var flag = true
    var whole = -5
    var large = UInt64.max
    var real = 0.1
    var date = Date(timeIntervalSince1970: 1_790_000_000.123)
    var data = Data([0, 255])
    var url = URL(string: "https://example.org/a?b=c")!
    var kind = Kind.large
    var inner = Inner()
    var many: [Inner] = [Inner(), Inner(name: "two", list: [])]
    var table = ["a": 1, "b": 2]
    var tags: Set<String> = ["b", "a", "c"]
    var missing: String?
    var counter = SyncedCounter()
  }

  @Test func everyKindOfValueSurvives() throws {
    let value = Everything()
    let fields = try value.fields(over: nil, by: "mac")
    #expect(fields["id"] == nil)
    #expect(fields["missing"] == nil)
    #expect(fields["date"] == 1_790_000_000_123)
    #expect(fields["tags"] == ["a", "b", "c"])
    #expect(fields["data"] == "AP8=")
    #expect(try Everything(fields: fields, id: "1") == value)
  }

  @Test func aMissingFieldHasTheZeroValueOfItsType() throws {
    let todo = try Todo(fields: ["title": "milk"], id: "7")
    #expect(todo == Todo(id: "7", title: "milk"))
  }

  @Test func aValueOfTheWrongKindIsNamed() throws {
    let fault = #expect(throws: DecodingError.self) {
      try Todo(fields: ["title": 5], id: "7")
    }
    #expect(fault.map { FieldsFault.reason($0) } == "title must be a text")
  }

  @Test func fieldsOfANewerVersionAreKept() throws {
    let newer: JSONValue = ["title": "milk", "colour": ["red", 5], "dueDate": 1_000]
    var todo = try Todo(fields: newer, id: "7")
    todo.title = "tea"
    todo.dueDate = nil
    let saved = try todo.fields(over: newer, by: "mac")
    #expect(saved["colour"] == ["red", 5])
    #expect(saved["title"] == "tea")
    #expect(saved["dueDate"] == nil)
  }

  @Test func aCounterCountsForItsDeviceAndOnlyOnce() throws {
    let held: JSONValue = ["minutes": ["phone": [10, 2], "mac": [5, 0]]]
    var todo = try Todo(fields: held, id: "7")
    #expect(todo.minutes.value == 13)
    todo.minutes.add(25)
    todo.minutes.add(-3)
    #expect(todo.minutes.value == 35)
    let saved = try todo.fields(over: held, by: "mac")
    #expect(saved["minutes"] == ["phone": [10, 2], "mac": [30, 3]])
    // The value that the caller still holds is saved again: nothing is counted twice.
    #expect(try todo.fields(over: saved, by: "mac") == saved)
    #expect(try Todo(fields: saved, id: "7").minutes.value == 35)
  }

  @Test func theNameOfTheStampsIsNoCodingKey() {
    struct Stamped: SyncedRecord {
      static let zone = "Tests"
      var id = "1"
      var stamps = 5
      enum CodingKeys: String, CodingKey {
        case id
        case stamps = "~"
      }
    }
    let fault = #expect(throws: EncodingError.self) { try Stamped().fields(over: nil, by: "mac") }
    #expect(fault.map { FieldsFault.reason($0) }?.contains("reserved for stamps") == true)
  }

  @Test func hugeCountsDoNotTrap() throws {
    var counter = SyncedCounter()
    counter.add(.max)
    counter.add(.max)
    #expect(counter.value == .max)
    counter.add(.min)
    counter.add(.min)
    #expect(counter.value == 0)
  }
}

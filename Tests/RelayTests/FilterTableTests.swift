import LockstepJSON
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Matching of subscriptions (`FilterTable`, and `FilterIndex`, which parses the records): by a
/// table, and compared with a plain implementation of the protocol.
struct FilterTableTests {
  private typealias Case = (rule: [Subscription.Kind], records: [FilterRecord], matches: Bool)

  private func query(
    _ type: String, zone: String? = nil, _ conditions: [JSONMember] = [],
    _ events: ChangeEvents = .all
  ) -> Subscription.Kind {
    .query(
      Subscription.Query(
        recordType: Name(trusted: type), zone: zone.map { Name(trusted: $0) },
        conditions: conditions, events: events))
  }

  @Test func theTable() {
    let note = FilterRecord("Note", #"{"done":false,"n":1,"deep":{"done":true}}"#)
    let gone = FilterRecord("Note", nil)
    let zone = { (name: String) in Subscription.Kind.zone(Name(trusted: name)) }
    let table: [Case] = [
      ([zone("z")], [note], true), ([zone("y")], [note], false), ([zone("z")], [gone], true),
      ([zone("y"), zone("z")], [note], true),
      ([query("Note")], [note], true), ([query("note")], [note], false),
      ([query("Note", zone: "z")], [note], true), ([query("Note", zone: "y")], [note], false),
      ([query("Note", [], .create)], [note], true), ([query("Note", [], .update)], [note], false),
      ([query("Note", [], .update)], [note.with(.update)], true),
      ([query("Note", [], .delete)], [note], false), ([query("Note", [], .delete)], [gone], true),
      ([query("Note", [], [.create, .update])], [gone], false),
      ([query("Note", [JSONMember("done", false)])], [note], true),
      ([query("Note", [JSONMember("done", true)])], [note], false),
      ([query("Note", [JSONMember("done", false), JSONMember("n", 1)])], [note], true),
      ([query("Note", [JSONMember("done", false), JSONMember("n", 2)])], [note], false),
      ([query("Note", [JSONMember("absent", .null)])], [note], false),
      ([query("Note", [JSONMember("deep", ["done": true])])], [note], true),
      // A deletion matches without fields.
      ([query("Note", [JSONMember("done", true)])], [gone], true),
      ([query("Note", [JSONMember("done", true)], [.create, .update])], [gone], false),
      // One record must meet all conditions, not several records together.
      (
        [query("Note", [JSONMember("a", 1), JSONMember("b", 1)])],
        [FilterRecord("Note", #"{"a":1}"#), FilterRecord("Note", #"{"b":1}"#)], false
      ),
      (
        [query("Note", [JSONMember("a", 1)])],
        [FilterRecord("Other", #"{"a":1}"#), FilterRecord("Note", #"{"a":2}"#)], false
      ),
    ]
    for (index, entry) in table.enumerated() {
      #expect(matches(entry.rule, entry.records) == entry.matches, "entry \(index)")
    }
  }

  @Test(arguments: [
    ("1", "1.0", true), ("1", "\"1\"", false), ("\"é\"", "\"\\u00e9\"", true),
    ("\"e\u{301}\"", "\"é\"", false), ("null", "null", true), ("null", "false", false),
    ("[1,2]", "[ 1, 2 ]", true), ("[1,2]", "[2,1]", false),
    ("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true),
    ("true", "true", true), ("\"\"", "\"\"", true), ("1e2", "100", true),
  ])
  func valuesAreComparedAsValues(asked: String, standing: String, isEqual: Bool) throws {
    let rule = query("t", [JSONMember("field", try JSONValue(parsing: asked))])
    #expect(matches([rule], [FilterRecord("t", "{\"field\":\(standing)}")]) == isEqual)
    #expect(matches([rule], [FilterRecord("t", "{\"\\u0066ield\":\(standing)}")]) == isEqual)
    #expect(!matches([rule], [FilterRecord("t", "{\"fields\":\(standing)}")]))
  }

  @Test func oddFieldsMatchNothingTheyDoNotSay() {
    let name = "a name that is longer than fifteen bytes"
    let rule = query("t", [JSONMember(name, 1)])
    #expect(matches([rule], [FilterRecord("t", "{\"\(name)\":1}")]))
    #expect(!matches([rule], [FilterRecord("t", "{\"\(name)!\":1,\"b\":1}")]))
    let twice = query("t", [JSONMember("a", ["b": 1])])
    #expect(!matches([twice], [FilterRecord("t", #"{"a":{"b":1,"b":1}}"#)]))
    // Members after such a value are read.
    #expect(matches([twice], [FilterRecord("t", #"{"a":{"b":1,"b":1},"a":{"b":1}}"#)]))
    let long = String(repeating: "x", count: Limits.comparedValueBytes - 2)
    for (text, isCompared) in [(long, true), (long + "x", false)] {
      let rule = query("t", [JSONMember("a", .string(text))])
      #expect(matches([rule], [FilterRecord("t", "{\"a\":\"\(text)\"}")]) == isCompared)
    }
  }

  @Test func aDeletionOfTooManyWakesWhoMayWantIt() {
    let zone = Name(trusted: "z")
    for (kind, isMatch) in [
      (Subscription.Kind.zone(zone), true), (.zone(Name(trusted: "y")), false),
      (query("t"), true), (query("t", zone: "y"), false), (query("t", zone: "z"), true),
      (query("t", [], [.create, .update]), false),
    ] {
      var table = FilterTable()
      table.setFilter(rule([kind]), of: device(1))
      #expect(table.unmatchedDevices(throughDeletionsIn: zone) == (isMatch ? [] : [device(1)]))
    }
  }

  @Test func aReadRecordMayHaveBeenMadeOrChanged() {
    let note = FilterRecord("Note", #"{"done":true}"#).record
    let gone = FilterRecord("Note", nil).record
    for (events, records, isMatch) in [
      (ChangeEvents.create, [note], true), (.update, [note], true), (.delete, [note], false),
      (.delete, [gone], true), ([.create, .update], [gone], false), (.all, [], false),
    ] {
      var table = FilterTable()
      table.setFilter(rule([query("Note", [JSONMember("done", true)], events)]), of: device(1))
      #expect(table.matches(device(1), records) == isMatch)
      // Everything matches for a device without a filter.
      #expect(table.matches(device(2), []))
    }
  }

  @Test(arguments: 0..<20)
  func theTableSaysWhatAPlainReadingSays(block: Int) throws {
    for seed in UInt64(block * 10)..<UInt64(block * 10 + 10) {
      var random = SeededRandom(seed: seed)
      var table = FilterTable()
      var rules: [SubscriptionFilter?] = Array(repeating: nil, count: 6)
      for _ in 0..<12 {
        let place = Int.random(in: 0..<rules.count, using: &random)
        let kinds = (0..<Int.random(in: 0...3, using: &random)).map { _ in randomKind(&random) }
        let zones = Bool.random(using: &random) ? nil : randomZones(&random)
        rules[place] = rule(kinds, zones: zones)
        table.setFilter(rules[place], of: device(place))
        #expect(table.isEmpty == rules.allSatisfy { $0 == nil })
        let records = (0..<Int.random(in: 0...130, using: &random)).map { _ in
          FilterRecord.random(&random)
        }
        let audience = table.audience(of: records.map(\.record), records.map(\.event))
        var unmatched: [Int] = []
        var partial: [Int] = []
        for (place, rule) in rules.enumerated() {
          guard let rule else { continue }
          let readable = records.filter { rule.zones?.contains($0.record.zone) ?? true }
          let isMatch =
            try rule.kinds?.contains { kind in
              try records.contains { try PlainReading.matches(kind, $0.record, $0.event) }
            } ?? true
          if !isMatch || (rule.zones != nil && readable.isEmpty) {
            unmatched.append(place)
          } else if readable.count < records.count {
            partial.append(place)
          }
        }
        #expect(audience.unmatched == Set(unmatched.map(device)), "seed \(seed)")
        #expect(audience.partial == Set(partial.map(device)), "seed \(seed)")
      }
    }
  }

  @Test func aConditionStandsOnceAndItsNumberIsUsedAgain() {
    var conditions = FilterConditions()
    let (one, two) = (JSONMember("a", 1), JSONMember("a", 2))
    expect([one, two, one].map { conditions.add($0) }, is: [0, 1, 0])
    #expect(
      conditions.number(of: JSONMember("a", .number(JSONNumber("1.0") ?? JSONNumber(0)))) == 0)
    conditions.remove(0)
    #expect(conditions.number(of: one) == 0)
    conditions.remove(0)
    #expect(conditions.number(of: one) == nil)
    #expect(conditions.hasCondition(on: JSONKey("a".utf8)))
    expect(conditions.add(JSONMember("b", .null)), is: 0)
    conditions.remove(1)
    #expect(!conditions.hasCondition(on: JSONKey("a".utf8)))
    #expect(conditions.limit == 2)
  }

  private func randomKind(_ random: inout SeededRandom) -> Subscription.Kind {
    let zones = ["z", "y", "x"]
    if Int.random(in: 0..<5, using: &random) == 0 {
      return .zone(Name(trusted: zones.randomElement(using: &random) ?? "z"))
    }
    let conditions = (0..<Int.random(in: 0...2, using: &random)).map { _ in
      JSONMember(
        ["a", "b"].randomElement(using: &random) ?? "a",
        JSONValue(integerLiteral: Int64.random(in: 0...2, using: &random)))
    }
    return query(
      ["t", "u"].randomElement(using: &random) ?? "t",
      zone: Bool.random(using: &random) ? zones.randomElement(using: &random) : nil, conditions,
      ChangeEvents(rawValue: UInt8.random(in: 1...7, using: &random)))
  }

  private func randomZones(_ random: inout SeededRandom) -> [Name] {
    ["w", "x", "y", "z"].filter { _ in Bool.random(using: &random) }.map(Name.init(trusted:))
  }

  private func rule(
    _ kinds: [Subscription.Kind], zones: [Name]? = nil
  ) -> SubscriptionFilter? {
    SubscriptionFilter(
      kinds.enumerated().map { Subscription(id: Name(trusted: "s\($0)"), kind: $1) },
      zones: zones)
  }

  private func device(_ number: Int) -> DeviceID { DeviceID(rawValue: UInt64(number)) }

  private func matches(_ kinds: [Subscription.Kind], _ records: [FilterRecord]) -> Bool {
    var table = FilterTable()
    table.setFilter(rule(kinds), of: device(1))
    return table.audience(of: records.map(\.record), records.map(\.event)).isEverybody
  }
}

/// The rules of docs/protocol.md for one record, implemented as plainly as possible.
private enum PlainReading {
  static func matches(
    _ kind: Subscription.Kind, _ record: Record, _ event: ChangeEvents
  ) throws -> Bool {
    switch kind {
    case .database: return true
    case .zone(let zone): return record.zone == zone
    case .query(let query):
      guard record.type == query.recordType, query.zone.map({ $0 == record.zone }) ?? true,
        query.events.contains(event)
      else { return false }
      guard let fields = record.fields else { return true }
      let value = try JSONValue(parsing: fields)
      return query.conditions.allSatisfy { value[$0.name] == $0.value }
    }
  }
}

/// A record and its change event.
private struct FilterRecord {
  var record: Record
  var event: ChangeEvents

  init(_ type: String, _ fields: String?, zone: String = "z") {
    record = Record(
      zone: Name(trusted: zone), name: Name(trusted: "r"), type: Name(trusted: type),
      fields: fields.map { Array($0.utf8) }, modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 1)
    event = fields == nil ? .delete : .create
  }

  func with(_ event: ChangeEvents) -> FilterRecord {
    var other = self
    other.event = event
    return other
  }

  static func random(_ random: inout SeededRandom) -> FilterRecord {
    let type = ["t", "u", "v"].randomElement(using: &random) ?? "t"
    let zone = ["z", "y"].randomElement(using: &random) ?? "z"
    if Int.random(in: 0..<6, using: &random) == 0 { return FilterRecord(type, nil, zone: zone) }
    let members = ["a", "b", "c"].filter { _ in Bool.random(using: &random) }.map {
      "\"\($0)\":\(Int.random(in: 0...2, using: &random))"
    }
    return FilterRecord(type, "{\(members.joined(separator: ","))}", zone: zone)
      .with(Bool.random(using: &random) ? .create : .update)
  }
}

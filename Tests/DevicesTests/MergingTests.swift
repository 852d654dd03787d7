import Changes
import Storage
import Testing

@testable import Devices

struct MergingTests {
  private let me = DeviceID(rawValue: 1)
  private var merging: Merging { Merging(apps: [TestApp()], device: me) }

  private func local(_ type: Name, _ fields: JSONValue?, at modifiedAt: Int64) -> OutboxEntry {
    OutboxEntry(
      number: 1, key: .desk("a"), type: type, fields: fields?.serialized(), modifiedAt: modifiedAt,
      isStampTrusted: true, base: nil, state: .waiting)
  }

  private func server(_ type: Name, _ fields: JSONValue?, at modifiedAt: Int64) -> Record {
    Record(
      zone: TestApp.zone, name: Name(trusted: "a"), type: type, fields: fields?.serialized(),
      modifiedAt: modifiedAt, device: DeviceID(rawValue: 2), tag: 3)
  }

  @Test func theAppsRuleDecides() {
    let resolution = merging.resolve(
      local(TestApp.counter, ["a": 3], at: 1), server(TestApp.counter, ["a": 1, "b": 2], at: 9))
    #expect(resolution == .merged(fields: ["a": 3, "b": 2], copies: []))
    #expect(
      merging.resolve(
        local(TestApp.choice, ["a": 3], at: 1), server(TestApp.choice, ["a": 1], at: 9)) == .ask)
  }

  @Test func aTypeNobodyKnowsIsTheNewersAndAChangeOutlivesADelete() {
    let type = Name(trusted: "FromLater")
    #expect(
      merging.resolve(local(type, ["a": 1], at: 5), server(type, ["a": 2], at: 4))
        == .merged(fields: ["a": 1], copies: []))
    #expect(
      merging.resolve(local(type, ["a": 1], at: 5), server(type, ["a": 2], at: 5))
        == .merged(fields: ["a": 2], copies: []))
    #expect(
      merging.resolve(local(type, ["a": 1], at: 1), server(type, nil, at: 9))
        == .merged(fields: ["a": 1], copies: []))
    #expect(
      merging.resolve(local(type, nil, at: 9), server(type, ["a": 2], at: 1))
        == .merged(fields: ["a": 2], copies: []))
    #expect(
      merging.resolve(local(type, nil, at: 9), server(type, nil, at: 1))
        == .merged(fields: nil, copies: []))
  }

  @Test func fieldsAreEqualAsJSON() {
    #expect(Merging.equal(Array(#"{"a":1,"b":2}"#.utf8), Array(#"{ "b":2.0, "a":1 }"#.utf8)))
    #expect(!Merging.equal(Array(#"{"a":1}"#.utf8), Array(#"{"a":"1"}"#.utf8)))
    #expect(!Merging.equal(nil, Array("{}".utf8)))
    #expect(Merging.equal(nil, nil))
    #expect(!Merging.equal([1], [2]))
  }

  @Test func onlyTheAppThatOwnsAZoneWaitsInIt() {
    var egg = server(TestApp.egg, ["dueAt": 50, "owner": "x"], at: 1)
    #expect(merging.dueEdit(for: egg)?.dueAt == 50)
    egg.zone = Name(trusted: "Elsewhere")
    #expect(merging.dueEdit(for: egg) == nil)
  }
}

import Foundation
import LockstepModel
import Testing

@testable import LockstepRelay

struct RelayLimitsTests {
  @Test func aLimitIsSetByItsName() throws {
    var limits = RelayLimits()
    try limits.set("connections", to: "7")
    try limits.set("bodyBudgetBytes", to: "64M")
    try limits.set("sendQueueBytes", to: "2k")
    #expect(limits.connections == 7)
    #expect(limits.bodyBudgetBytes == 64 << 20)
    #expect(limits.sendQueueBytes == 2_048)
    #expect(limits.connectionsPerAddress == Limits.connectionsPerAddress)
  }

  @Test(arguments: [
    ("conections", "7", "there is no limit \"conections\""),
    ("nameBytes", "7", "there is no limit \"nameBytes\""),
    ("connections", "0", "connections: 0 is not between 1 and 10000000"),
    ("connections", "-1", "connections: \"-1\" is not a whole number"),
    ("connections", "", "connections: \"\" is not a whole number"),
    ("connections", "7K", "connections: \"7K\" is not a whole number"),
    ("connections", "99999999999999999999", "connections: \"99999999999999999999\" is no"),
    ("devicesPerAccount", "101", "devicesPerAccount: 101 is not between 1 and 100"),
    ("bodyBudgetBytes", "99999999999G", "bodyBudgetBytes: \"99999999999G\" is not a number of"),
    ("bodyBudgetBytes", "G", "bodyBudgetBytes: \"G\" is not a number of bytes, such as 65536, 64K"),
  ])
  func anythingElseIsAFaultInWords(name: String, text: String, words: String) {
    var limits = RelayLimits()
    do throws(LimitFault) {
      try limits.set(name, to: text)
      Issue.record("\(name)=\(text) was taken")
    } catch {
      #expect("\(error)".hasPrefix(words), "\(error)")
    }
    #expect(limits == RelayLimits())
  }

  @Test func theTableHasEachLimitOnceWithADefaultInItsRange() {
    var seen = RelayLimits()
    #expect(Set(SettableLimit.all.map(\.name)).count == SettableLimit.all.count)
    for (index, limit) in SettableLimit.all.enumerated() {
      #expect(limit.range.contains(limit.usual), "\(limit.name)")
      #expect(limit.meaning.hasSuffix("."), "\(limit.name)")
      let other = limit.range.lowerBound + index
      limit.set(&seen, other)
      #expect(limit.value(seen) == other, "\(limit.name)")
    }
    // Each limit sets a field of its own: none was overwritten by another.
    for (index, limit) in SettableLimit.all.enumerated() {
      #expect(limit.value(seen) == limit.range.lowerBound + index, "\(limit.name)")
    }
    let fields = Mirror(reflecting: RelayLimits()).children.count
    #expect(fields == SettableLimit.all.count, "a field is not in the table")
  }

  @Test(arguments: [true, false])
  func itIsToldIfAnyoneMayCreateAnAccount(_ isOpen: Bool) throws {
    let relay = TestRelay { $0.isOpen = isOpen }
    let told = try HTTPClient(relay).call("GET", "/v1/limits").json
    #expect(told?["isOpen"] == .bool(isOpen))
  }

  @Test func theLimitsInForceAreTheOnesThatWereSet() throws {
    let relay = TestRelay {
      $0.limits.connectionsPerAddress = 12
      $0.limits.idleMilliseconds = 3_000
    }
    let told = try HTTPClient(relay).call("GET", "/v1/limits").json
    #expect(told?["connectionsPerAddress"]?.int64 == 12)
    #expect(told?["idleMilliseconds"]?.int64 == 3_000)
    for limit in SettableLimit.all { #expect(told?[limit.name] != nil, "\(limit.name)") }
    let idle = HTTPClient(relay)
    relay.advance(2_999)
    #expect(!idle.isClosed)
    relay.advance(1)
    #expect(idle.isClosed)
  }

  @Test func theOwnersPageHasTheTable() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let document = try String(
      contentsOf: root.appending(path: "docs/relay/limits.md"), encoding: .utf8)
    var lines = [
      "<!-- limits -->", "", "| name | default | unit | of each | from–to | meaning |",
      "| --- | --- | --- | --- | --- | --- |",
    ]
    for limit in SettableLimit.all {
      lines.append(
        "| `\(limit.name)` | \(limit.usual) | \(limit.unit.rawValue) | \(limit.scope.rawValue) | "
          + "\(limit.range.lowerBound)–\(limit.range.upperBound) | \(limit.meaning) |")
    }
    let table = (lines + ["", "<!-- end of limits -->"]).joined(separator: "\n")
    let isCurrent = document.contains(table)
    #expect(isCurrent, "docs/relay/limits.md is behind the code; in it must stand:\n\(table)")
  }

  @Test func loopsShareTheBudget() {
    var limits = RelayLimits()
    limits.bodyBudgetBytes = 100
    #expect(limits.bodyBudgetBytes(ofOneIn: 3) == 33)
  }

  @Test func whoIsTurnedAwayIsCounted() throws {
    let relay = TestRelay()
    for _ in 0..<3 { relay.deliver(0, .connectionRejected(.connectionsPerAddress)) }
    relay.deliver(0, .connectionRejected(.connections))
    let admin = HTTPClient(relay, listenerKind: .admin)
    let status = try admin.call("GET", "/status").json
    #expect(status?["turned_away"]?["connectionsPerAddress"]?.int64 == 3)
    let metrics = String(decoding: try admin.call("GET", "/metrics").body, as: UTF8.self)
    #expect(metrics.contains("lockstep_rejected_total{reason=\"connections\"} 1\n"))
  }
}

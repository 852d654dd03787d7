import Foundation
import Lockstep
import LockstepTesting
import Testing

struct WorldTests {
  struct Todo: SyncedRecord {
    static let zone = "Todos"
    var id = RecordID.random()
    var title = ""
    var done = false
    var order = 0.0
    var dueDate: Date?
    var tags: Set<String> = []
    var minutes = SyncedCounter()
    static let rules: MergeRules = [
      "done": .or, "dueDate": .least, "tags": .set, "minutes": .counter,
    ]
  }

  @Test func twoDevicesAgree() throws {
    var world = World(seed: 7, records: [Todo.self])
    let phone = world.device("phone")
    let mac = world.device("mac")
    try world.save(Todo(id: "1", title: "a"), on: phone)
    world.settle()
    world.cut(phone)
    try world.update(Todo.self, id: "1", on: phone) {
      $0.title = "b"
      $0.minutes.add(5)
    }
    try world.update(Todo.self, id: "1", on: mac) {
      $0.done = true
      $0.minutes.add(7)
    }
    world.settle()
    #expect(try world.records(Todo.self, on: mac).first?.title == "a")
    world.heal(phone)
    #expect(world.settle())
    let todos = try world.records(Todo.self, on: phone)
    #expect(todos == (try world.records(Todo.self, on: mac)))
    #expect(todos.first?.title == "b" && todos.first?.done == true)
    #expect(todos.first?.minutes.value == 12)
  }

  @Test func anAppThatCrashesKeepsWhatItSaved() throws {
    var world = World(seed: 1, records: [Todo.self])
    let phone = world.device("phone")
    let mac = world.device("mac")
    world.cut(phone)
    try world.save(Todo(id: "1", title: "a"), on: phone)
    world.restart(phone)
    world.heal(phone)
    #expect(world.settle())
    #expect(try world.records(Todo.self, on: mac).map(\.title) == ["a"])
    try world.delete(Todo.self, id: "1", on: mac)
    #expect(world.settle())
    #expect(try world.records(Todo.self, on: phone).isEmpty)
  }

  @Test func aRecordThatIsNotThereIsNamed() throws {
    var world = World(seed: 1, records: [Todo.self])
    let phone = world.device("phone")
    #expect(throws: LockstepError.noSuchRecord(type: "Todo", id: "9")) {
      try world.update(Todo.self, id: "9", on: phone) { $0.done = true }
    }
  }

  @Test func aWrongClockDoesNotDecide() throws {
    var world = World(seed: 3, records: [Todo.self])
    let phone = world.device("phone")
    let mac = world.device("mac")
    world.setClockError(milliseconds: 3_600_000, of: phone)
    try world.save(Todo(id: "1", title: "from a fast clock"), on: phone)
    #expect(world.settle())
    try world.update(Todo.self, id: "1", on: mac) { $0.title = "later" }
    #expect(world.settle())
    #expect(try world.records(Todo.self, on: phone).map(\.title) == ["later"])
  }

  @Test func rulesHold() throws { try checkMergeLaws(Todo.self, histories: 400) }

  @Test func anyWorld() throws { try explore(Todo.self, seeds: 1...15, faults: .all) }
}

/// Rules with a mistake, which the checks must find.
struct BrokenRuleTests {
  /// Counts by adding both sides: the result depends on the order, and grows with each merge.
  struct Sum: SyncedRecord {
    static let zone = "Sums"
    var id = "1"
    var count = 0
    var note = ""
    static func merge(_ versions: Versions<Sum>) throws -> Sum {
      var merged = versions.merged
      merged.count = versions.newer.count + versions.older.count
      return merged
    }
  }

  /// A plain maximum beside a base: a lowered value comes back, depending on the order.
  struct Stubborn: SyncedRecord {
    static let zone = "Highs"
    var id = "1"
    var high = 0
    static func merge(_ versions: Versions<Stubborn>) throws -> Stubborn {
      guard versions.newer.high != versions.older.high else { return versions.merged }
      var merged = versions.merged
      merged.high = (versions.newer.high + versions.older.high) / 2
      return merged
    }
  }

  @Test func aSumOfBothSidesIsFound() throws {
    let fault = #expect(throws: MergeLawFault.self) {
      try checkMergeLaws(Sum.self, histories: 200)
    }
    #expect(fault?.description.contains("Sum, history") == true)
  }

  @Test func anAverageThatDependsOnTheOrderIsFound() throws {
    let fault = #expect(throws: MergeLawFault.self) {
      try checkMergeLaws(Stubborn.self, histories: 500)
    }
    #expect(fault?.description.contains("the order of arrival decides") == true)
  }
}

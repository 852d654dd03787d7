import Foundation
import Lockstep
import Testing

@testable import LockstepTesting

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

  @Test func rulesHold() throws { try checkMergeLaws(Todo.self, histories: 60) }

  /// A type with fields of all sorts, and one that accepts only certain texts.
  struct Task: SyncedRecord {
    enum Kind: String, Codable { case home, work }

    static let zone = "Tasks"
    var id = RecordID.random()
    var kind = Kind.home
    var owner: UUID?
    var steps: [Int: String] = [:]
  }

  struct Owned: SyncedRecord {
    static let zone = "Owned"
    var id = RecordID.random()
    var owner = UUID()
    var steps: [Int: String] = [:]
  }

  @Test func identifiersAndNumberedStepsAreDrawn() throws {
    try checkMergeLaws(Owned.self, histories: 20)
    try explore(Owned.self, seeds: 1...3)
  }

  @Test func aTypeThatCannotBeDrawnIsNamedAndPlayedBySamples() throws {
    let law = #expect(throws: MergeLawFault.self) {
      try checkMergeLaws(Task.self, histories: 5)
    }
    let world = #expect(throws: WorldFault.self) { try explore(Task.self, seeds: 1...1) }
    for text in [law?.description, world?.description] {
      #expect(text?.contains("values of Task cannot be drawn") == true)
      #expect(text?.contains("CaseIterable") == true)
    }
    let samples = { (index: Int) in
      Task(kind: index % 2 == 0 ? .home : .work, steps: [index % 3: "step \(index)"])
    }
    try checkMergeLaws(Task.self, histories: 20, samples: samples)
    try explore(Task.self, seeds: 1...3, samples: samples)
  }

  @Test func anyWorld() throws { try explore(Todo.self, seeds: 1...15, faults: .all) }

  /// A type whose conflicts a person decides.
  struct Plan: SyncedRecord {
    static let zone = "Plans"
    var id = "1"
    var title = ""
    var days = 0
    static let rules = MergeRules(asks: true)
  }

  @Test func aPersonDecidesAndTheDevicesAreEqual() throws {
    var world = World(seed: 11, records: [Plan.self])
    let phone = world.device("phone")
    let mac = world.device("mac")
    try world.save(Plan(title: "first"), on: phone)
    #expect(world.settle())
    world.cut(phone)
    try world.update(Plan.self, id: "1", on: phone) { $0.title = "from the phone" }
    try world.update(Plan.self, id: "1", on: mac) { $0.days = 3 }
    world.settle()
    world.heal(phone)
    #expect(world.settle())
    #expect(
      try world.records(Plan.self, on: phone) != (try world.records(Plan.self, on: mac)))
    let conflict = try #require(try world.undecidedConflicts(Plan.self, on: phone).first)
    #expect(try conflict.local(Plan.self)?.title == "from the phone")
    #expect(try conflict.relay(Plan.self)?.days == 3)
    #expect(try world.undecidedConflicts(Plan.self, on: mac).isEmpty)
    try world.decide(conflict, keep: .local, on: phone)
    #expect(world.settle())
    let plans = try world.records(Plan.self, on: mac)
    #expect(plans.map(\.title) == ["from the phone"] && plans.map(\.days) == [0])
    #expect(plans == (try world.records(Plan.self, on: phone)))
    #expect(throws: LockstepError.nothingToDecide(id: "1")) {
      try world.decide(conflict, keep: .local, on: phone)
    }
  }

  @Test func anyWorldInWhichPersonsDecide() throws {
    try explore(Plan.self, seeds: 1...30, faults: .all)
  }

  @Test func plansOfATypeThatAsksHaveDecisions() throws {
    let texts = try (UInt64(1)...20).map { try WorldPlan<Plan>(seed: $0, faults: .all).text }
    #expect(texts.contains { $0.contains("a person decides a conflict") })
    #expect(
      try !WorldPlan<Todo>(seed: 1, faults: .all).text.contains("a person decides a conflict"))
  }
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

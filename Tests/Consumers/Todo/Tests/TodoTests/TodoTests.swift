import Lockstep
import LockstepTesting
import Testing

@testable import todo

@Test func twoDevicesAgree() throws {
  var world = World(seed: 7, records: [Todo.self])
  let phone = world.device("phone")
  let mac = world.device("mac")
  try world.save(Todo(id: "1", title: "a"), on: phone)
  world.settle()
  world.cut(phone)
  try world.update(Todo.self, id: "1", on: phone) { $0.title = "b" }
  try world.update(Todo.self, id: "1", on: mac) { $0.done = true }
  world.heal(phone)
  world.settle()
  #expect(try world.records(Todo.self, on: phone) == world.records(Todo.self, on: mac))
}

@Test func rulesHold() throws { try checkMergeLaws(Todo.self, histories: 200) }

@Test func anyWorld() throws { try explore(Todo.self, seeds: 1...5, faults: .all) }

import Foundation
import Stages
import TemporaryFolders
import Testing

@testable import Lockstep

/// Two versions of an app on devices of one account, as docs/schema-changes.md describes them.
struct VersionTests {
  struct Todo: SyncedRecord {
    static let zone = "Todos"
    var id = RecordID.random()
    var title = ""
    var done = false
  }

  /// The next version: with further fields, another name of one, and a further record type.
  enum Next {
    struct Todo: SyncedRecord {
      static let zone = "Todos"
      var id = RecordID.random()
      var name = ""
      var done = false
      var priority = 3
      var dueDate: Date?
      var tags: Set<String> = []

      enum CodingKeys: String, CodingKey {
        case id, done, priority, dueDate, tags
        case name = "title"
      }
    }

    struct List: SyncedRecord {
      static let zone = "Todos"
      var id = RecordID.random()
      var color = ""
    }

    static let records: [any SyncedRecord.Type] = [Todo.self, List.self]
  }

  private func withTwoVersions(
    _ body: (_ old: Lockstep, _ new: Lockstep, _ oldHome: URL, _ relay: URL) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path("store"))
    let url = try #require(URL(string: relay.address.url))
    let oldHome = URL(filePath: folder.path("old"))
    let old = try await Lockstep.open(at: oldHome, relay: url, records: [Todo.self])
    let new = try await Lockstep.open(
      at: URL(filePath: folder.path("new")), relay: url, records: Next.records)
    try await old.createAccount(deviceName: "old")
    try await new.join(code: try await old.pairingCode(), deviceName: "new")
    try await body(old, new, oldHome, url)
    await old.close()
    await new.close()
    try relay.stop()
  }

  @Test func aFieldThatOlderRecordsLackReadsAsTheZeroValue() async throws {
    try await withTwoVersions { old, new, _, _ in
      try await old.save(Todo(id: "1", title: "milk", done: true))
      for await todos in new.live(Next.Todo.self) where !todos.isEmpty {
        // Not the 3 of the declaration, which is for new values.
        #expect(todos == [Next.Todo(id: "1", name: "milk", done: true, priority: 0)])
        break
      }
    }
  }

  @Test func anOlderVersionKeepsTheFieldsOfANewerOne() async throws {
    try await withTwoVersions { old, new, _, _ in
      let made = Next.Todo(
        id: "1", name: "milk", priority: 2, dueDate: Date(timeIntervalSince1970: 1_000),
        tags: ["shop"])
      try await new.save(made)
      for await todos in old.live(Todo.self) where !todos.isEmpty { break }
      try await old.update(Todo.self, id: "1") { $0.title = "oat milk" }
      // A whole value is no different.
      try await old.save(Todo(id: "1", title: "oat milk", done: true))
      for await todos in new.live(Next.Todo.self) where todos.first?.done == true {
        var expected = made
        expected.name = "oat milk"
        expected.done = true
        #expect(todos == [expected])
        break
      }
    }
  }

  @Test func bothVersionsChangeOneRecordWithoutANetwork() async throws {
    try await withTwoVersions { old, new, _, _ in
      try await new.save(Next.Todo(id: "1", name: "milk", tags: ["shop"]))
      for await todos in old.live(Todo.self) where !todos.isEmpty { break }
      old.engine.post(.goOffline)
      try await old.update(Todo.self, id: "1") { $0.title = "oat milk" }
      try await new.update(Next.Todo.self, id: "1") { $0.priority = 1 }
      _ = try await new.sync()
      old.engine.post(.goOnline)
      for await todos in new.live(Next.Todo.self) where todos.first?.name == "oat milk" {
        #expect(todos.first?.priority == 1)
        #expect(todos.first?.tags == ["shop"])
        break
      }
    }
  }

  @Test func aRecordTypeOfANewerVersionIsThereAfterTheUpdate() async throws {
    try await withTwoVersions { old, new, oldHome, relay in
      try await new.save(Next.List(id: "a", color: "red"))
      try await new.save(Next.Todo(id: "1", name: "milk"))
      for await todos in old.live(Todo.self) where !todos.isEmpty { break }
      await old.close()
      let updated = try await Lockstep.open(at: oldHome, relay: relay, records: Next.records)
      #expect(try await updated.records(Next.List.self) == [Next.List(id: "a", color: "red")])
      await updated.close()
    }
  }

  @Test func aRecordThatDoesNotDecodeHidesNoOther() async throws {
    struct Strict: SyncedRecord {
      static let zone = "Todos"
      static let recordType = "Todo"
      enum Kind: String, Codable { case home, work }
      var id = RecordID.random()
      var title = Kind.home
    }
    try await withTwoVersions { old, new, oldHome, relay in
      try await new.save(Next.Todo(id: "1", name: "home"))
      try await new.save(Next.Todo(id: "2", name: "garden"))
      for await todos in old.live(Todo.self) where todos.count == 2 { break }
      await old.close()
      let strict = try await Lockstep.open(at: oldHome, relay: relay, records: [Strict.self])
      #expect(try await strict.records(Strict.self).map(\.id) == ["1"])
      await #expect(throws: LockstepError.self) {
        try await strict.update(Strict.self, id: "2") { $0.title = .work }
      }
      await strict.close()
      #expect(try await new.record(Next.Todo.self, id: "2")?.name == "garden")
    }
  }
}

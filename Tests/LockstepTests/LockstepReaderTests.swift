import Foundation
import LockstepJSON
import Stages
import TemporaryFolders
import Testing

@testable import Lockstep

/// A widget, or another process, beside the app that holds the home.
struct LockstepReaderTests {
  private func reader(_ lockstep: Lockstep) async throws -> LockstepReader {
    try await Lockstep.reader(
      at: URL(filePath: lockstep.engine.folder.path), records: [Todo.self, Note.self])
  }

  @Test func aReaderSeesWhatTheHolderAndOtherDevicesSave() async throws {
    try await Devices.withTwo { phone, mac, _ in
      try await phone.save(Todo(id: "1", title: "milk"))
      let widget = try await reader(phone)
      #expect(try await widget.records(Todo.self).map(\.title) == ["milk"])
      #expect(try await widget.record(Todo.self, id: "1")?.title == "milk")
      #expect(try await widget.record(Todo.self, id: "2") == nil)

      var lists = widget.live(Todo.self).makeAsyncIterator()
      var last = await lists.next() ?? []
      try await phone.save(Todo(id: "2", title: "bread"))
      while last.count < 2, let next = await lists.next() { last = next }
      try await mac.save(Todo(id: "3", title: "tea"))
      while last.count < 3, let next = await lists.next() { last = next }
      #expect(last.map(\.title) == ["milk", "bread", "tea"])
      try await phone.delete(Todo.self, id: "2")
      while last.count > 2, let next = await lists.next() { last = next }
      #expect(last.map(\.id) == ["1", "3"])
      widget.close()
      #expect(await lists.next() == nil)
    }
  }

  @Test func aReaderIsToldThatTheHolderHasTooManyConnections() async throws {
    try await Devices.withTwo { phone, _, _ in
      let home = phone.engine.folder
      let widget = try await reader(phone)
      var connections: [HomeConnection] = []
      for _ in 0..<32 {
        let connection = try #require(HomeConnection(socket: home.socket))
        #expect(connection.send(["id": 1, "do": "hello"]))
        _ = connection.next(milliseconds: -1)
        connections.append(connection)
      }
      await #expect(throws: LockstepError.holderBusy(path: home.path)) {
        try await widget.save(Todo(id: "1", title: "milk"))
      }
      #expect(try await phone.records(Todo.self).isEmpty)
      connections.removeAll()
    }
  }

  @Test func theHolderMakesAReadersEdits() async throws {
    try await Devices.withTwo { phone, mac, _ in
      var milk = Todo(id: "1", title: "milk")
      milk.minutes.add(5)
      try await phone.save(milk)
      let widget = try await reader(phone)
      try await widget.update(Todo.self, id: "1") { todo in
        todo.done = true
        todo.minutes.add(2)
      }
      let found = try #require(try await phone.record(Todo.self, id: "1"))
      #expect(found.done && found.title == "milk" && found.minutes.value == 7)

      try await widget.transaction { edit in
        edit.save(Todo(id: "2", title: "tea"))
        try edit.update(Todo.self, id: "2") { $0.order = 4 }
        edit.delete(Todo.self, id: "1")
      }
      #expect(try await phone.records(Todo.self).map(\.title) == ["tea"])
      for await todos in mac.live(Todo.self) where todos.map(\.order) == [4] { break }
      await #expect(throws: LockstepError.noSuchRecord(type: "Todo", id: "9")) {
        try await widget.update(Todo.self, id: "9") { $0.done = true }
      }
      await #expect(throws: LockstepError.unknownModel(type: "Photo")) {
        try await widget.transaction { $0.save(Photo()) }
      }
      // A single edit names its type.
      try await widget.save(Photo(id: "p", title: "lake"))
      #expect(try await widget.record(Photo.self, id: "p")?.title == "lake")
      #expect(try await phone.record(Photo.self, id: "p")?.title == "lake")
    }
  }

  @Test func whatTheHolderChangesMeanwhileStays() async throws {
    try await Devices.withTwo { phone, mac, _ in
      _ = mac
      try await phone.save(Todo(id: "1", title: "milk"))
      let widget = try await reader(phone)
      let (isReading, isChanged) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      // On a thread of its own, since the reader's closure waits for it.
      Thread.detachNewThread {
        isReading.wait()
        Task {
          try await phone.update(Todo.self, id: "1") { todo in
            todo.title = "oat milk"
            todo.minutes.add(10)
            todo.tags.insert("shop")
          }
          isChanged.signal()
        }
      }
      try await widget.update(Todo.self, id: "1") { todo in
        isReading.signal()
        isChanged.wait()
        todo.done = true
        todo.minutes.add(1)
      }
      let found = try #require(try await phone.record(Todo.self, id: "1"))
      #expect(found.title == "oat milk" && found.done && found.tags == ["shop"])
      #expect(found.minutes.value == 11)
    }
  }

  @Test func aValueThatWasReadEarlierTakesNoCountsBack() async throws {
    try await Devices.withTwo { phone, mac, _ in
      _ = mac
      try await phone.save(Todo(id: "1", title: "milk"))
      let widget = try await reader(phone)
      var stale = try #require(try await widget.record(Todo.self, id: "1"))
      try await phone.update(Todo.self, id: "1") { $0.minutes.add(10) }
      stale.title = "oat milk"
      try await widget.save(stale)
      let found = try #require(try await phone.record(Todo.self, id: "1"))
      #expect(found.title == "oat milk" && found.minutes.value == 10)
    }
  }

  @Test func aLiveListOfAReaderMayEndOnAChange() async throws {
    try await Devices.withTwo { phone, mac, _ in
      _ = mac
      let widget = try await reader(phone)
      for number in 1...5 {
        async let saved: Void = phone.save(Todo(id: "\(number)"))
        for await todos in widget.live(Todo.self) where todos.count == number { break }
        try await saved
      }
      #expect(try await widget.records(Todo.self).count == 5)
    }
  }

  @Test func withoutAHolderAnEditIsMadeAndSentLater() async throws {
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      try await phone.save(Todo(id: "1", title: "milk"))
      _ = try await phone.sync()
      await phone.close()

      let widget = try await reader(phone)
      var lists = widget.live(Todo.self).makeAsyncIterator()
      #expect(await lists.next()?.map(\.done) == [false])
      try await widget.update(Todo.self, id: "1") { $0.done = true }
      // The edit is seen without any holder.
      #expect(await lists.next()?.map(\.done) == [true])

      let again = try await Devices.open(folders[1], relay)
      #expect(try await again.record(Todo.self, id: "1")?.done == true)
      _ = try await again.sync()
      #expect(try await again.syncState(Todo.self, id: "1") == .synced)
      // From now on the reader follows the new holder.
      try await again.save(Todo(id: "2", title: "tea"))
      while let next = await lists.next(), next.count < 2 {}
      widget.close()
      await again.close()
      try relay.stop()
    }
  }

  @Test func aFolderWithoutAHomeIsNotMade() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("none")
    await #expect(throws: LockstepError.noHome(path: path)) {
      try await Lockstep.reader(at: URL(filePath: path))
    }
    #expect(!folder.has("none"))
  }
}

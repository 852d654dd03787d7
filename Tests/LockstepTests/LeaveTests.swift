import Foundation
import Stages
import TemporaryFolders
import Testing

@testable import Lockstep

struct LeaveTests {
  @Test func aDeviceThatLeavesIsNoDeviceAndHasNoData() async throws {
    try await Devices.withTwo { phone, mac, relay in
      try await phone.save(Todo(id: "1", title: "milk"))
      for await todos in mac.live(Todo.self) where !todos.isEmpty { break }
      _ = try await mac.sync()
      try await mac.leave()
      #expect(mac.status.state == .closed)
      await #expect(throws: LockstepError.closed) { try await mac.records(Todo.self) }
      #expect(try await phone.devices().map(\.name) == ["phone"])
      #expect(try await phone.records(Todo.self).map(\.title) == ["milk"])
      // The folder is a new home.
      let fresh = try await Devices.open(mac.engine.folder.path, relay)
      #expect(fresh.status.state == .needsPairing)
      #expect(try await fresh.records(Todo.self) == [])
      await fresh.close()
    }
  }

  @Test func filesOfThePersonsOwnStay() async throws {
    try await Devices.withTwo { phone, mac, _ in
      _ = mac
      let photos = try TemporaryFolder()
      try photos.write("lake", to: "a.jpg")
      try photos.write("hello", to: "b")
      let reference = try await phone.attach(
        contentsOf: URL(filePath: photos.path("b")), for: Photo.self)
      let copy = try await phone.file(reference)
      let files = phone.engine.folder.files
      try FileManager.default.createDirectory(
        atPath: files + "/photos", withIntermediateDirectories: true)
      try Data("own".utf8).write(to: URL(filePath: files + "/photos/own.jpg"))
      let link = files + "/" + String(repeating: "a", count: 64)
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: photos.path)
      try await phone.leave()
      #expect(!FileManager.default.fileExists(atPath: copy.path))
      #expect(FileManager.default.fileExists(atPath: files + "/photos/own.jpg"))
      #expect(photos.has("a.jpg"))
    }
  }

  @Test func leavingWouldLoseWhatWasNotSent() async throws {
    try await Devices.withTwo { phone, mac, relay in
      _ = mac
      try relay.stop()
      try await phone.save(Todo(id: "1", title: "milk"))
      await #expect(throws: LockstepError.unsentChanges(count: 1)) { try await phone.leave() }
      #expect(try await phone.records(Todo.self).map(\.title) == ["milk"])
      try await phone.leave(discardingUnsent: true)
      #expect(phone.status.state == .closed)
      #expect(!phone.engine.folder.exists)
    }
  }
}

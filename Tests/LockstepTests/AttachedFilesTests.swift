import Foundation
import Stages
import Synchronization
import TemporaryFolders
import Testing

@testable import Lockstep

/// Files that fields of records name.
struct AttachedFilesTests {
  /// Bytes without a period, so that no two chunks are equal.
  private func content(_ count: Int) -> Data {
    var state: UInt64 = 7
    return Data(
      (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
      })
  }

  @Test(arguments: [true, false])
  func aFileIsOnTheOtherDeviceWithItsRecord(sealed: Bool) async throws {
    let source = try TemporaryFolder()
    let image = content(5 << 20)
    let url = URL(filePath: source.path("lake.jpg"))
    try image.write(to: url)
    try await Devices.withTwo(sealed: sealed) { phone, mac, _ in
      let reference = try await phone.attach(contentsOf: url, for: Photo.self)
      #expect(reference.name == "lake.jpg" && reference.bytes == 5 << 20)
      try FileManager.default.removeItem(at: url)
      try await phone.save(Photo(id: "1", title: "lake", image: reference))

      var found: FileReference?
      for await photos in mac.live(Photo.self) where !photos.isEmpty {
        found = photos[0].image
        break
      }
      let progress = Mutex<[FileProgress]>([])
      let copy = try await mac.file(try #require(found)) { step in
        progress.withLock { $0.append(step) }
      }
      #expect(try Data(contentsOf: copy) == image)
      #expect(copy.lastPathComponent == "lake.jpg")
      let steps = progress.withLock { $0 }
      #expect(steps.last == FileProgress(bytesDone: 5 << 20, bytesInAll: 5 << 20))
      #expect(steps.allSatisfy { $0.bytesDone <= $0.bytesInAll })
      #expect(steps.map(\.bytesDone) == steps.map(\.bytesDone).sorted())
      // The second call needs no relay, and gives the same copy.
      #expect(try await mac.file(reference) == copy)
    }
  }

  @Test func aFileAttachedBeforeJoiningIsSentLater() async throws {
    try await Devices.withFolders(4) { folders in
      let relay = try ServingRelay(store: folders[0])
      let url = URL(filePath: folders[3])
      try content(70_000).write(to: url)
      let phone = try await Devices.open(folders[1], relay)
      let reference = try await phone.attach(contentsOf: url, for: Photo.self)
      try await phone.save(Photo(id: "1", image: reference))
      #expect(try Data(contentsOf: try await phone.file(reference)) == content(70_000))
      await phone.close()

      let again = try await Devices.open(folders[1], relay)
      try await again.createAccount(deviceName: "phone", sealed: false)
      // A second file of the same home, now with an account.
      try content(90_000).write(to: url)
      let second = try await again.attach(contentsOf: url)
      try await again.save(Photo(id: "2", image: second))
      let mac = try await Devices.open(folders[2], relay)
      try await mac.join(code: try await again.pairingCode(), deviceName: "mac")
      for await photos in mac.live(Photo.self) where photos.count == 2 { break }
      #expect(try Data(contentsOf: try await mac.file(reference)) == content(70_000))
      #expect(try Data(contentsOf: try await mac.file(second)) == content(90_000))
      await again.close()
      await mac.close()
      try relay.stop()
    }
  }

  /// It is not sealed, and the relay of a sealed account must not get it so.
  @Test func aFileAttachedBeforeJoiningIsNotSentToASealedAccount() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let url = URL(filePath: folders[2])
      try content(70_000).write(to: url)
      let phone = try await Devices.open(folders[1], relay)
      try await phone.save(
        Photo(id: "1", image: try await phone.attach(contentsOf: url, for: Photo.self)))
      let failure = await #expect(throws: LockstepError.self) {
        try await phone.createAccount(deviceName: "phone")
      }
      #expect("\(try #require(failure))".contains("attach them again"))
      #expect(phone.status.state == .needsPairing)
      try await phone.update(Photo.self, id: "1") { $0.image = nil }
      try await phone.createAccount(deviceName: "phone")
      let image = try await phone.attach(contentsOf: url, for: Photo.self)
      try await phone.update(Photo.self, id: "1") { $0.image = image }
      _ = try await phone.sync()
      #expect(try await phone.syncState(Photo.self, id: "1") == .synced)
      await phone.close()
      try relay.stop()
    }
  }

  @Test func anEmptyFileIsAFile() async throws {
    let source = try TemporaryFolder()
    try source.write("", to: "empty")
    try await Devices.withTwo { phone, mac, _ in
      let reference = try await phone.attach(
        contentsOf: URL(filePath: source.path("empty")), for: Photo.self)
      #expect(try Data(contentsOf: try await mac.file(reference)).isEmpty)
    }
  }

  @Test func contentThatNobodyHasIsNotAvailable() async throws {
    try await Devices.withTwo { phone, mac, _ in
      let source = try TemporaryFolder()
      try source.write("hello", to: "a")
      // Attached, but in no record: it was never sent.
      let reference = try await phone.attach(
        contentsOf: URL(filePath: source.path("a")), for: Photo.self)
      _ = try await mac.sync()
      let failure = await #expect(throws: LockstepError.self) {
        try await mac.file(reference)
      }
      guard case .fileUnavailable(let name, _) = failure else {
        Issue.record("it failed with \(String(describing: failure))")
        return
      }
      #expect(name == "a")
    }
  }

  @Test func aMissingFileIsNamed() async throws {
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      let url = URL(filePath: folders[1] + "/none.jpg")
      let failure = await #expect(throws: LockstepError.self) {
        try await phone.attach(contentsOf: url, for: Photo.self)
      }
      #expect("\(try #require(failure))".contains("none.jpg"))
      await phone.close()
      try relay.stop()
    }
  }

  @Test func whatIsNoRegularFileIsRefused() async throws {
    try await Devices.withTwo { phone, mac, _ in
      _ = mac
      let folder = try TemporaryFolder()
      #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
      for path in [folder.path("pipe"), folder.path, "/dev/zero"] {
        await #expect(throws: LockstepError.file(path: path, reason: "it is no regular file")) {
          try await phone.attach(contentsOf: URL(filePath: path), for: Photo.self)
        }
      }
    }
  }

  @Test func aHostileNameStaysInItsFolder() async throws {
    try await Devices.withTwo { phone, mac, _ in
      let source = try TemporaryFolder()
      try source.write("hello", to: "a")
      let good = try await phone.attach(
        contentsOf: URL(filePath: source.path("a")), for: Photo.self)
      for name in ["../../x", "..", "", "a\u{0}b", String(repeating: "x", count: 4_000)] {
        let reference = FileReference(
          name: name, bytes: good.bytes, chunks: good.chunks, seal: good.seal)
        let copy = try await phone.file(reference)
        #expect(copy.path.hasPrefix(phone.engine.folder.files + "/"))
        #expect(!copy.path.contains("/../"))
        #expect(try Data(contentsOf: copy) == Data("hello".utf8))
      }
      _ = mac
    }
  }
}

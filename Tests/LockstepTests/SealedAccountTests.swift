import Foundation
import Glibc
import LockstepClient
import LockstepModel
import LockstepSealing
import LockstepWire
import Stages
import TemporaryFolders
import Testing

@testable import Lockstep

/// A sealed account on a relay in this process, as apps use it.
struct SealedAccountTests {
  @Test func theRelayReadsNothingAndTheOtherDeviceAll() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.save(Todo(id: "before", title: "a secret"))
      try await phone.createAccount(deviceName: "phone")
      try await phone.save(Todo(id: "after", title: "a secret"))
      _ = try await phone.sync()
      let stored = try relayBody(relay, phone)
      #expect(stored.contains("sealed"))
      for text in ["secret", "before", "after"] { #expect(!stored.contains(text), "\(text)") }

      let code = try await phone.pairingCode()
      #expect(code.count == "7Q2M-0XKD-9RTA-C4VH-1EZB-83NW".count)
      let mac = try await Devices.open(folders[2], relay)
      try await mac.join(code: code, deviceName: "mac")
      for await todos in mac.live(Todo.self) where todos.count == 2 { break }
      let words = try #require(try await phone.checkWords)
      #expect(words.split(separator: " ").count == 6)
      #expect(try await mac.checkWords == words)
      try await mac.update(Todo.self, id: "after") { $0.done = true }
      for await todos in phone.live(Todo.self) where todos.contains(where: \.done) { break }
      for each in [phone, mac] { await each.close() }
      try relay.stop()
    }
  }

  @Test func anAccountThatIsNotSealedHasNoKeys() async throws {
    try await Devices.withTwo(sealed: false) { phone, mac, relay in
      try await phone.save(Todo(id: "1", title: "milk"))
      for await todos in mac.live(Todo.self) where todos.count == 1 { break }
      #expect(try relayBody(relay, phone).contains("milk"))
      #expect(try await phone.checkWords == nil)
      #expect(try await phone.pairingCode().count == "7Q2M-0XKD-9RTA".count)
      let failure = await #expect(throws: LockstepError.self) { try await phone.recoveryPhrase() }
      guard case .keysMissing = failure else {
        Issue.record("it failed with \(String(describing: failure))")
        return
      }
      let devices = try await phone.devices()
      let others = try await phone.revoke(try #require(devices.first { $0.name == "mac" }))
      #expect(others.isEmpty)
    }
  }

  // MARK: codes

  @Test(arguments: [
    "7Q2M-0XKD-9RTA-C4VH-1EZB-83NW", "lockstep+RELAY/#code=7Q2M-0XKD-9RTA-C4VH-1EZB-83NW",
  ])
  func onlyTheFirstHalfOfACodeIsSent(typed: String) async throws {
    let folder = try TemporaryFolder()
    let relay = try RecordingRelay()
    let mac = try await Lockstep.open(
      at: URL(filePath: folder.path("mac")), relay: try #require(URL(string: relay.url)),
      records: [Todo.self])
    async let sent = relay.request()
    let code = typed.replacing("RELAY", with: relay.url)
    await #expect(throws: LockstepError.self) { try await mac.join(code: code, deviceName: "mac") }
    let request = await sent
    #expect(request.contains(Self.half))
    for part in ["C4VH", "1EZB", "83NW"] { #expect(!request.contains(part)) }
    #expect(mac.status.state == .needsPairing)
    await mac.close()
  }

  private static let half = "7Q2M-0XKD-9RTA"

  @Test func aCodeThatIsMistypedOrOfAnotherRelayIsNotSent() async throws {
    let folder = try TemporaryFolder()
    let url = try #require(URL(string: "http://127.0.0.1:1"))
    let mac = try await Lockstep.open(
      at: URL(filePath: folder.path("mac")), relay: url, records: [Todo.self])
    for code in [
      "\(Self.half)-C4VH", "\(Self.half)-C4VH-1EZB-83NU", "http://127.0.0.1:2/#code=\(Self.half)",
      "http://127.0.0.1:1/#code=\(Self.half)&keys",
    ] {
      let failure = await #expect(throws: LockstepError.self) {
        try await mac.join(code: code, deviceName: "mac")
      }
      guard case .invalidCode = failure else {
        Issue.record("\(code) failed with \(String(describing: failure))")
        continue
      }
    }
    await mac.close()
  }

  @Test func aDeviceJoinsWithTheRightSecondHalfAlone() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      let mac = try await Devices.open(folders[2], relay)
      try await mac.save(Todo(id: "1", title: "mine"))
      for isMissing in [false, true] {
        let code = try await phone.pairingCode()
        let first = code.prefix(Self.half.count)
        let failure = await #expect(throws: LockstepError.self) {
          try await mac.join(
            code: isMissing ? String(first) : first + "-0000-0000-0000", deviceName: "mac")
        }
        guard case .keysNotOpened(let reason) = failure else {
          Issue.record("it failed with \(String(describing: failure))")
          return
        }
        #expect(reason.contains("24 letters"))
        #expect(try await phone.devices().map(\.name) == ["phone"])
        #expect(mac.status.state == .needsPairing)
      }
      try await mac.join(code: try await phone.pairingCode(), deviceName: "mac")
      for await todos in phone.live(Todo.self) where todos.map(\.title) == ["mine"] { break }
      for each in [phone, mac] { await each.close() }
      try relay.stop()
    }
  }

  /// A relay that keeps the keys back would else get the device's records as they are.
  @Test func aDeviceJoinsNothingIfTheRelayWithholdsTheKeys() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone", sealed: false)
      let mac = try await Devices.open(folders[2], relay)
      try await mac.save(Todo(id: "1", title: "mine"))
      let code = try await phone.pairingCode() + "-C4VH-1EZB-83NW"
      let failure = await #expect(throws: LockstepError.self) {
        try await mac.join(code: code, deviceName: "mac")
      }
      guard case .keysNotOpened = failure else {
        Issue.record("it failed with \(String(describing: failure))")
        return
      }
      #expect(try await phone.devices().map(\.name) == ["phone"])
      #expect(try !relayBody(relay, phone).contains("mine"))
      for each in [phone, mac] { await each.close() }
      try relay.stop()
    }
  }

  /// Of a relay that takes no new accounts of anybody.
  @Test(arguments: [true, false])
  func theFirstDeviceOfAnAccountThatItsOwnerHasMadeSealsIt(sealed: Bool) async throws {
    try await Devices.withFolders(3) { folders in
      let code = try ServingRelay.ownersAccount(inStore: folders[0])
      let relay = try ServingRelay(store: folders[0], isOpen: false)
      let phone = try await Devices.open(folders[1], relay)
      try await phone.save(Todo(id: "1", title: "milk"))
      try await phone.join(code: code, deviceName: "phone", sealed: sealed)
      _ = try await phone.sync()
      #expect(try await (phone.checkWords != nil) == sealed)
      #expect(try relayBody(relay, phone).contains("milk") == !sealed)
      let mac = try await Devices.open(folders[2], relay)
      try await mac.join(code: try keylessCode(relay, phone), deviceName: "mac")
      #expect(try await mac.checkWords == nil)
      let expected: SyncStatus.State = sealed ? .needsKeys : .inSync
      for await status in mac.statusUpdates where status.state == expected { break }
      for each in [phone, mac] { await each.close() }
      try relay.stop()
    }
  }

  @Test func aDeviceForOneZoneGetsTheKeysOfThatZoneAlone() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      try await phone.save(Todo(id: "1", title: "milk"))
      _ = try await phone.sync()
      let app = try await Devices.open(folders[2], relay)
      try await app.join(
        code: try await phone.pairingCode(zones: [Todo.zone]), deviceName: "app")
      for await todos in app.live(Todo.self) where todos.map(\.title) == ["milk"] { break }
      let keys = try #require(try DeviceKeys.held(in: app.engine.folder).keys)
      #expect(keys.keys(of: Name(trusted: Todo.zone)) != nil && keys.current == nil)
      #expect(keys.keys(of: Name(trusted: Note.zone)) == nil)
      #expect(try await app.checkWords == nil)
      await #expect(throws: LockstepError.invalidZone("Keys")) {
        try await phone.pairingCode(zones: ["Keys"])
      }
      for each in [phone, app] { await each.close() }
      try relay.stop()
    }
  }

  // MARK: without keys

  @Test func aDeviceWithoutKeysIsLockedUntilItGetsThem() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      try await phone.save(Todo(id: "1", title: "milk"))
      _ = try await phone.sync()
      let phrase = try await phone.recoveryPhrase()
      #expect(phrase.split(separator: " ").count == KeyPhrase.wordCount)
      let mac = try await Devices.open(folders[2], relay)
      try await mac.save(Todo(id: "2", title: "mine"))
      try await mac.join(code: try keylessCode(relay, phone), deviceName: "mac")
      for await status in mac.statusUpdates where status.state == .needsKeys {
        #expect(status.reason?.contains("recovery phrase") == true)
        break
      }
      for await status in mac.statusUpdates where status.unreadable > 0 { break }
      #expect(try await mac.records(Todo.self).map(\.title) == ["mine"])
      await #expect(throws: LockstepError.self) { try await mac.save(Todo(id: "3")) }
      for call in [
        { _ = try await mac.pairingCode() }, { _ = try await mac.recoveryPhrase() },
      ] as [() async throws -> Void] {
        let failure = await #expect(throws: LockstepError.self) { try await call() }
        guard case .keysMissing = failure else {
          Issue.record("it failed with \(String(describing: failure))")
          return
        }
      }
      let wrong = phrase.split(separator: " ").reversed().joined(separator: " ")
      for text in [wrong, "no phrase", KeyPhrase.text(of: try otherGeneration())] {
        let failure = await #expect(throws: LockstepError.self) {
          try await mac.restoreKeys(phrase: text)
        }
        guard case .invalidPhrase = failure else {
          Issue.record("it failed with \(String(describing: failure))")
          return
        }
      }
      #expect(try await mac.checkWords == nil)

      try await mac.restoreKeys(phrase: phrase.uppercased())
      for await todos in mac.live(Todo.self) where todos.count == 2 { break }
      for await todos in phone.live(Todo.self) where todos.count == 2 { break }
      for await status in mac.statusUpdates where status.state == .inSync {
        #expect(status.unreadable == 0)
        break
      }
      #expect(try await mac.checkWords == phone.checkWords)
      #expect(try !relayBody(relay, phone).contains("mine"))
      for each in [phone, mac] { await each.close() }
      try relay.stop()
    }
  }

  // MARK: new keys

  @Test func aRevokedDeviceDoesNotGetTheNewKeys() async throws {
    try await Devices.withFolders(5) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      var others: [Lockstep] = []
      for (index, name) in ["mac", "lost"].enumerated() {
        let device = try await Devices.open(folders[2 + index], relay)
        try await device.join(code: try await phone.pairingCode(), deviceName: name)
        _ = try await device.sync()
        others.append(device)
      }
      let app = try await Devices.open(folders[4], relay)
      try await app.join(
        code: try await phone.pairingCode(zones: [Todo.zone]), deviceName: "app")
      let (mac, lost) = (others[0], others[1])
      let words = try #require(try await phone.checkWords)
      let devices = try await phone.devices()
      let again = try await phone.revoke(try #require(devices.first { $0.name == "lost" }))
      #expect(again.map(\.name) == ["app"])
      let newWords = try #require(try await phone.checkWords)
      #expect(newWords != words)
      try await phone.save(Todo(id: "1", title: "milk"))
      for await todos in mac.live(Todo.self) where todos.map(\.title) == ["milk"] { break }
      #expect(try await mac.checkWords == newWords)
      #expect(try await lost.checkWords == words)
      for await status in lost.statusUpdates where status.state == .failed { break }
      // The device for one zone is paired again, and reads it.
      for await status in app.statusUpdates where status.unreadable > 0 { break }
      _ = try await phone.revoke(try #require(again.first))
      for await status in app.statusUpdates where status.state == .failed { break }
      try await app.join(
        code: try await phone.pairingCode(zones: [Todo.zone]), deviceName: "app")
      for await todos in app.live(Todo.self) where todos.map(\.title) == ["milk"] { break }
      for each in [phone, mac, lost, app] { await each.close() }
      try relay.stop()
    }
  }

  // MARK: tools

  /// Returns all that the relay has of the account, as text.
  private func relayBody(_ relay: ServingRelay, _ device: Lockstep) throws -> String {
    let token = try #require(device.engine.identity).credentials.token
    let client = RelayClient(relay: relay.address, trust: .system)
    let request = HTTPCallRequest("GET", path: ["v1", "changes"], token: token)
    return String(decoding: try client.perform(request), as: UTF8.self)
  }

  /// Returns a code such as the relay's owner makes: it carries no keys.
  private func keylessCode(_ relay: ServingRelay, _ device: Lockstep) throws -> String {
    let token = try #require(device.engine.identity).credentials.token
    return try RelayClient(relay: relay.address, trust: .system).pairingOffer(token: token).code
  }

  private func otherGeneration() throws -> KeyGeneration {
    try #require(KeyGeneration(secret: [UInt8](repeating: 5, count: KeyGeneration.count)))
  }
}

/// A server that accepts one connection, keeps what comes first, and ends it without an answer.
private final class RecordingRelay: Sendable {
  private let descriptor: Int32
  let url: String

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 1) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    #expect(isOpen)
    self.descriptor = descriptor
    url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
  }

  deinit { close(descriptor) }

  /// Returns the request, once its body has come.
  func request() async -> String {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        let connection = accept(descriptor, nil, nil)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while !String(decoding: bytes, as: UTF8.self).contains("}") {
          let count = read(connection, &buffer, buffer.count)
          guard count > 0 else { break }
          bytes += buffer.prefix(count)
        }
        close(connection)
        continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
      }
    }
  }
}

import Foundation
import LockstepClient
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import Stages
import TemporaryFolders
import Testing

@testable import Lockstep

/// An app on a device that was paired for a part of the account.
struct ScopeTests {
  /// Makes a home whose relay does not run.
  private func home(_ folder: TemporaryFolder, _ scope: DeviceScope) throws -> URL {
    let path = try folder.longFolder()
    let store = try SQLiteReplicaStore(home: path)
    try store.write([
      .setIdentity(
        HomeIdentity(
          relay: "http://127.0.0.1:1",
          credentials: Credentials(
            account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret",
            scope: scope),
          deviceName: "phone"))
    ])
    store.close()
    return URL(filePath: path)
  }

  private func open(_ home: URL) async throws -> Lockstep {
    let relay = try #require(URL(string: "http://127.0.0.1:1"))
    return try await Lockstep.open(at: home, relay: relay, records: [Todo.self, Note.self])
  }

  @Test func anEditInAnotherZoneIsRefusedWithTheZoneAndTheNextStep() async throws {
    let folder = try TemporaryFolder()
    let home = try home(folder, DeviceScope(zones: [Name(trusted: Todo.zone)]))
    let lockstep = try await open(home)
    #expect(lockstep.scope.zones == [Todo.zone])
    let failure = LockstepError.outOfScope(zone: Note.zone, scope: lockstep.scope)
    await #expect(throws: failure) { try await lockstep.save(Note(id: "1", text: "no")) }
    await #expect(throws: failure) {
      try await lockstep.transaction { edits in
        edits.save(Todo(id: "1", title: "milk"))
        edits.save(Note(id: "1", text: "no"))
      }
    }
    #expect(failure.description.contains(Note.zone))
    #expect(failure.description.contains("pair it again"))
    #expect(try await lockstep.records(Todo.self).isEmpty)
    #expect(lockstep.status.waiting == 0)
    try await lockstep.save(Todo(id: "1", title: "milk"))
    #expect(lockstep.status.waiting == 1)
    await lockstep.close()
    let again = try await open(home)
    #expect(again.scope.zones == [Todo.zone], "the home keeps it")
    await again.close()
  }

  @Test func aDeviceThatMayOnlyReadChangesNothing() async throws {
    let folder = try TemporaryFolder()
    let lockstep = try await open(home(folder, DeviceScope(zones: nil, isReadOnly: true)))
    #expect(lockstep.scope.access == .read && lockstep.scope.zones == nil)
    let failure = LockstepError.outOfScope(zone: Todo.zone, scope: lockstep.scope)
    await #expect(throws: failure) { try await lockstep.save(Todo(id: "1", title: "milk")) }
    #expect(try await lockstep.records(Todo.self).isEmpty)
    await lockstep.close()
  }

  /// A widget that edits while the app has the home, or nobody.
  @Test func aReaderIsRefusedTheSame() async throws {
    let folder = try TemporaryFolder()
    let home = try home(folder, DeviceScope(zones: [Name(trusted: Todo.zone)]))
    let lockstep = try await open(home)
    let failure = LockstepError.outOfScope(zone: Note.zone, scope: lockstep.scope)
    let reader = try await Lockstep.reader(at: home, records: [Todo.self, Note.self])
    await #expect(throws: failure) { try await reader.save(Note(id: "1", text: "no")) }
    await lockstep.close()
    await #expect(throws: failure) { try await reader.save(Note(id: "1", text: "no")) }
  }

  @Test func aZoneThatIsNoNameIsRefusedBeforeTheRelayIsAsked() async throws {
    let folder = try TemporaryFolder()
    let lockstep = try await open(home(folder, .everything))
    await #expect(throws: LockstepError.invalidZone("")) {
      try await lockstep.pairingCode(zones: [""])
    }
    await lockstep.close()
  }

  // MARK: with a relay

  @Test func aDeviceThatIsPairedForOneZoneHasThatZoneAlone() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      try await phone.save(Todo(id: "1", title: "milk"))
      try await phone.save(Note(id: "1", text: "secret"))
      _ = try await phone.sync()
      let app = try await Devices.open(folders[2], relay)
      try await app.join(
        code: try await phone.pairingCode(zones: [Todo.zone]), deviceName: "app")
      #expect(app.scope.zones == [Todo.zone] && app.scope.access == .readWrite)
      _ = try await app.sync()
      #expect(try await app.records(Todo.self).map(\.title) == ["milk"])
      #expect(try await app.records(Note.self) == [])
      try await app.save(Todo(id: "2", title: "bread"))
      _ = try await app.sync()
      _ = try await phone.sync()
      #expect(Set(try await phone.records(Todo.self).map(\.title)) == ["milk", "bread"])
      let failure = LockstepError.outOfScope(zone: Note.zone, scope: app.scope)
      await #expect(throws: failure) { try await app.save(Note(id: "1", text: "mine")) }
      #expect(app.status.waiting == 0)
      #expect(try await phone.records(Note.self).map(\.text) == ["secret"])
      #expect(try await app.devices().map(\.scope) == [app.scope])
      #expect(try await phone.devices().first { $0.name == "app" }?.scope == app.scope)
      // The relay enforces it, whatever a program does.
      for zone in [Note.zone, "Nothing"] {
        let token = try #require(app.engine.identity).credentials.token
        let request = HTTPCallRequest(
          "GET", path: ["v1", "zones", zone, "records", "1"], token: token)
        #expect(try RelayClient(relay: relay.address, trust: .system).answer(request).status == 403)
      }
      await phone.close()
      await app.close()
      try relay.stop()
    }
  }

  @Test func aDeviceGivesOthersNoMoreThanItHas() async throws {
    try await Devices.withFolders(4) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      let app = try await Devices.open(folders[2], relay)
      try await app.join(
        code: try await phone.pairingCode(zones: [Todo.zone], access: .read), deviceName: "app")
      for zones in [[Note.zone], [Todo.zone, Note.zone]] {
        let error = await #expect(throws: LockstepError.self) {
          try await app.pairingCode(zones: zones)
        }
        guard case .refused(let reason) = error else {
          Issue.record("\(String(describing: error))")
          continue
        }
        #expect(!reason.isEmpty)
      }
      // Without limits of its own, a code has those of the device that gives it.
      let screen = try await Devices.open(folders[3], relay)
      try await screen.join(
        code: try await app.pairingCode(access: .readWrite), deviceName: "screen")
      #expect(screen.scope == app.scope && screen.scope.access == .read)
      let failure = LockstepError.outOfScope(zone: Todo.zone, scope: screen.scope)
      await #expect(throws: failure) { try await screen.save(Todo(id: "1", title: "milk")) }
      for each in [phone, app, screen] { await each.close() }
      try relay.stop()
    }
  }
}

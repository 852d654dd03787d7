import Foundation
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
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
}

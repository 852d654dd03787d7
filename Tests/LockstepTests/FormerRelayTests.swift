import Foundation
import LockstepClient
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import TemporaryFolders
import Testing

@testable import Lockstep

/// An app that names a relay which its account has left.
struct FormerRelayTests {
  private let former = "http://127.0.0.1:1"
  private let present = "http://127.0.0.1:2"

  /// Makes a home that has followed its account. None of its relays runs.
  private func home(_ folder: TemporaryFolder) throws -> URL {
    let path = try folder.longFolder()
    let store = try SQLiteReplicaStore(home: path)
    try store.write([
      .setIdentity(
        HomeIdentity(
          relay: present,
          credentials: Credentials(
            account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret"),
          deviceName: "phone")),
      .setValue(key: FormerRelays.key, former),
    ])
    store.close()
    return URL(filePath: path)
  }

  private func place(_ home: URL, namedBy app: String) async throws -> String? {
    let lockstep = try await Lockstep.open(
      at: home, relay: try #require(URL(string: app)), records: [Todo.self])
    let relay = lockstep.engine.identity?.relay
    await lockstep.close()
    return relay
  }

  @Test func anAppThatNamesTheFormerRelayDoesNotUndoTheMove() async throws {
    let folder = try TemporaryFolder()
    let home = try home(folder)
    #expect(try await place(home, namedBy: former) == present)
    // Any other address is the app's word: the relay has got another name.
    #expect(try await place(home, namedBy: "http://127.0.0.1:3") == "http://127.0.0.1:3")
  }
}

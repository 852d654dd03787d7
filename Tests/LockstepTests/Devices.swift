import Foundation
import Lockstep
import Stages
import TemporaryFolders
import Testing

/// Devices of one account on a relay in this process.
enum Devices {
  /// Opens a home that has not joined.
  static func open(_ folder: String, _ relay: ServingRelay) async throws -> Lockstep {
    try await Lockstep.open(
      at: URL(filePath: folder), relay: try #require(URL(string: relay.address.url)),
      records: [Todo.self, Note.self, Photo.self])
  }

  static func withFolders(
    _ count: Int, _ body: ([String]) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    try await body((0..<count).map { folder.path("\($0)") })
  }

  /// Runs the body with a relay and two devices of one account.
  static func withTwo(
    sealed: Bool = true,
    _ body: (_ phone: Lockstep, _ mac: Lockstep, ServingRelay) async throws -> Void
  ) async throws {
    try await withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await open(folders[1], relay)
      let mac = try await open(folders[2], relay)
      try await phone.createAccount(deviceName: "phone", sealed: sealed)
      try await mac.join(code: try await phone.pairingCode(), deviceName: "mac")
      try await body(phone, mac, relay)
      await phone.close()
      await mac.close()
      try relay.stop()
    }
  }
}

struct Note: SyncedRecord {
  static let zone = "Notes"
  var id = RecordID.random()
  var text = ""
  static let rules = MergeRules(delete: .deleteWins, asks: true)
}

struct Photo: SyncedRecord {
  static let zone = "Photos"
  var id = RecordID.random()
  var title = ""
  var image: FileReference?
}

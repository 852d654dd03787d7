import Foundation
import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import TemporaryFolders

@testable import LockstepCommand

/// A relay's folder with an account in it, and a folder for backups.
struct BackupStage {
  let directory: TemporaryFolder
  let account = AccountID(rawValue: 1)
  var store: String { directory.path("store") }
  var backups: String { directory.path("backups") }

  init() throws { directory = try TemporaryFolder() }

  func open() throws -> SQLiteZoneStore {
    try SQLiteZoneStore(directory: store, opening: .random(in: 1 ... .max))
  }

  /// Creates an account with one record, which names a chunk.
  func fill() throws {
    let zones = try open()
    let description = DeviceDescription(deviceName: "d", platform: "p", appVersion: "1")
    _ = try zones.commit(
      [
        .createAccount(
          account, generation: 1, label: "Ada",
          device: NewDevice(
            id: DeviceID(rawValue: 1), description: description,
            tokenHash: [UInt8](repeating: 1, count: 32)), pairing: nil)
      ], wall: 0)
    try add(Array("piece".utf8), number: 7, to: zones)
    zones.close()
  }

  /// Adds a record with a chunk of a file. `number`: number of the chunk's file.
  func add(_ bytes: [UInt8], number: UInt64, to zones: SQLiteZoneStore) throws {
    guard let hash = ChunkHash(bytes: SHA256.hash(bytes)) else { return }
    let file = ChunkFile(account: account, number: number)
    let files = try FileChunkStore(directory: RelayStore.chunks(in: store))
    _ = try files.perform(.append(file, bytes))
    _ = try files.perform(.finish(file, expecting: hash))
    var mutation = Mutation(
      name: Name(trusted: "r\(number)"), type: Name(trusted: "T"), fields: Array("{}".utf8),
      modifiedAt: 1, baseTag: nil)
    mutation.chunks = [hash]
    let request = SaveRequest(
      id: BatchID(high: 1, low: number), zone: Name(trusted: "Z"), atomic: false,
      mutations: [mutation])
    _ = try zones.commit(
      [
        .addChunk(account, hash, file, bytes: bytes.count),
        .save(
          SaveCommit(
            account: account, device: DeviceID(rawValue: 1), request: request,
            digest: [UInt8](repeating: 7, count: 32))),
      ], wall: 0)
  }

  /// Returns the path of a chunk's file in a store or backup.
  static func chunk(_ number: UInt64) -> String {
    "chunks/0000000000000001/" + HexText.text(number)
  }

  func backUp(
    wall: Int64 = 0, isQuick: Bool = false, goesOn: @escaping () -> Bool = { true }
  ) throws -> (place: String, outcome: StoreBackup.Outcome) {
    let shelf = try BackupFolder(backups, wall: wall)
    do {
      let outcome = try StoreBackup(
        store: store, shelf: shelf, isQuick: isQuick, madeAt: wall, opening: 99,
        progress: Self.silence, interruption: Interruption { !goesOn() }
      ).run()
      return (shelf.place, outcome)
    } catch {
      try shelf.discard()
      throw error
    }
  }

  func restore(
    _ backup: String, isForced: Bool = false, goesOn: @escaping () -> Bool = { true }
  ) throws -> StoreRestore.Outcome {
    try StoreRestore(
      backup: backup, manifest: BackupManifest.read(from: backup), store: store,
      isForced: isForced, wall: 0, opening: 123, progress: Self.silence,
      interruption: Interruption { !goesOn() }
    ).run()
  }

  func inspect(_ folder: String) throws -> StoreInspection {
    try StoreInspector(
      folder: folder, progress: Self.silence, interruption: Interruption { false },
      work: "the check"
    ).run()
  }

  static let silence = Progress(isShown: false) { _ in }
}

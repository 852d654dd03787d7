import Foundation
import LockstepCommandLine
import LockstepCrypto
import LockstepModel
import LockstepRelayService
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import TemporaryFolders

/// A relay's folder with an account in it, and a folder for backups.
package struct BackupStage {
  package let directory: TemporaryFolder
  package let account = AccountID(rawValue: 1)
  package var store: String { directory.path("store") }
  package var backups: String { directory.path("backups") }

  package init() throws { directory = try TemporaryFolder() }

  package func open() throws -> SQLiteZoneStore {
    try SQLiteZoneStore(directory: store, opening: .random(in: 1 ... .max))
  }

  /// Creates an account with one record, which names a chunk.
  package func fill() throws {
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
  package func add(_ bytes: [UInt8], number: UInt64, to zones: SQLiteZoneStore) throws {
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
  package static func chunk(_ number: UInt64) -> String {
    "chunks/0000000000000001/" + HexText.text(number)
  }

  package static let silence = Progress(isShown: false) { _ in }
}

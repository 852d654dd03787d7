import LockstepApps
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Actions of a user for a file that no machine has whole any more: the relay lost it with a
/// restore, and the devices that had it have dropped it since.
extension World {
  /// Time after the last fault by which every chunk that any machine holds has been uploaded.
  private static let uploadSeconds: Int64 = 100
  /// Time after the last fault at which a missing chunk is given up although a device holds it: no
  /// record there names the chunk any more, so the device does not offer it.
  private static let giveUpSeconds: Int64 = 140

  /// Gives up the changes that wait for such a file, every 5 s.
  func giveUpLostFiles(since start: Int64) {
    let waited = environment.timeline.now - start
    guard waited >= Span.seconds(World.uploadSeconds), waited % Span.seconds(5) == 0 else {
      return
    }
    for device in devices where device.isRunning && !device.isSignedOut {
      do throws(StorageError) {
        for entry in try device.store.outbox() where lacksChunks(entry) {
          let isLostEverywhere = try isLostEverywhere(entry, of: device)
          if isLostEverywhere || waited >= Span.seconds(World.giveUpSeconds) {
            device.press(.vault(.remove(file: entry.key.name.text)))
          } else {
            requestChunks(to: device)
          }
        }
      } catch {
        environment.fault("\(device.name): the outbox cannot be read: \(error)")
      }
    }
  }

  /// Syncs all devices of the account, as a user does who sees that a chunk is missing.
  private func requestChunks(to device: DeviceMachine) {
    let account = device.credentials.account
    for other in devices where other.credentials.account == account && other.isRunning {
      other.press(.syncNow)
    }
  }

  private func lacksChunks(_ entry: OutboxEntry) -> Bool {
    guard entry.key.zone == VaultApp.zone, case .parked(let refusal) = entry.state else {
      return false
    }
    return refusal.code == .chunksMissing
  }

  private func isLostEverywhere(
    _ entry: OutboxEntry, of device: DeviceMachine
  ) throws(StorageError) -> Bool {
    let texts = entry.fields.flatMap { FieldsText.value($0)?["chunks"]?.array } ?? []
    for hash in texts.compactMap({ $0.string.flatMap { ChunkHash(text: $0) } }) {
      let account = device.credentials.account
      if try cell(of: account).chunk(hash, of: account) != nil { continue }
      var isHeld = false
      for other in devices where try !other.store.chunks([hash]).isEmpty { isHeld = true }
      if !isHeld { return true }
    }
    return false
  }
}

import LockstepApps
import LockstepModel
import LockstepSimulation
import LockstepStorage
import LockstepTools

/// What a person does about a file that no machine has whole any more: the relay lost it with a
/// restore, and whoever had it has long let go of it.
extension World {
  /// So long after the last fault all that is anywhere has been brought.
  private static let patienceSeconds: Int64 = 100
  /// So long after it, a chunk that lies on a device which does not know that it is wanted, since
  /// no record there names it any more, is not waited for.
  private static let despairSeconds: Int64 = 140

  /// Gives up the changes that wait for such a file, now and again.
  func giveUpLostFiles(since start: Int64) {
    let waited = outside.timeline.now - start
    guard waited >= Span.seconds(World.patienceSeconds), waited % Span.seconds(5) == 0 else {
      return
    }
    for device in devices where device.isRunning && !device.isSignedOut {
      do throws(StorageError) {
        for entry in try device.store.outbox() where lacksChunks(entry) {
          let isNowhere = try isNowhere(entry, of: device)
          if isNowhere || waited >= Span.seconds(World.despairSeconds) {
            device.press(.vault(.remove(file: entry.key.name.text)))
          } else {
            bringChunks(to: device)
          }
        }
      } catch {
        outside.fault("\(device.name): the outbox cannot be read: \(error)")
      }
    }
  }

  /// A person who is told that a chunk is lacking asks all devices to sync.
  private func bringChunks(to device: DeviceMachine) {
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

  private func isNowhere(
    _ entry: OutboxEntry, of device: DeviceMachine
  ) throws(StorageError) -> Bool {
    let texts = entry.fields.flatMap { FieldsText.value($0)?["chunks"]?.array } ?? []
    for hash in texts.compactMap({ $0.string.flatMap { ChunkHash(text: $0) } }) {
      if try relay.chunk(hash, of: device.credentials.account) != nil { continue }
      var isHeld = false
      for other in devices where try !other.store.chunks([hash]).isEmpty { isHeld = true }
      if !isHeld { return true }
    }
    return false
  }
}

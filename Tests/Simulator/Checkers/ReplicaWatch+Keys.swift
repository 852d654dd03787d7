import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage

// Checks of the keys that a device has, and of what it seals with them.
extension ReplicaWatch {
  /// Registers keys that the device has from now on.
  func recordKeys(_ changes: [ReplicaChange]) {
    for case .setValue("seal.keys", let text?) in changes {
      let keys = JSONValue(ifJSON: Array(text.utf8)).flatMap { SealingKeys(stored: $0) }
      guard let keys else { continue }
      ledger.lens.learn(keys, of: account)
      if environment.timeline.now > 0 { environment.tally.note(.keysTaken) }
    }
  }

  /// Returns a batch as it leaves the device. Reports a violation if the device has newer keys of
  /// the account than those that seal it.
  func checkedBatch(_ batch: SaveRequest, of store: WatchedReplicaStore) -> SaveRequest {
    do throws(StorageError) {
      guard let keys = try Replica.keys(in: store), let current = keys.current,
        keys.keys(of: batch.zone) != nil
      else { return batch }
      var batch = batch
      if store.breakage == .keepsFormerKey { sealWithFormerKey(&batch, keys) }
      for mutation in batch.mutations {
        let record = Self.record(mutation, in: batch.zone, by: device)
        if let id = ZoneSeal.keyID(of: record), id != current.id {
          fault("seals with a former key, \(id), and has \(current.id)")
        }
      }
      return batch
    } catch {
      fault("the keys cannot be read: \(error)")
      return batch
    }
  }

  private func sealWithFormerKey(_ batch: inout SaveRequest, _ keys: SealingKeys) {
    guard case .account(let all, _) = keys,
      let former = AccountKeys(
        nameSecret: all.nameSecret, generations: all.generations.dropLast()
      ).map({ ZoneSeal($0.keys(of: batch.zone)) })
    else { return }
    for (index, mutation) in batch.mutations.enumerated() {
      let record = Self.record(mutation, in: batch.zone, by: device)
      guard let opened = ledger.lens.opened(record, of: account) else { continue }
      let sealed = former.sealed(opened.record, version: opened.version, savedBy: device)
      batch.mutations[index].fields = sealed.fields
    }
  }

  /// Returns the record that the relay would have; its tag is any.
  private static func record(
    _ mutation: Mutation, in zone: Name, by device: DeviceID
  ) -> Record {
    Record(
      zone: zone, name: mutation.name, type: mutation.type ?? ZoneSeal.hiddenType,
      fields: mutation.fields, modifiedAt: mutation.modifiedAt, device: device, tag: 1,
      chunks: mutation.chunks)
  }
}

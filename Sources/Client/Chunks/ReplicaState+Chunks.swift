import LockstepModel
import LockstepStorage

/// The chunks of files that local changes name. The app finds them in the fields, so that the
/// outbox needs no list of them.
extension ReplicaState {
  /// Returns the record that an entry makes, with its chunks.
  mutating func record(of entry: OutboxEntry, tag: ChangeTag) throws(StorageError) -> Record {
    var record = entry.record(by: device, tag: tag)
    record.chunks = try chunks(of: entry)
    return record
  }

  /// Returns each chunk once. If no app knows the type, another version of the program made the
  /// edit: the chunks are then those of the held record.
  mutating func chunks(of entry: OutboxEntry) throws(StorageError) -> [ChunkHash] {
    guard let fields = entry.fields else { return [] }
    if let found = merging.chunks(in: fields, of: entry.type, zone: entry.key.zone) {
      return found
    }
    if let held = try ledger.record(entry.key), Merging.equal(held.fields, fields) {
      return held.chunks
    }
    return entry.base?.chunks ?? []
  }
}

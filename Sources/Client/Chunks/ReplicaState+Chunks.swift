import LockstepModel
import LockstepStorage

/// The chunks of files that local changes name. The app finds them in the fields, so that the
/// outbox needs no list of them.
extension ReplicaState {
  /// The record as an entry makes it, with its chunks.
  mutating func record(of entry: OutboxEntry, tag: ChangeTag) throws(StorageError) -> Record {
    var record = entry.record(by: device, tag: tag)
    record.chunks = try chunks(of: entry)
    return record
  }

  /// Each once. A type that no app knows was edited by another version of the program: then what is
  /// held says which chunks it named.
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

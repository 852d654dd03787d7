import LockstepModel
import LockstepStorage

/// Relation of versions after a restore of the relay, where tags no longer show it: devices save
/// again what they hold, and some of them hold older versions than others.
extension ReplicaState {
  /// True if the local change was made on this version, or on a later one: another device that has
  /// not seen the later one has saved it again.
  func isMade(_ entry: OutboxEntry, onAncestor server: Record) throws(StorageError) -> Bool {
    guard server.tag > 0, server.modifiedAt < entry.modifiedAt else { return false }
    return try ledger.ancestors(entry.key).contains(server.fingerprint)
  }

  /// True if the relay's version was made on the version that the entry saves again, or on a later
  /// one. The entry is an unchanged copy of a version that the relay has lost.
  ///
  /// The author of the copy has saved the relay's version. A device's versions of a record follow
  /// one another, so the author knew the copy when it made a later one.
  mutating func isCopy(
    _ entry: OutboxEntry, ofAncestorOf server: Record
  ) throws(StorageError) -> Bool {
    guard server.tag > 0, entry.state == .waiting, let held = try ledger.record(entry.key),
      held.device != device, held.modifiedAt == entry.modifiedAt
    else { return false }
    return server.device == held.device && server.modifiedAt > held.modifiedAt
  }
}

extension Record {
  /// FNV-1a hash of stamp, type and content: enough to recognise a version that another device
  /// saves again, under its own name and another tag.
  var fingerprint: Int64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    for place in 0..<8 { add(UInt8(truncatingIfNeeded: modifiedAt >> (8 * place))) }
    for byte in type.text.utf8 { add(byte) }
    add(isDeleted ? 0 : 1)
    for byte in fields ?? [] { add(byte) }
    return Int64(bitPattern: hash)
  }
}

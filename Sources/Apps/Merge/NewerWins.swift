import LockstepModel

/// Order of two versions by age: the newer one has the greater `(modifiedAt, device)`. Devices are
/// compared by their UTF-8 bytes.
///
/// One device never gives two versions of a record the same timestamp, so this order decides
/// between any two changes by Lockstep devices. If other programs created two equal stamps, the
/// bytes of the content decide: the result must be the same on every device, also with local and
/// server swapped.
package enum NewerWins {
  package static func isNewer(_ version: Version, than other: Version) -> Bool {
    if version.modifiedAt != other.modifiedAt { return version.modifiedAt > other.modifiedAt }
    if version.device.utf8.lexicographicallyPrecedes(other.device.utf8) { return false }
    if other.device.utf8.lexicographicallyPrecedes(version.device.utf8) { return true }
    return content(other).lexicographicallyPrecedes(content(version))
  }

  /// Bytes of the content. A delete has none and sorts below any other version.
  private static func content(_ version: Version) -> [UInt8] {
    version.fields?.serialized() ?? []
  }
}

extension Conflict {
  /// Both sides, ordered by age. A rule that uses only these names is symmetric.
  package var sides: (newer: Version, older: Version) {
    NewerWins.isNewer(local, than: server) ? (local, server) : (server, local)
  }
}

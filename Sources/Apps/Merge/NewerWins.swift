import LockstepModel

/// Which of two versions is newer: the one with the greater `(modifiedAt, device)`, devices
/// compared by the bytes of their UTF-8.
///
/// One device never stamps one record twice alike, so this decides between any two changes that
/// Lockstep's own devices make. Where others did stamp two alike, the bytes of the content decide:
/// the answer must be the same on every device, with local and server exchanged too.
package enum NewerWins {
  package static func isNewer(_ version: Version, than other: Version) -> Bool {
    if version.modifiedAt != other.modifiedAt { return version.modifiedAt > other.modifiedAt }
    if version.device.utf8.lexicographicallyPrecedes(other.device.utf8) { return false }
    if other.device.utf8.lexicographicallyPrecedes(version.device.utf8) { return true }
    return content(other).lexicographicallyPrecedes(content(version))
  }

  /// A delete has no content and stands below any other.
  private static func content(_ version: Version) -> [UInt8] {
    version.fields?.serialized() ?? []
  }
}

extension Conflict {
  /// The two sides by age. A rule that is written in these words alone is symmetric.
  package var sides: (newer: Version, older: Version) {
    NewerWins.isNewer(local, than: server) ? (local, server) : (server, local)
  }
}

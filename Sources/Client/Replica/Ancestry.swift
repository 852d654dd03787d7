import LockstepModel
import LockstepStorage

/// Relation of versions after a restore of the relay, where tags no longer show it: devices save
/// again what they hold, and some of them hold older versions than others.
extension ReplicaState {
  /// True if the local change was made on this version, or on a later one: another device that has
  /// not seen the later one has saved it again.
  func isMade(_ entry: OutboxEntry, onAncestor server: Record) throws(StorageError) -> Bool {
    guard server.tag > 0, server.modifiedAt <= entry.modifiedAt, !asksAboutOther(entry) else {
      return false
    }
    let known = VersionFingerprint(of: server)
    guard known != fingerprint(of: entry) else { return false }
    return try ledger.ancestors(entry.key).contains(known)
  }

  /// True if the relay's version was made on the entry's own version, which the relay has lost: the
  /// entry saves it again.
  func isIncluded(_ entry: OutboxEntry, in server: Record) -> Bool {
    server.tag > 0 && entry.state == .waiting
      && server.includes.contains(fingerprint(of: entry))
  }

  /// True if the user is asked about a version that the relay still has.
  func asksAboutOther(_ entry: OutboxEntry) -> Bool {
    guard case .asking(let asked) = entry.state else { return false }
    return asked.tag > 0 && restore?.hasLost(asked.tag) != true
  }

  /// Returns the lost versions that the entry includes, for the relay; empty unless the relay has
  /// lost some.
  func includes(_ entry: OutboxEntry) throws(StorageError) -> [VersionFingerprint] {
    guard restore != nil else { return [] }
    return (try ledger.ancestors(entry.key) + [fingerprint(of: entry)]).suffix(Limits.includes)
  }

  private func fingerprint(of entry: OutboxEntry) -> VersionFingerprint {
    VersionFingerprint(of: entry.record(by: device, tag: 0))
  }
}

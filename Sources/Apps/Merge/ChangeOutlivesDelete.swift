import LockstepModel

/// "A change outlives a delete": if one version is deleted, the live one is kept whole, whatever
/// the base is and whichever version is newer. Losing written content is worse than restoring
/// removed content.
package enum ChangeOutlivesDelete {
  /// Returns nil if both versions are live; then the record type's own rule decides.
  package static func resolution(of conflict: Conflict) -> Resolution? {
    if conflict.local.isDeleted { return .merged(fields: conflict.server.fields, copies: []) }
    if conflict.server.isDeleted { return .merged(fields: conflict.local.fields, copies: []) }
    return nil
  }
}

import LockstepModel

/// "A change outlives a delete": a live version against a deleted one stands as it is, whole,
/// whatever the base says and whichever is newer. To lose what a person wrote is worse than to
/// bring back what a person removed.
package enum ChangeOutlivesDelete {
  /// nil where both versions live, and the record type's own rule has the word.
  package static func resolution(of conflict: Conflict) -> Resolution? {
    if conflict.local.isDeleted { return .merged(fields: conflict.server.fields, copies: []) }
    if conflict.server.isDeleted { return .merged(fields: conflict.local.fields, copies: []) }
    return nil
  }
}

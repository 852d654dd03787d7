import LockstepModel

/// Keeps the newer version of an item. If both have the same timestamp, a delete wins: the removed
/// text may be a password.
package struct ClipboardItemResolver: Resolver {
  package let countsFromNewestStamp = true

  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    let isTie = conflict.local.modifiedAt == conflict.server.modifiedAt
    if isTie, conflict.local.isDeleted || conflict.server.isDeleted {
      return .merged(fields: nil, copies: [])
    }
    return .merged(fields: conflict.sides.newer.fields, copies: [])
  }
}

import LockstepModel

/// An item is the newer of its versions. At one instant a delete wins: what a person wanted gone
/// may be a password.
package struct ClipboardItemResolver: Resolver {
  package let takesNewestStamp = true

  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    let isTie = conflict.local.modifiedAt == conflict.server.modifiedAt
    if isTie, conflict.local.isDeleted || conflict.server.isDeleted {
      return .merged(fields: nil, copies: [])
    }
    return .merged(fields: conflict.sides.newer.fields, copies: [])
  }
}

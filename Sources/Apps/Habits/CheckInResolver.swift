import LockstepModel

/// One day of a habit. Each device counts what was done on it, and what was taken back, for itself
/// alone, so that nothing is counted twice and nothing is lost in whatever order the counts meet.
package struct CheckInResolver: Resolver {
  /// "Done" or "not done" stands as it was said last, also where somebody had said so before.
  package let takesNewestStamp = true

  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    if let standing = ChangeOutlivesDelete.resolution(of: conflict) { return standing }
    let (newer, older) = conflict.sides
    var fields = newer.fields ?? [:]
    for name in ["counts", "undone"] {
      guard let counts = Greater.numbers(newer.fields?[name], older.fields?[name]) else { continue }
      fields = fields.setting(name, to: counts)
    }
    return .merged(fields: fields, copies: [])
  }
}

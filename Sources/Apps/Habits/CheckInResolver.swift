import LockstepModel

/// Resolver for one day of a habit. Each device counts only what was done and undone on itself, so
/// nothing is counted twice and nothing is lost, whatever the merge order.
package struct CheckInResolver: Resolver {
  /// True, because the latest "done" or "not done" wins, also if it repeats an earlier value.
  package let countsFromNewestStamp = true

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

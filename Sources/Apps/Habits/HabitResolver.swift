import LockstepModel

/// A habit's text is a personal decision, so a conflict is never resolved automatically: the person
/// chooses a version.
package struct HabitResolver: Resolver {
  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    conflict.local.fields == conflict.server.fields
      ? .merged(fields: conflict.sides.newer.fields, copies: []) : .ask
  }
}

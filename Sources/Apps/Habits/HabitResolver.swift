import LockstepModel

/// A habit is a person's own words about how to live: nothing is overwritten, and nothing chosen,
/// but by the person.
package struct HabitResolver: Resolver {
  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    conflict.local.fields == conflict.server.fields
      ? .merged(fields: conflict.sides.newer.fields, copies: []) : .ask
  }
}

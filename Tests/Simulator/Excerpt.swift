/// Part of a seed's plan to play: all of it, or less, to find what a failure needs. Everything else
/// follows from the seed as before.
package struct Excerpt: Hashable, Sendable {
  /// Indices of the faults in the plan; nil: all.
  package var faults: [Int]?
  /// Indices of the user actions, counted through all users in order; nil: all.
  package var acts: [Int]?

  package init(faults: [Int]? = nil, acts: [Int]? = nil) {
    self.faults = faults
    self.acts = acts
  }

  func people(of people: [People]) -> [People] {
    guard let acts else { return people }
    let wanted = Set(acts)
    var place = 0
    return people.map { person in
      People(
        acts: person.acts.filter { _ in
          place += 1
          return wanted.contains(place - 1)
        })
    }
  }
}

/// What of a seed's plan is played: all of it, or less, to find what a failure needs. All else
/// follows from the seed as ever.
package struct Excerpt: Hashable, Sendable {
  /// Faults by their place in the plan; nil: all.
  package var faults: [Int]?
  /// Acts by their place, counted through one person after the other; nil: all.
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

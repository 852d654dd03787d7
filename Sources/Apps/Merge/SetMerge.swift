/// Three-way merge of lists. Elements are compared by an identity.
package enum SetMerge {
  /// Keeps the elements that both sides have, and those that one side has and the base lacks. The
  /// newer side's elements come first, each side in its own order, each identity once. If both
  /// sides have an element, the newer version of it is kept.
  package static func merge<Element, Identity: Hashable>(
    base: [Element], newer: [Element], older: [Element], identity: (Element) -> Identity
  ) -> [Element] {
    let inBase = Set(base.map(identity))
    let inNewer = Set(newer.map(identity))
    let inOlder = Set(older.map(identity))
    return union(newer: newer, older: older, identity: identity).filter { element in
      let name = identity(element)
      return (inNewer.contains(name) && inOlder.contains(name)) || !inBase.contains(name)
    }
  }

  /// Returns all elements of both sides, the newer side's first, each identity once.
  package static func union<Element, Identity: Hashable>(
    newer: [Element], older: [Element], identity: (Element) -> Identity
  ) -> [Element] {
    var seen: Set<Identity> = []
    return (newer + older).filter { seen.insert(identity($0)).inserted }
  }
}

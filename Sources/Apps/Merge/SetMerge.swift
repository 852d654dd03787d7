/// A three-way merge of lists whose elements are told apart by an identity.
package enum SetMerge {
  /// What both sides have, and what one side has and the base lacks: the newer's elements first,
  /// each side in its own order, each identity once. Of an element that both have, the newer's
  /// spelling stays.
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

  /// All of both sides, the newer's first, each identity once.
  package static func union<Element, Identity: Hashable>(
    newer: [Element], older: [Element], identity: (Element) -> Identity
  ) -> [Element] {
    var seen: Set<Identity> = []
    return (newer + older).filter { seen.insert(identity($0)).inserted }
  }
}

/// Finds a smaller input that still fails, by delta debugging (Zeller and Hildebrandt 2002): leaves
/// out halves, then quarters, and at last single elements. The number of tries is limited.
package struct Shrinker {
  package private(set) var triesLeft: Int

  package init(tries: Int) { triesLeft = tries }

  /// Returns the elements of `items`, in their order, that are left when no more can be left out or
  /// the tries are used up. Calls `stillFails` only with lists that are shorter than `items`.
  package mutating func shrink<Element, Failure: Error>(
    _ items: [Element], _ stillFails: ([Element]) throws(Failure) -> Bool
  ) throws(Failure) -> [Element] {
    if items.isEmpty { return [] }
    if try asks([], stillFails) { return [] }
    var left = items
    var parts = 2
    while left.count > 1, triesLeft > 0 {
      parts = min(parts, left.count)
      if let less = try without(onePartOf: parts, left, stillFails) {
        left = less
        parts = max(2, parts - 1)
      } else if parts == left.count {
        break
      } else {
        parts *= 2
      }
    }
    return left
  }

  /// Returns the list without the first part that the failure does not need; nil if it needs all.
  private mutating func without<Element, Failure: Error>(
    onePartOf parts: Int, _ items: [Element], _ stillFails: ([Element]) throws(Failure) -> Bool
  ) throws(Failure) -> [Element]? {
    for part in 0..<parts {
      let gone = part * items.count / parts..<(part + 1) * items.count / parts
      let less = Array(items[..<gone.lowerBound] + items[gone.upperBound...])
      if try asks(less, stillFails) { return less }
    }
    return nil
  }

  private mutating func asks<Element, Failure: Error>(
    _ items: [Element], _ stillFails: ([Element]) throws(Failure) -> Bool
  ) throws(Failure) -> Bool {
    guard triesLeft > 0 else { return false }
    triesLeft -= 1
    return try stillFails(items)
  }
}

/// Who came first goes first. Both ends cost the same however long it is, and it holds no more
/// memory than twice what has ever waited at once.
public struct FIFOQueue<Element> {
  /// Those that were taken are nil.
  @usableFromInline var places: [Element?] = []
  @usableFromInline var head = 0

  /// Taken places that are worth being given back.
  @inlinable static var slack: Int { 32 }

  @inlinable public init() {}

  @inlinable public var isEmpty: Bool { head == places.count }
  @inlinable public var count: Int { places.count - head }
  @inlinable public var first: Element? { isEmpty ? nil : places[head] }

  @inlinable public mutating func append(_ element: Element) { places.append(element) }

  @inlinable public mutating func popFirst() -> Element? {
    guard head < places.count else { return nil }
    let element = places[head].take()
    head += 1
    if head == places.count {
      places.removeAll(keepingCapacity: true)
      head = 0
    } else if head > Self.slack, head * 2 > places.count {
      places.removeSubrange(..<head)
      head = 0
    }
    return element
  }
}

extension FIFOQueue: Sendable where Element: Sendable {}

/// FIFO queue, amortised O(1) at both ends. Its memory is at most twice that of the largest number
/// of elements that waited at once.
public struct FIFOQueue<Element> {
  /// Removed elements are nil.
  @usableFromInline var places: [Element?] = []
  @usableFromInline var head = 0

  /// Number of removed slots from which they are released.
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

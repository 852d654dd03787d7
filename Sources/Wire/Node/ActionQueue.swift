/// What a node wants done, first in, first out. Every node holds one behind `nextAction`.
public struct ActionQueue<Action: Sendable>: Sendable {
  /// Taken ones are nil; their places are used again once all have been taken.
  @usableFromInline var actions: [Action?] = []
  @usableFromInline var head = 0
  @usableFromInline var end = 0

  @inlinable public init() {}

  @inlinable public var isEmpty: Bool { head == end }

  @inlinable public mutating func append(_ action: consuming Action) {
    if end == actions.count {
      actions.append(action)
    } else {
      actions[end] = action
    }
    end += 1
  }

  @inlinable public mutating func popFirst() -> Action? {
    guard head < end else { return nil }
    let action = actions[head].take()
    head += 1
    if head == end {
      head = 0
      end = 0
    }
    return action
  }
}

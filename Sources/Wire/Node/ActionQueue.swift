/// FIFO queue of the actions of a node. Every node has one behind `nextAction`.
public struct ActionQueue<Action: Sendable>: Sendable {
  /// Removed actions are nil; their slots are reused once the queue is empty.
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

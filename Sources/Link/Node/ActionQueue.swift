/// What a node wants done, first in, first out. Every node holds one behind `nextAction`.
public struct ActionQueue<Action: Sendable>: Sendable {
  @usableFromInline var actions: [Action?] = []
  @usableFromInline var head = 0

  @inlinable public init() {}

  @inlinable public var isEmpty: Bool { head == actions.count }

  @inlinable public mutating func append(_ action: Action) { actions.append(action) }

  @inlinable public mutating func popFirst() -> Action? {
    guard head < actions.count else { return nil }
    let action = actions[head].take()
    head += 1
    if head == actions.count {
      actions.removeAll(keepingCapacity: true)
      head = 0
    }
    return action
  }
}

/// Event queue in order of time; at one instant in order of scheduling. The only clock of a
/// simulation: it jumps from one event to the next, so that hours pass in milliseconds.
package final class Timeline {
  /// Nanoseconds since the simulation started.
  package private(set) var now: Int64 = 0
  package private(set) var steps = 0
  private var heap: [Event] = []
  private var nextOrder = 0

  private struct Event {
    var time: Int64
    var order: Int
    var action: () -> Void

    func precedes(_ other: Event) -> Bool {
      time == other.time ? order < other.order : time < other.time
    }
  }

  package init() {}

  package var isEmpty: Bool { heap.isEmpty }

  /// Time of the next event; nil if there is none.
  package var nextTime: Int64? { heap.first?.time }

  /// Runs `action` `nanoseconds` from now; a time in the past counts as now.
  package func after(_ nanoseconds: Int64, _ action: @escaping () -> Void) {
    at(now + nanoseconds, action)
  }

  package func at(_ time: Int64, _ action: @escaping () -> Void) {
    heap.append(Event(time: max(time, now), order: nextOrder, action: action))
    nextOrder += 1
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].precedes(heap[parent]) else { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Runs the next event if it is due by `limit`; otherwise advances the time to `limit` and
  /// returns false.
  package func step(until limit: Int64) -> Bool {
    guard let first = heap.first, first.time <= limit else {
      now = max(now, limit)
      return false
    }
    removeFirst()
    now = first.time
    steps += 1
    first.action()
    return true
  }

  private func removeFirst() {
    let last = heap.removeLast()
    guard !heap.isEmpty else { return }
    sink(last, in: &heap)
  }

  /// Replaces the first event and restores the heap order.
  private func sink(_ event: Event, in heap: inout [Event]) {
    var place = 0
    while true {
      var child = 2 * place + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
      guard heap[child].precedes(event) else { break }
      heap[place] = heap[child]
      place = child
    }
    heap[place] = event
  }
}

/// Durations in virtual time, in nanoseconds.
package enum Span {
  package static func microseconds(_ count: Int64) -> Int64 { count * 1_000 }
  package static func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }
  package static func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }
}

import LockstepJSON
import LockstepModel

/// History of the acts on one account's timer and of the acts that each device showed when a new
/// one was made. The required final state follows from it and from the text of rules.md; the
/// resolver is not used.
struct TimerHistory {
  private var facts: Set<TimerFact> = []
  /// Acts in the order in which they were first seen.
  private var order: [TimerFact] = []
  private var superseded: Set<TimerFact> = []
  /// Acts next to one whose countdown ended, after which they are no longer candidates. A device
  /// that does not know of that end may still hold them and send them with its next edit.
  private var released: Set<TimerFact> = []
  private(set) var completedPomodoros: Int64 = 0

  /// Records an edit on a device: a press changed its screen from `before` to `after`.
  mutating func recordEdit(from before: [UInt8]?, to after: [UInt8]?) {
    guard let made = parseFacts(after) else { return }
    for fact in made.edits where facts.insert(fact).inserted { order.append(fact) }
    for fact in TimerHistory.edits(before) where !made.edits.contains(fact) {
      superseded.insert(fact)
    }
  }

  /// Records that a countdown ended on a device, without any action.
  mutating func recordExpiry(from before: [UInt8]?, to after: [UInt8]?) {
    guard let made = parseFacts(after), let first = made.edits.first else { return }
    for fact in TimerHistory.edits(before) where !made.edits.contains(fact) {
      if first.outlasts(fact) { released.insert(fact) }
    }
  }

  private mutating func parseFacts(_ fields: [UInt8]?) -> TimerFacts? {
    guard let facts = fields.flatMap(TimerFacts.init(fields:)) else { return nil }
    completedPomodoros = max(completedPomodoros, facts.completedPomodoros)
    return facts
  }

  private static func edits(_ fields: [UInt8]?) -> [TimerFact] {
    fields.flatMap(TimerFacts.init(fields:))?.edits ?? []
  }

  /// Records that a device's screen changed from `before` to `after`, not because of its own press.
  /// An unknown act was made before its device knew relay time, and now has a corrected timestamp.
  mutating func recordCorrection(from before: [UInt8]?, to after: [UInt8]?) {
    let seen = TimerHistory.edits(before)
    for fact in TimerHistory.edits(after) where !facts.contains(fact) {
      guard
        let old = seen.first(where: {
          $0.moved(by: fact.act.timestamp - $0.act.timestamp) == fact
        }), let index = order.firstIndex(of: old)
      else { continue }
      order[index] = fact
      facts.remove(old)
      facts.insert(fact)
      if superseded.remove(old) != nil { superseded.insert(fact) }
      if released.remove(old) != nil { released.insert(fact) }
    }
  }

  /// Returns the edits that a device that shows `shown` must show, the shown edit first.
  func expectedEdits(showing shown: [TimerFact] = []) -> [TimerFact] {
    let candidates = order.filter {
      !superseded.contains($0) && (!released.contains($0) || shown.contains($0))
    }
    return TimerFact.candidates(candidates, shown: shown)
  }
}

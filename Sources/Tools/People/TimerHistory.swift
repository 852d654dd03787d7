import LockstepModel

/// Who had seen what when each act upon one account's timer was done, as its devices' screens tell
/// it. From that, and from rules.md's words alone, follows what the timer must show in the end: no
/// resolver is asked.
struct TimerHistory {
  private var facts: Set<TimerFact> = []
  /// In the order in which they were first seen.
  private var order: [TimerFact] = []
  private var superseded: Set<TimerFact> = []
  /// Acts that stood beside one whose countdown ended, after which nobody waits for them. A device
  /// that has not heard of that end may hold them yet, and bring them with what it does.
  private var released: Set<TimerFact> = []
  private(set) var completedPomodoros: Int64 = 0

  /// A device made an edit: its screen went from `before` to `after` by a press.
  mutating func made(from before: [UInt8]?, to after: [UInt8]?) {
    guard let made = count(after) else { return }
    for fact in made.edits where facts.insert(fact).inserted { order.append(fact) }
    for fact in TimerHistory.edits(before) where !made.edits.contains(fact) {
      superseded.insert(fact)
    }
  }

  /// A countdown ended on a device: nobody did anything.
  mutating func ended(from before: [UInt8]?, to after: [UInt8]?) {
    guard let made = count(after), let first = made.edits.first else { return }
    for fact in TimerHistory.edits(before) where !made.edits.contains(fact) {
      if first.outlasts(fact) { released.insert(fact) }
    }
  }

  private mutating func count(_ fields: [UInt8]?) -> TimerFacts? {
    guard let facts = fields.flatMap(TimerFacts.init(fields:)) else { return nil }
    completedPomodoros = max(completedPomodoros, facts.completedPomodoros)
    return facts
  }

  private static func edits(_ fields: [UInt8]?) -> [TimerFact] {
    fields.flatMap(TimerFacts.init(fields:))?.edits ?? []
  }

  /// A device's screen went from `before` to `after` by no press of its own. An act that is known
  /// to nobody then was made before its device knew the relay's time, and has been stamped anew.
  mutating func corrected(from before: [UInt8]?, to after: [UInt8]?) {
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

  /// What a device that shows `shown` must show, the shown edit first.
  func demanded(showing shown: [TimerFact] = []) -> [TimerFact] {
    let standing = order.filter {
      !superseded.contains($0) && (!released.contains($0) || shown.contains($0))
    }
    return TimerFact.standing(standing, shown: shown)
  }
}

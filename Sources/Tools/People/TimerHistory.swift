import Changes

/// Who had seen what when each edit of one account's timer was made, as its devices' screens tell
/// it. From that, and from rules.md's words alone, follows what the timer must show in the end: no
/// resolver is asked.
struct TimerHistory {
  private var facts: Set<TimerFact> = []
  /// In the order in which they were first seen.
  private var order: [TimerFact] = []
  private var superseded: Set<TimerFact> = []
  private(set) var completedPomodoros: Int64 = 0
  /// A countdown ended beside an edit that is newer than its end, and replaced it. Whether the two
  /// were concurrent then depends on who met first: all devices agree, but on what, no history
  /// tells.
  private(set) var isOrderDependent = false

  /// A device made an edit: its screen went from `before` to `after` by its own doing.
  mutating func made(from before: [UInt8]?, to after: [UInt8]?) {
    let seen = before.flatMap(TimerFacts.init(fields:))?.edits ?? []
    guard let after, let made = TimerFacts(fields: after) else { return }
    completedPomodoros = max(completedPomodoros, made.completedPomodoros)
    for fact in made.edits where facts.insert(fact).inserted { order.append(fact) }
    let newest = made.edits.map(\.timestamp).max() ?? 0
    for fact in seen where !made.edits.contains(fact) {
      superseded.insert(fact)
      if fact.timestamp > newest { isOrderDependent = true }
    }
  }

  /// A device's screen went from `before` to `after` by no press of its own. An edit that is known
  /// to nobody then was made before its device knew the relay's time, and has been stamped anew.
  mutating func corrected(from before: [UInt8]?, to after: [UInt8]?) {
    let seen = before.flatMap(TimerFacts.init(fields:))?.edits ?? []
    for fact in after.flatMap(TimerFacts.init(fields:))?.edits ?? [] where !facts.contains(fact) {
      guard let old = seen.first(where: { $0.stamped(fact.timestamp) == fact }),
        let index = order.firstIndex(of: old)
      else { continue }
      order[index] = fact
      facts.remove(old)
      facts.insert(fact)
      if superseded.remove(old) != nil { superseded.insert(fact) }
    }
  }

  /// What every device must show, the shown edit first.
  var demanded: [TimerFact] {
    TimerFact.standing(order.filter { !superseded.contains($0) })
  }
}

import LockstepApps
import LockstepClient
import LockstepModel

/// The timer's buttons. At the end the timer must show the result of all acts that were not
/// replaced by a person who saw them. An edit made by time on an offline device does not undo an
/// act.
struct TimerPlay: AppPlay {
  private var history = TimerHistory()

  mutating func press(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    .edit(order, .timer(TimerPlay.event(&random), settings: nil))
  }

  private static func event(_ random: inout SeededRandom) -> TimerEvent {
    // Short phases end during the simulation, long ones do not.
    let length: Int64 = Int.random(in: 0..<3, using: &random) == 0 ? 6_000 : 1_500_000
    return switch Int.random(in: 0..<10, using: &random) {
    case 0...3: .start(length: length)
    case 4: .pause
    case 5: .resume
    case 6...7: .stop
    case 8: .skip
    default: .snooze(length: 6_000)
    }
  }

  mutating func edited(from before: Record?, to record: Record) {
    guard record.key == TimerApp.stateKey else { return }
    history.made(from: before?.fields, to: record.fields)
  }

  /// Changes from other devices add nothing to the history, except corrected timestamps and the
  /// effects of ended countdowns.
  mutating func changed(from before: Record?, to record: Record) {
    guard record.key == TimerApp.stateKey else { return }
    history.corrected(from: before?.fields, to: record.fields)
    let after = TimerApp.state(of: record)
    var state = TimerApp.state(of: before)
    while let next = state.afterZero() {
      state = next
      guard state.edits == after.edits else { continue }
      history.ended(from: before?.fields, to: record.fields)
      return
    }
  }

  func faults(in shown: ShownRecords) -> [String] {
    let facts = shown[TimerApp.stateKey]?.fields.flatMap(TimerFacts.init(fields:))
    let demanded = TimerFacts(
      edits: history.demanded(showing: facts?.edits ?? []),
      completedPomodoros: history.completedPomodoros)
    guard facts != demanded, facts != nil || !demanded.edits.isEmpty else { return [] }
    return ["shows \(facts?.description ?? "nothing") and should show \(demanded)"]
  }
}

import LockstepClient
import LockstepModel

/// How simulated people use one app in one account, and what must come of all that they did, as the
/// app's rule says it in words: no resolver is asked.
protocol AppPlay {
  /// What somebody does next on a device that shows these records; nil: nothing just now.
  mutating func press(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder?
  /// What was ordered is done.
  mutating func done(_ order: OrderID)
  /// It was refused, and nothing was done.
  mutating func dropped(_ order: OrderID)
  /// A press on a device changed a record that it showed.
  mutating func edited(from before: Record?, to record: Record)
  /// A device shows another version of a record, by no press of its own.
  mutating func changed(from before: Record?, to record: Record)
  /// What is wrong with what all devices show in the end, a sentence each.
  func faults(in shown: ShownRecords) -> [String]
}

extension AppPlay {
  mutating func done(_ order: OrderID) {}
  mutating func dropped(_ order: OrderID) {}
  mutating func edited(from before: Record?, to record: Record) {}
  mutating func changed(from before: Record?, to record: Record) {}
}

/// The plays of the apps.
enum AppPlays {
  static func play(of app: KnownApp) -> any AppPlay {
    switch app {
    case .timer: TimerPlay()
    case .vault: VaultPlay()
    case .clipboard: ClipboardPlay()
    case .memo: MemoPlay()
    case .habits: HabitPlay()
    }
  }
}

/// What was ordered and is not yet known to be done.
struct PendingPresses<Press> {
  private var presses: [OrderID: Press] = [:]

  mutating func add(_ order: OrderID, _ press: Press) { presses[order] = press }

  mutating func take(_ order: OrderID) -> Press? { presses.removeValue(forKey: order) }
}

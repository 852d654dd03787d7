import Apps
import Changes
import Devices

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

/// The plays, by the names of their apps.
enum AppPlays {
  static func play(of app: any App) -> any AppPlay {
    switch app.zone {
    case ClipboardApp.zone: ClipboardPlay()
    case MemosApp.zone: MemoPlay()
    case HabitsApp.zone: HabitPlay()
    case VaultApp.zone: VaultPlay()
    default: TimerPlay()
    }
  }
}

/// What was ordered and is not yet known to be done.
struct PendingPresses<Press> {
  private var presses: [(order: OrderID, press: Press)] = []

  mutating func add(_ order: OrderID, _ press: Press) { presses.append((order, press)) }

  mutating func take(_ order: OrderID) -> Press? {
    guard let index = presses.firstIndex(where: { $0.order == order }) else { return nil }
    return presses.remove(at: index).press
  }
}

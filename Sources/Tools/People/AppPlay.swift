import LockstepClient
import LockstepModel

/// Model of people who use one app in one account, and of the required result. It follows the app's
/// rule as documented and does not use the resolver.
protocol AppPlay {
  /// Returns the next order on a device that shows these records; nil: none at this time.
  mutating func press(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder?
  /// Records that the order was applied.
  mutating func done(_ order: OrderID)
  /// Records that the order was refused and changed nothing.
  mutating func dropped(_ order: OrderID)
  /// Records that an order on a device changed a record that it showed.
  mutating func edited(from before: Record?, to record: Record)
  /// Records that a device shows another version of a record, not because of its own order.
  mutating func changed(from before: Record?, to record: Record)
  /// Returns the faults in the records that all devices show at the end, one sentence each.
  func faults(in shown: ShownRecords) -> [String]
}

extension AppPlay {
  mutating func done(_ order: OrderID) {}
  mutating func dropped(_ order: OrderID) {}
  mutating func edited(from before: Record?, to record: Record) {}
  mutating func changed(from before: Record?, to record: Record) {}
}

/// Models of the apps.
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

/// Orders whose outcome is not yet known.
struct PendingPresses<Press> {
  private var presses: [OrderID: Press] = [:]

  mutating func add(_ order: OrderID, _ press: Press) { presses[order] = press }

  mutating func take(_ order: OrderID) -> Press? { presses.removeValue(forKey: order) }
}

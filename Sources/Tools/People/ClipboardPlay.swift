import LockstepApps
import LockstepClient
import LockstepModel

/// Items are copied, and some are removed. At the end exactly the items that were copied and not
/// removed must exist.
struct ClipboardPlay: AppPlay {
  private enum Press {
    case added(Name)
    case removed(Name)
  }

  private var pending = PendingPresses<Press>()
  private var names: [Name] = []
  private var removed: [Name] = []
  private var copies = 0

  /// With more than a hundred items the oldest are removed; in this test none may be missing.
  private static let copiesMax = 90

  mutating func press(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let items = shown.records(of: ClipboardApp.itemType)
    let isFull = copies == ClipboardPlay.copiesMax
    if isFull || Int.random(in: 0..<4, using: &random) == 0 {
      guard let item = items.randomElement(using: &random) else { return nil }
      pending.add(order, .removed(item.name))
      return .perform(
        order, app: ClipboardApp().name, ["do": "remove", "item": .string(item.name.text)])
    }
    copies += 1
    let name = Name(trusted: "copy \(copies)")
    pending.add(order, .added(name))
    return .perform(
      order, app: ClipboardApp().name,
      ["do": "add", "name": .string(name.text), "content": .string("text \(copies)")])
  }

  mutating func done(_ order: OrderID) {
    switch pending.take(order) {
    case .added(let name): names.append(name)
    case .removed(let name): removed.append(name)
    case nil: break
    }
  }

  mutating func dropped(_ order: OrderID) { _ = pending.take(order) }

  func faults(in shown: ShownRecords) -> [String] {
    let standing = names.filter { !removed.contains($0) }.sorted()
    let items = shown.records(of: ClipboardApp.itemType).map(\.name)
    guard items != standing else { return [] }
    let lost = standing.filter { !items.contains($0) }.map(\.text)
    let extra = items.filter { !standing.contains($0) }.map(\.text)
    return ["the clipboard lacks \(lost) and has \(extra) that should be gone"]
  }
}

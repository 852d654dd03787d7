import LockstepApps
import LockstepClient
import LockstepJSON
import LockstepModel

/// Model of people who use one app in one account, and of the required result. It follows the app's
/// rule as documented and does not use the resolver.
protocol AppPlay {
  /// Returns the next order on a device that shows these records; nil: none at this time.
  mutating func nextOrder(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder?
  /// Records that the order was applied.
  mutating func recordApplied(_ order: OrderID)
  /// Records that the order was refused and changed nothing.
  mutating func recordRefused(_ order: OrderID)
  /// Records that an order on a device changed a record that it showed.
  mutating func recordEdit(from before: Record?, to record: Record)
  /// Records that a device shows another version of a record, not because of its own order.
  mutating func recordChange(from before: Record?, to record: Record)
  /// Returns the faults in the records that all devices show at the end, one sentence each.
  func faults(in shown: ShownRecords) -> [String]
}

extension AppPlay {
  package mutating func recordApplied(_ order: OrderID) {}
  package mutating func recordRefused(_ order: OrderID) {}
  package mutating func recordEdit(from before: Record?, to record: Record) {}
  package mutating func recordChange(from before: Record?, to record: Record) {}
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
struct PendingOrders<Detail> {
  private var details: [OrderID: Detail] = [:]

  mutating func add(_ order: OrderID, _ detail: Detail) { details[order] = detail }

  /// Returns the details of the order and removes it; nil if it is not pending.
  mutating func remove(_ order: OrderID) -> Detail? { details.removeValue(forKey: order) }
}

/// Items are copied, and some are removed. At the end exactly the items that were copied and not
/// removed must exist.
struct ClipboardPlay: AppPlay {
  private enum Edit {
    case added(Name)
    case removed(Name)
  }

  private var pending = PendingOrders<Edit>()
  private var names: [Name] = []
  private var removed: [Name] = []
  private var copies = 0

  /// With more than a hundred items the oldest are removed; in this test none may be missing.
  private static let copiesMax = 90

  mutating func nextOrder(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let items = shown.records(of: ClipboardApp.itemType)
    let isFull = copies == ClipboardPlay.copiesMax
    if isFull || Int.random(in: 0..<4, using: &random) == 0 {
      guard let item = items.randomElement(using: &random) else { return nil }
      pending.add(order, .removed(item.name))
      return .perform(
        order, app: ClipboardApp().name, ClipboardAction.remove(item: item.name.text).json)
    }
    copies += 1
    let name = Name(trusted: "copy \(copies)")
    pending.add(order, .added(name))
    return .perform(
      order, app: ClipboardApp().name,
      ClipboardAction.add(content: "text \(copies)", name: name).json)
  }

  mutating func recordApplied(_ order: OrderID) {
    switch pending.remove(order) {
    case .added(let name): names.append(name)
    case .removed(let name): removed.append(name)
    case nil: break
    }
  }

  mutating func recordRefused(_ order: OrderID) { _ = pending.remove(order) }

  func faults(in shown: ShownRecords) -> [String] {
    let expected = names.filter { !removed.contains($0) }.sorted()
    let items = shown.records(of: ClipboardApp.itemType).map(\.name)
    guard items != expected else { return [] }
    let lost = expected.filter { !items.contains($0) }.map(\.text)
    let extra = items.filter { !expected.contains($0) }.map(\.text)
    return ["the clipboard lacks \(lost) and has \(extra), which should have been removed"]
  }
}

/// Habits are created, renamed, removed and counted. At the end the counts of all devices must add
/// up. Conflicts without an automatic rule have been resolved by people.
struct HabitPlay: AppPlay {
  private struct Counted {
    /// Name of the day's record.
    var day: Name
    var amount: Int64
  }

  private var pending = PendingOrders<Counted>()
  private var totals: [(day: Name, total: Int64)] = []
  private var count = 0
  private static let days = ["2026-03-01", "2026-03-02"]

  mutating func nextOrder(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let habits = shown.records(of: HabitsApp.habitType)
    count += 1
    let draw = Int.random(in: 0..<20, using: &random)
    guard habits.count >= 2, draw > 0, let habit = habits.randomElement(using: &random) else {
      let name = Name(trusted: "habit \(count)")
      return perform(order, .add(name: name, title: name.text, kind: .count, target: 5))
    }
    let name = habit.name.text
    switch draw {
    case 1: return perform(order, .remove(habit: name))
    case 2...4: return perform(order, .edit(habit: name, title: "another title \(count)"))
    default:
      let date = HabitPlay.days[Int.random(in: 0..<HabitPlay.days.count, using: &random)]
      guard let day = HabitDay(date) else { return nil }
      let amount: Int64 = draw == 5 ? -1 : Int64.random(in: 1...3, using: &random)
      pending.add(
        order, Counted(day: HabitContents.name(of: habit.name, on: day), amount: amount))
      return perform(order, .count(habit: name, day: date, by: amount))
    }
  }

  private func perform(_ order: OrderID, _ action: HabitAction) -> AgentOrder {
    .perform(order, app: HabitsApp().name, action.json)
  }

  mutating func recordApplied(_ order: OrderID) {
    guard let counted = pending.remove(order) else { return }
    if let place = totals.firstIndex(where: { $0.day == counted.day }) {
      totals[place].total += counted.amount
    } else {
      totals.append((counted.day, counted.amount))
    }
  }

  mutating func recordRefused(_ order: OrderID) { _ = pending.remove(order) }

  func faults(in shown: ShownRecords) -> [String] {
    totals.compactMap { day, total in
      let fields = shown[RecordKey(zone: HabitsApp.zone, name: day)]?.value
      let found = HabitPlay.sum(fields?["counts"]) - HabitPlay.sum(fields?["undone"])
      return found == total ? nil : "\(day.text) shows \(found) and should show \(total)"
    }
  }

  private static func sum(_ counts: JSONValue?) -> Int64 {
    (counts?.members ?? []).reduce(0) { $0 + ($1.value.int64 ?? 0) }
  }
}

/// Memos are written, rewritten and removed. At the end every text must exist, unless a person who
/// saw it replaced it.
struct MemoPlay: AppPlay {
  private var texts = WrittenTexts()
  private var count = 0

  mutating func nextOrder(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let memos = shown.records(of: MemosApp.memoType)
    let (app, draw) = (MemosApp().name, Int.random(in: 0..<10, using: &random))
    count += 1
    let text = "text \(count)\nof many"
    guard memos.count >= 3, draw > 0, let memo = memos.randomElement(using: &random),
      let old = MemoPlay.content(memo)
    else {
      texts.recordOrder(order, old: nil, new: text)
      return .perform(
        order, app: app,
        MemoAction.add(content: text, name: Name(trusted: "memo \(count)")).json)
    }
    if draw == 1 {
      texts.recordOrder(order, old: old, new: nil)
      let key = memo.key
      return .edit(
        order,
        EditRequest(key: key, type: MemosApp.memoType) { context throws(EditRefusal) in
          // People remove only texts that they see.
          guard context.current.flatMap(MemoPlay.content) == old else {
            throw EditRefusal("the text has changed meanwhile")
          }
          return nil
        })
    }
    texts.recordOrder(order, old: old, new: text)
    return .perform(
      order, app: app, MemoAction.edit(memo: memo.name.text, content: text, was: old).json)
  }

  mutating func recordApplied(_ order: OrderID) { texts.recordApplied(order) }

  mutating func recordRefused(_ order: OrderID) { texts.recordRefused(order) }

  func faults(in shown: ShownRecords) -> [String] {
    let found = shown.records(of: MemosApp.memoType).compactMap(MemoPlay.content)
    let lost = texts.missing(in: found)
    return lost.isEmpty ? [] : ["memos have lost \(lost)"]
  }

  private static func content(_ memo: Record) -> String? { memo.value?["content"]?.string }
}

/// Files are saved again on any device. At the end every version must exist under the file's name
/// or as a conflict copy, unless a person who saw it replaced it.
struct VaultPlay: AppPlay {
  private var versions = WrittenTexts()
  private static let files = 2

  mutating func nextOrder(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let name = Name(trusted: "file \(Int.random(in: 0..<VaultPlay.files, using: &random)).db")
    let key = RecordKey(zone: VaultApp.zone, name: name)
    let seal = VaultSeal.plain
    let old = shown[key].flatMap(VaultPlay.version)
    let isRemoved = old != nil && Int.random(in: 0..<10, using: &random) == 0
    let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
    guard let hash = ChunkHash(bytes: bytes) else { return nil }
    versions.recordOrder(order, old: old, new: isRemoved ? nil : hash.text)
    return .edit(
      order,
      EditRequest(key: key, type: VaultApp.fileType) { context throws(EditRefusal) in
        // A person who saves a file has seen that version of it.
        guard context.current.flatMap(VaultPlay.version) == old else {
          throw EditRefusal("the file has changed meanwhile")
        }
        if isRemoved { return nil }
        let manifest = VaultManifest(file: name.text, size: 0, sha256: hash, chunks: [])
        return seal.fields(of: manifest, chunks: [])
      })
  }

  mutating func recordApplied(_ order: OrderID) { versions.recordApplied(order) }

  mutating func recordRefused(_ order: OrderID) { versions.recordRefused(order) }

  func faults(in shown: ShownRecords) -> [String] {
    let found = shown.records(of: VaultApp.fileType).compactMap(VaultPlay.version)
    let lost = versions.missing(in: found)
    return lost.isEmpty ? [] : ["the vault has lost the versions \(lost)"]
  }

  private static func version(_ record: Record) -> String? {
    record.value.flatMap { VaultSeal.plain.contents(of: $0, record: record.name) }?
      .manifest.sha256.text
  }
}

/// The timer's buttons. At the end the timer must show the result of all acts that were not
/// replaced by a person who saw them. An edit made by time on an offline device does not undo an
/// act.
struct TimerPlay: AppPlay {
  private var history = TimerHistory()

  mutating func nextOrder(
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

  mutating func recordEdit(from before: Record?, to record: Record) {
    guard record.key == TimerApp.stateKey else { return }
    history.recordEdit(from: before?.fields, to: record.fields)
  }

  /// Changes from other devices add nothing to the history, except corrected timestamps and the
  /// effects of ended countdowns.
  mutating func recordChange(from before: Record?, to record: Record) {
    guard record.key == TimerApp.stateKey else { return }
    history.recordCorrection(from: before?.fields, to: record.fields)
    let after = TimerApp.state(of: record)
    var state = TimerApp.state(of: before)
    while let next = state.afterZero() {
      state = next
      guard state.edits == after.edits else { continue }
      history.recordExpiry(from: before?.fields, to: record.fields)
      return
    }
  }

  func faults(in shown: ShownRecords) -> [String] {
    let facts = shown[TimerApp.stateKey]?.fields.flatMap(TimerFacts.init(fields:))
    let expected = TimerFacts(
      edits: history.expectedEdits(showing: facts?.edits ?? []),
      completedPomodoros: history.completedPomodoros)
    guard facts != expected, facts != nil || !expected.edits.isEmpty else { return [] }
    return ["shows \(facts?.description ?? "nothing") and should show \(expected)"]
  }
}

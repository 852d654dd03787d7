import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

/// The result depends only on the set of concurrent edits, not on their order of arrival.
struct TimerOrderTests {
  /// Independent, simple implementation of the rule for a set of edits of which none was made on
  /// top of another.
  private func demanded(_ edits: [JSONValue]) -> [JSONValue] {
    var distinct: [JSONValue] = []
    for edit in edits where !distinct.contains(edit) { distinct.append(edit) }
    func number(_ edit: JSONValue, _ name: String) -> Int64 { edit[name]?.int64 ?? 0 }
    func actedAt(_ edit: JSONValue) -> Int64 { number(edit["act"] ?? edit, "timestamp") }
    let newest = distinct.map(actedAt).max() ?? 0
    let kept = distinct.filter { newest - actedAt($0) <= 5_000 }
    let instant = kept.map { number($0, "timestamp") }.max() ?? 0
    let states = ["focus", "breakTime", "snooze", "idle"]
    func key(_ edit: JSONValue) -> [Int64] {
      let state = edit["stateType"]?.string ?? ""
      let passed = edit["isPaused"]?.bool == true ? 0 : instant - number(edit, "timestamp")
      return [
        Int64(states.firstIndex(of: state) ?? 9),
        state == "idle" ? 0 : max(0, number(edit, "remaining") - passed),
        -actedAt(edit),
      ]
    }
    return kept.sorted { one, other in
      if key(one) != key(other) { return key(one).lexicographicallyPrecedes(key(other)) }
      let names = [one, other].map { Array(($0["deviceID"]?.string ?? "").utf8) }
      return names[1].lexicographicallyPrecedes(names[0])
    }
  }

  private func shown(_ version: Version?) -> [JSONValue]? { version?.fields?["edits"]?.array }

  @Test(arguments: [2, 3, 4])
  func everyOrderOfArrivalEndsAlike(devices: Int) {
    let orders = permutations(of: Array(0..<devices))
    for seed in UInt64(1)...100 {
      var random = SeededRandom(seed: seed)
      let names = (0..<devices).map { "device \($0)" }.shuffled(using: &random)
      let first = version(
        timer(RandomTimer.edit("mac", at: 0, &random), RandomTimer.edit("iphone", at: 9, &random)))
      let edits = names.map { name in
        RandomTimer.edit(name, at: Int64.random(in: 10..<9_000, using: &random), &random)
      }
      let done = edits.map { _ in Int64.random(in: 0..<3, using: &random) }
      for order in orders {
        var record = SharedRecord(first, resolver: TimerResolver(), devices: devices)
        for device in 0..<devices {
          let stamp = edits[device]["timestamp"]?.int64 ?? 0
          record.edit(
            device,
            version(timer(done: done[device], edits[device]), at: stamp, by: names[device]))
        }
        for device in order { record.synchronise(device) }
        #expect(shown(record.server) == demanded(edits), "seed \(seed), order \(order)")
        #expect(record.server?.fields?["completedPomodoros"]?.int64 == done.max())
      }
    }
  }

  @Test func everyScheduleEndsAsTheWholeSetDemands() {
    let compared = (UInt64(1)...500).count {
      endsAsDemanded(seed: $0, steps: [1, 300, 2_000, 7_000], acts: 4...16)
    }
    #expect(compared > 250)
  }

  @Test func devicesThatWereAwayOverSeveralCountdownsUndoNothingDoneElsewhere() {
    let compared = (UInt64(1)...600).count {
      endsAsDemanded(seed: $0, steps: [300, 2_000, 7_000, 62_000, 400_000], acts: 6...22)
    }
    #expect(compared > 300)
  }

  /// Checks that all devices are in sync and that no edit is shown that a person replaced. Returns
  /// false if the expected edits depend on the order of arrival and were not compared.
  private func endsAsDemanded(seed: UInt64, steps: [Int64], acts: ClosedRange<Int>) -> Bool {
    var people = People(seed: seed, steps: steps)
    for _ in 0..<Int.random(in: acts, using: &people.random) { people.act() }
    people.settle()
    let fields = people.record.server?.fields
    let screens = people.record.holders.map { $0.local?.fields }
    #expect(screens.allSatisfy { $0 == fields }, "seed \(seed)")
    for edit in shown(people.record.server) ?? [] {
      #expect(!people.isReplaced(edit), "seed \(seed): \(edit.text)")
    }
    if people.haveCandidatesRunOut { return false }
    #expect(shown(people.record.server) == demanded(people.standing), "seed \(seed)")
    return true
  }
}

/// Four devices that edit and synchronise at random, and a log of the acts that each device has
/// seen. A device that is not synchronised for a while is offline: its known countdowns run out.
private struct People {
  /// A person's act, with its current edit.
  private struct Act {
    var edit: JSONValue
    var isReplaced = false
  }

  var random: SeededRandom
  var record: SharedRecord
  private let steps: [Int64]
  private var now: Int64 = 1_000
  private var acts: [Act] = []
  /// Index of the act, by edit.
  private var actOf: [JSONValue: Int] = [:]
  /// Acts that each device has seen; the server is last.
  private var seen: [Set<Int>]
  /// True if a countdown ran out while there were other candidates. Its next edit takes its place,
  /// and the other candidates are removed after a while; then the result may depend on the order of
  /// arrival.
  private(set) var haveCandidatesRunOut = false

  init(seed: UInt64, steps: [Int64]) {
    random = SeededRandom(seed: seed)
    self.steps = steps
    let first = version(timer(edit("mac", 0, "idle")))
    record = SharedRecord(first, resolver: TimerResolver(), devices: 4)
    seen = Array(repeating: [], count: 5)
  }

  /// Edits of the acts that no person replaced.
  var standing: [JSONValue] {
    let left = acts.filter { !$0.isReplaced }.map(\.edit)
    return left.isEmpty ? [edit("mac", 0, "idle")] : left
  }

  func isReplaced(_ edit: JSONValue) -> Bool {
    actOf[People.key(edit)].map { acts[$0].isReplaced } ?? false
  }

  /// Returns the edit without the act that it continues.
  private static func key(_ edit: JSONValue) -> JSONValue { edit.setting("act", to: nil) }

  mutating func act() {
    let device = Int.random(in: 0..<4, using: &random)
    now += RandomTimer.pick(steps, &random)
    switch Int.random(in: 0..<5, using: &random) {
    case 0: press(device)
    case 1: if !reachZero(device) { press(device) }
    case 2: fetch(device)
    default:
      fetch(device)
      save(device)
    }
  }

  mutating func settle() {
    for device in [0, 1, 2, 3, 0, 1, 2, 3] {
      fetch(device)
      save(device)
    }
  }

  /// Presses a button, after all countdowns that ended before.
  private mutating func press(_ device: Int) {
    while reachZero(device) {}
    let shown = record.holders[device].local?.fields?["edits"]?.array ?? []
    let newest = shown.compactMap { $0["timestamp"]?.int64 }.max() ?? 0
    // Clocks are wrong by up to two seconds.
    let drift = Int64(device) * 1_000 - 2_000
    let stamp = max(now + drift, newest + 1)
    let edit = RandomTimer.edit("device \(device)", at: stamp, &random)
    for index in seen[device] { acts[index].isReplaced = true }
    seen[device].insert(acts.count)
    actOf[People.key(edit)] = acts.count
    acts.append(Act(edit: edit))
    record.edit(device, version(timer(edit), at: stamp, by: "device \(device)"))
  }

  /// Writes on the device that the shown countdown has ended; other devices may do the same.
  private mutating func reachZero(_ device: Int) -> Bool {
    let state = TimerState(fields: record.holders[device].local?.fields)
    guard let shown = state.shown, let zeroAt = state.zeroAt, zeroAt <= now,
      let next = state.afterZero(), let made = next.shown?.object
    else { return false }
    if state.edits.count > 1 { haveCandidatesRunOut = true }
    if let index = actOf[People.key(shown.object)] {
      actOf[People.key(made)] = index
      if zeroAt > acts[index].edit["timestamp"]?.int64 ?? 0 { acts[index].edit = made }
    }
    record.edit(device, version(next.fields, at: zeroAt, by: "device \(device)"))
    return true
  }

  private mutating func fetch(_ device: Int) {
    record.fetch(device)
    seen[device].formUnion(seen[4])
  }

  private mutating func save(_ device: Int) {
    let isCurrent = seen[4].isSubset(of: seen[device])
    record.save(device)
    if isCurrent { seen[4].formUnion(seen[device]) }
  }
}

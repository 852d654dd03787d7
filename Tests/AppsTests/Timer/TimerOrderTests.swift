import Apps
import Changes
import Testing

/// The outcome is what the whole set of concurrent edits demands, in whatever order they arrive.
struct TimerOrderTests {
  /// What the rule says of a set of edits none of which was made on another: written down a second
  /// time, plainly.
  private func demanded(_ edits: [JSONValue]) -> [JSONValue] {
    var distinct: [JSONValue] = []
    for edit in edits where !distinct.contains(edit) { distinct.append(edit) }
    func number(_ edit: JSONValue, _ name: String) -> Int64 { edit[name]?.int64 ?? 0 }
    let newest = distinct.map { number($0, "timestamp") }.max() ?? 0
    let states = ["focus", "breakTime", "snooze", "idle"]
    func key(_ edit: JSONValue) -> [Int64] {
      let state = edit["stateType"]?.string ?? ""
      let passed = edit["isPaused"]?.bool == true ? 0 : newest - number(edit, "timestamp")
      return [
        Int64(states.firstIndex(of: state) ?? 9),
        state == "idle" ? 0 : max(0, number(edit, "remaining") - passed),
        -number(edit, "timestamp"),
      ]
    }
    return distinct.filter { newest - number($0, "timestamp") <= 5_000 }.sorted { one, other in
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
    for seed in UInt64(1)...1_000 {
      var people = People(seed: seed)
      for _ in 0..<Int.random(in: 4...16, using: &people.random) { people.act() }
      people.settle()
      let screens = people.record.holders.map { $0.local?.fields }
      #expect(screens.allSatisfy { $0 == people.record.server?.fields }, "seed \(seed)")
      if people.haveGoneBack { continue }
      #expect(shown(people.record.server) == demanded(people.standing), "seed \(seed)")
    }
  }
}

/// Four devices that edit and synchronise at random, and a log of who had seen what.
private struct People {
  var random: SeededRandom
  var record: SharedRecord
  private var now: Int64 = 1_000
  /// All edits, and for each device which of them it has seen, the server last.
  private var edits: [JSONValue] = []
  private var seen: [Set<Int>]
  private var overwritten: Set<Int> = []
  /// A countdown reached zero before the newest candidate beside it was made: the one edit that is
  /// older than one it replaces. What was more than 5 s behind that candidate, and is not behind
  /// this edit, is gone or not depending on who met first; the devices agree all the same.
  private(set) var haveGoneBack = false

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    let first = version(timer(edit("mac", 0, "idle")))
    record = SharedRecord(first, resolver: TimerResolver(), devices: 4)
    seen = Array(repeating: [], count: 5)
  }

  /// The edits that no other was made on.
  var standing: [JSONValue] {
    let left = edits.indices.filter { !overwritten.contains($0) }.map { edits[$0] }
    return left.isEmpty ? [edit("mac", 0, "idle")] : left
  }

  mutating func act() {
    let device = Int.random(in: 0..<4, using: &random)
    now += RandomTimer.pick([1, 300, 2_000, 7_000], &random)
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

  private mutating func press(_ device: Int) {
    let shown = record.holders[device].local?.fields?["edits"]?.array ?? []
    let newest = shown.compactMap { $0["timestamp"]?.int64 }.max() ?? 0
    // Clocks are wrong by up to two seconds.
    let drift = Int64(device) * 1_000 - 2_000
    let stamp = max(now + drift, newest + 1)
    make(timer(RandomTimer.edit("device \(device)", at: stamp, &random)), on: device, at: stamp)
  }

  /// The device writes that the shown countdown is over, as others may do by themselves.
  private mutating func reachZero(_ device: Int) -> Bool {
    let state = TimerState(fields: record.holders[device].local?.fields)
    guard let zeroAt = state.zeroAt, zeroAt <= now, let next = state.afterZero() else {
      return false
    }
    if state.edits.contains(where: { $0.timestamp > zeroAt }) { haveGoneBack = true }
    make(next.fields, on: device, at: zeroAt)
    return true
  }

  private mutating func make(_ fields: JSONValue, on device: Int, at stamp: Int64) {
    let made = fields["edits"]?.array ?? []
    overwritten.formUnion(seen[device])
    seen[device].formUnion(edits.count..<edits.count + made.count)
    edits += made
    record.edit(device, version(fields, at: stamp, by: "device \(device)"))
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

import LockstepApps
import LockstepJSON
import LockstepModel

/// Random edits and settings, close enough in time that every rule is exercised.
enum RandomTimer {
  static let devices = ["Mac", "mac", "iphone", "电脑", "watch", "é"]

  static func device(_ random: inout SeededRandom) -> String { pick(devices, &random) }

  /// Returns an edit as a Lockstep device would make it at `timestamp`.
  static func edit(_ deviceID: String, at timestamp: Int64, _ random: inout SeededRandom)
    -> JSONValue
  {
    let stateType = pick(TimerPhase.allCases, &random).rawValue
    let left = pick([1_000, 4_000, 60_000, 61_000, 1_500_000] as [Int64], &random)
    return AppsTests.edit(
      deviceID, timestamp, stateType, left: stateType == "idle" ? 0 : left,
      paused: stateType != "idle" && Bool.random(using: &random))
  }

  /// Returns a timer's fields as another program might write them.
  static func oddFields(_ random: inout SeededRandom) -> JSONValue {
    var fields = timer(done: Int64.random(in: 0..<4, using: &random))
    let count = Int.random(in: 0..<4, using: &random)
    let edits = (0..<count).map { _ in oddEdit(&random) }
    fields = fields.setting("edits", to: .array(edits))
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return fields.setting("completedPomodoros", to: nil)
    case 1: return fields.setting("edits", to: .string("none"))
    case 2: return fields.setting("theme", to: .number(JSONNumber(Int64(count))))
    case 3: return fields.setting("completedPomodoros", to: .number(JSONNumber("2.5") ?? .init(2)))
    default: return fields
    }
  }

  private static func oddEdit(_ random: inout SeededRandom) -> JSONValue {
    let stamp = pick([0, 1, 4_000, 5_001, 9_000] as [Int64], &random)
    let edit = edit(device(&random), at: stamp, &random)
    switch Int.random(in: 0..<18, using: &random) {
    case 0: return edit.setting("stateType", to: "daydream")
    case 1: return edit.setting("sessionID", to: .string(device(&random)))
    case 2: return edit.setting("remaining", to: nil)
    case 3: return edit.setting("timestamp", to: .number(JSONNumber("1e300") ?? .init(1)))
    case 4: return edit.setting("isPaused", to: .null)
    case 5: return edit.setting("deviceID", to: .number(JSONNumber(stamp)))
    case 6: return .array([edit])
    case 7...9:
      return edit.setting(
        "act", to: act(RandomTimer.pick([0, 1, 4_000], &random), "focus", left: 9))
    case 10:
      return edit.setting("act", to: RandomTimer.pick([.null, [:], ["timestamp": "x"]], &random))
    default: return edit
    }
  }

  static func settings(_ random: inout SeededRandom) -> JSONValue {
    var fields: JSONValue = [:]
    for name in ["focusMinutes", "longBreakEvery", "autoStart", "é", "e\u{301}"]
    where Int.random(in: 0..<3, using: &random) > 0 {
      fields = fields.setting(
        name, to: pick([1, 2, .bool(true), .null, ["a": 1, "b": [1, 2]]], &random))
    }
    return fields
  }

  static func pick<Element>(_ elements: [Element], _ random: inout SeededRandom) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &random)]
  }
}

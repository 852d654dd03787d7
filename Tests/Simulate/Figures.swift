import LockstepJSON
import Simulator

/// Counts of what happened in simulations; `add` sums them up.
struct Figures {
  var seeds = 0
  var devices = 0
  var edits = 0
  var conflicts = 0
  var judged = 0
  var asDemanded = 0
  var steps = 0
  var actions = 0
  var virtualMilliseconds = 0
  var settledAfterMilliseconds = 0
  var tally = Tally()

  private static var fields: [(name: String, field: WritableKeyPath<Figures, Int>)] {
    [
      ("seeds", \.seeds), ("devices", \.devices), ("edits", \.edits), ("conflicts", \.conflicts),
      ("judged", \.judged),
      ("asDemanded", \.asDemanded), ("steps", \.steps), ("actions", \.actions),
      ("virtualMilliseconds", \.virtualMilliseconds),
      ("settledAfterMilliseconds", \.settledAfterMilliseconds),
    ]
  }

  init() {}

  init(_ verdict: Verdict) {
    seeds = 1
    devices = verdict.devices
    edits = verdict.tally[.edit]
    conflicts = verdict.conflicts
    judged = verdict.judged
    asDemanded = verdict.asDemanded
    steps = verdict.steps
    actions = verdict.actions
    virtualMilliseconds = Int(verdict.virtualMilliseconds)
    settledAfterMilliseconds = Int(verdict.settledAfterMilliseconds)
    tally = verdict.tally
  }

  mutating func add(_ other: Figures) {
    for (_, field) in Figures.fields { self[keyPath: field] += other[keyPath: field] }
    tally.add(other.tally)
  }

  var json: JSONValue {
    let strikes = FaultPlan.Kind.allCases.filter { tally[$0] > 0 }.map {
      JSONMember($0.rawValue, .number(JSONNumber(Int64(tally[$0]))))
    }
    let happenings = Tally.Occurrence.allCases.filter { tally[$0] > 0 }.map {
      JSONMember($0.rawValue, .number(JSONNumber(Int64(tally[$0]))))
    }
    return .object(
      Figures.fields.map { name, field in
        JSONMember(name, .number(JSONNumber(Int64(self[keyPath: field]))))
      } + [JSONMember("struck", .object(strikes)), JSONMember("happened", .object(happenings))])
  }

  init?(json: JSONValue) {
    for (name, field) in Figures.fields {
      guard let number = json[name]?.int64 else { return nil }
      self[keyPath: field] = Int(number)
    }
    for member in json["struck"]?.members ?? [] {
      guard let kind = FaultPlan.Kind(rawValue: member.name) else { return nil }
      tally.countFault(kind, Int(member.value.int64 ?? 0))
    }
    for member in json["happened"]?.members ?? [] {
      guard let happening = Tally.Occurrence(rawValue: member.name) else { return nil }
      tally.note(happening, Int(member.value.int64 ?? 0))
    }
  }
}

import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Test of the whole way of a push: a second registration with a secret of its own, whose first
/// push proves the way. The device's own registration stays as it is.
struct WakeTest {
  /// Time in which the push arrives, milliseconds: a push service delivers to a connected
  /// distributor within seconds.
  static let milliseconds: Int64 = 30_000

  enum State: Hashable, Sendable {
    /// → finished
    case awaitingPush(until: Instant)
    case finished
  }

  private(set) var state: State
  private(set) var report = WakeTestReport()
  private var begunAt: Instant

  /// - Parameter distributor: Its name on the bus.
  init(distributor: String, at now: Instant) {
    state = .awaitingPush(until: now.advanced(milliseconds: Self.milliseconds))
    begunAt = now
    report.add(
      "distributor",
      localized("{distributor} has registered this device", ["distributor": distributor]))
  }

  var deadline: Instant? {
    if case .awaitingPush(let until) = state { until } else { nil }
  }

  /// Records that the relay has accepted the registration.
  mutating func accepted(at now: Instant) {
    report.add(
      "relay", localized("the relay sends a push to this device"), milliseconds: elapsed(at: now))
    begunAt = now
  }

  mutating func received(at now: Instant) {
    report.add(
      "push", localized("the push came through the push service and the distributor"),
      milliseconds: elapsed(at: now))
    begunAt = now
  }

  mutating func proved(at now: Instant) {
    report.add("proof", localized("the relay has its code back"), milliseconds: elapsed(at: now))
    state = .finished
  }

  mutating func failed(_ step: String, _ problem: WakeProblem) {
    report.fail(step, problem)
    state = .finished
  }

  private func elapsed(at now: Instant) -> Int64 { now.milliseconds(since: begunAt) }
}

/// Result of a test of wakes, step by step.
package struct WakeTestReport: Hashable, Sendable {
  package struct Step: Hashable, Sendable {
    package let name: String
    package let isGood: Bool
    /// Clause that says what was seen.
    package let seen: String
    package let milliseconds: Int64?
  }

  package private(set) var steps: [Step] = []
  /// Sentence for a person; nil if the test has not failed.
  package private(set) var nextStep: String?

  package init() {}

  package var isGood: Bool { nextStep == nil && !steps.isEmpty }

  package mutating func add(_ name: String, _ seen: String, milliseconds: Int64? = nil) {
    steps.append(Step(name: name, isGood: true, seen: seen, milliseconds: milliseconds))
  }

  package mutating func fail(_ name: String, _ problem: WakeProblem) {
    steps.append(Step(name: name, isGood: false, seen: problem.reason, milliseconds: nil))
    nextStep = problem.nextStep
  }

  package var json: JSONValue {
    .object([
      JSONMember("works", .bool(isGood)),
      JSONMember(
        "steps",
        .array(
          steps.map { step in
            .object([
              JSONMember("name", .string(step.name)), JSONMember("good", .bool(step.isGood)),
              JSONMember("seen", .string(step.seen)),
              JSONMember(
                "milliseconds", step.milliseconds.map { .number(JSONNumber($0)) } ?? .null),
            ])
          })),
      JSONMember("nextStep", nextStep.map { .string($0) } ?? .null),
    ])
  }

  /// Reads what `json` gives; nil for anything else.
  package init?(_ json: JSONValue) {
    guard let steps = json["steps"]?.array else { return nil }
    for step in steps {
      guard let name = step["name"]?.string, let isGood = step["good"]?.bool,
        let seen = step["seen"]?.string
      else { return nil }
      self.steps.append(
        Step(
          name: name, isGood: isGood, seen: seen, milliseconds: step["milliseconds"]?.int64))
    }
    nextStep = json["nextStep"]?.string
  }
}

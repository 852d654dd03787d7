import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepHome

/// Texts about wakes, and the report of a test.
struct WakeSummaryTests {
  private static let hour: Int64 = 3_600_000
  private let now: Int64 = 100 * WakeSummaryTests.hour

  private func status(_ change: (inout WakeStatus) -> Void) -> WakeSummary {
    var status = WakeStatus(id: Name(trusted: "agent"))
    change(&status)
    return WakeSummary(status)
  }

  @Test func theLastProofIsTheCodeOrTheLastContactAfterAWake() {
    let verified = status { $0.verifiedAt = now - 5 * Self.hour }
    #expect(verified.text(at: now) == "works, last proved 5 h ago")
    #expect(verified.nextStep == nil)
    let answered = status {
      $0.verifiedAt = now - 5 * Self.hour
      $0.answeredAt = now - 3 * Self.hour
    }
    #expect(answered.text(at: now) == "works, last proved 3 h ago")
  }

  @Test func aRegistrationWithoutAProofIsNoProof() {
    let fresh = status { $0.answeredAt = now }
    #expect(fresh == .unverified)
    #expect(fresh.nextStep?.contains("wake test") == true)
  }

  @Test(arguments: WakeFault.allCases) func eachErrorHasANextStep(_ fault: WakeFault) throws {
    let failing = status {
      $0.verifiedAt = now
      $0.fault = fault
    }
    #expect(failing.text(at: now).hasSuffix("; last proved just now"))
    #expect(try #require(failing.nextStep).hasSuffix("."))
    #expect(status { $0.fault = fault }.text(at: now).hasPrefix("never verified: "))
  }

  @Test func agesHaveOneUnit() {
    let ages: [(Int64, String)] = [
      (0, "just now"), (-5, "just now"), (60_000, "1 min ago"), (2 * Self.hour, "2 h ago"),
      (49 * Self.hour, "2 days ago"),
    ]
    for (age, text) in ages { #expect(WakeSummary.age(of: now - age, at: now) == text) }
  }

  @Test func aReportIsReadAsItWasWritten() throws {
    var run = WakeTest(distributor: "a.b", at: Instant(nanoseconds: 0))
    run.accepted(at: Instant(nanoseconds: 5_000_000))
    run.received(at: Instant(nanoseconds: 25_000_000))
    run.proved(at: Instant(nanoseconds: 26_000_000))
    #expect(run.deadline == nil)
    #expect(run.report.steps.map(\.milliseconds) == [nil, 5, 20, 1])
    let read = try #require(WakeTestReport(try JSONValue(parsing: run.report.json.serialized())))
    #expect(read == run.report && read.isGood)
  }

  @Test func aFailureIsNamedWithItsNextStep() {
    var run = WakeTest(distributor: "a.b", at: Instant(nanoseconds: 0))
    #expect(run.deadline == Instant(nanoseconds: WakeTest.milliseconds * 1_000_000))
    run.accepted(at: Instant(nanoseconds: 0))
    run.failed("push", .noPush)
    #expect(run.deadline == nil && !run.report.isGood)
    #expect(run.report.steps.last?.isGood == false)
    #expect(run.report.nextStep == WakeProblem.noPush.nextStep)
    #expect(WakeTestReport(["steps": [["name": "x"]]]) == nil)
    #expect(WakeTestReport(.null) == nil)
  }
}

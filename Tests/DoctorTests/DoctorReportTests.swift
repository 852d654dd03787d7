import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepDoctor

struct DoctorReportTests {
  private var report: DoctorReport {
    var report = DoctorReport(of: ["http://relay:1", "phone"])
    report.checks = [
      DoctorCheck(.relay, "name", .ok, "known", figures: [JSONMember("resolveMilliseconds", 1)]),
      DoctorCheck(.transport, "poll", .ok, "answered"),
      DoctorCheck(.home, "disk", .warning, "little\nroom", nextStep: "Free some."),
    ]
    return report
  }

  @Test func aPersonReadsALineACheckAndTheNextStepBelow() {
    #expect(
      report.text(isColoured: false) == """
        http://relay:1, phone

        relay
          ok       name        known

        ladder
          ok       poll        answered

        home
          warning  disk        little room
                   → Free some.

        0 problems, 1 warning
        """)
    #expect(report.text(isColoured: true).contains("\u{1B}[33mwarning\u{1B}[0m"))
  }

  @Test func onlyAProblemIsNotGood() {
    var report = report
    #expect(!report.hasProblem && report.json["isGood"]?.bool == true)
    report.checks.append(.noHome("there is none"))
    #expect(report.hasProblem && report.json["isGood"]?.bool == false)
    #expect(report.text(isColoured: false).hasSuffix("1 problem, 1 warning"))
  }

  @Test func whereNothingIsWrongThatIsSaid() {
    var report = DoctorReport(of: ["phone"])
    report.checks = [.skipped(.transport, "account", "closed", nextStep: "Name a home.")]
    let text = report.text(isColoured: false)
    #expect(text.contains("→ Name a home."))
    #expect(text.hasSuffix("nothing prevents sync; 1 skipped"))
  }

  @Test func programsGetEachCheckWithItsFigures() throws {
    let json = report.json
    #expect(json["warnings"]?.int64 == 1 && json["problems"]?.int64 == 0)
    let checks = try #require(json["checks"]?.array)
    #expect(checks.count == 3)
    #expect(checks[0]["figures"]?["resolveMilliseconds"]?.int64 == 1)
    #expect(checks[0]["nextStep"]?.isNull == true)
    #expect(checks[2]["verdict"]?.string == "warning")
    #expect(try JSONValue(parsing: json.text) == json)
  }
}

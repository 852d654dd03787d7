import LockstepJSON
import Testing

@testable import LockstepBench

struct BenchRunTests {
  private func fault(_ json: JSONValue) -> RunFault? {
    do throws(RunFault) {
      _ = try BenchRun(json: json)
      return nil
    } catch { return error }
  }

  private func fault(file text: String) -> RunFault? {
    do throws(RunFault) {
      _ = try BenchRun(file: Array(text.utf8))
      return nil
    } catch { return error }
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    var run = SampleRun.run()
    run.notes = ["device 3: it broke"]
    run.series[0].seconds.insert(nil, at: 1)
    #expect(try BenchRun(json: run.json) == run)
    #expect(try BenchRun(file: run.json.serialized()) == run)
  }

  @Test func aRunInWhichNothingArrivedIsReadAgain() throws {
    let run = SampleRun.run([])
    #expect(try BenchRun(json: run.json) == run)
  }

  @Test func theOutputOfABenchHoldsItsRun() throws {
    let run = SampleRun.run()
    let output = JSONValue.object([JSONMember("p50Ms", 2)]).setting("run", to: run.json)
    #expect(try BenchRun(file: Array((output.text + "\n").utf8)) == run)
  }

  @Test func aPageHoldsItsRunWhateverItsTextsSay() throws {
    var run = SampleRun.run()
    run.summary = "</script><script>alert(1)</script> <!-- & \"quoted\" \u{1}"
    let page = ReportPage.html(run, beside: SampleRun.run([7]))
    #expect(try BenchRun(file: page) == run)
  }

  @Test func whatIsNoRunIsToldFromWhatIsBroken() {
    #expect(fault(file: "{}") == .noRun)
    #expect(fault(file: #"{"p50Ms":1}"#) == .noRun)
    #expect(fault(file: "[1]") == .noRun)
    #expect(fault(file: "<!DOCTYPE html><html><p>hello</html>") == .noRun)
    let picture = String(decoding: ReportPicture.svg(SampleRun.run()), as: UTF8.self)
    #expect(fault(file: picture) == .picture)
    for text in ["", "hello", #"{"format":1"#] {
      guard case .unreadable = fault(file: text) else {
        Issue.record("\(text) is read as \(String(describing: fault(file: text)))")
        continue
      }
    }
    let page = String(decoding: ReportPage.html(SampleRun.run()), as: UTF8.self)
    let cut = page.firstRange(of: ReportPage.runStart).map { String(page[..<$0.upperBound]) }
    #expect(fault(file: cut ?? "") == .bad(member: "script"))
  }

  @Test func everyMemberIsNeededAndChecked() throws {
    let json = SampleRun.run().json
    for name in try #require(json.members).map(\.name) where name != "format" {
      #expect(fault(json.setting(name, to: nil)) == .bad(member: name), "\(name) is gone")
      #expect(fault(json.setting(name, to: true)) == .bad(member: name), "\(name) is another")
    }
    #expect(fault(json.setting("format", to: nil)) == .noRun)
    #expect(fault(json.setting("format", to: 2)) == .newer(2))
    #expect(fault(json.setting("format", to: 0)) == .bad(member: "format"))
    #expect(fault(json.setting("bench", to: "pigeon")) == .bad(member: "bench"))
    #expect(fault(json.setting("madeAtMs", to: -1)) == .bad(member: "madeAtMs"))
    #expect(fault(json.setting("series", to: [])) == .bad(member: "series"))
  }

  @Test func whatIsTooLongIsNotTaken() {
    let json = SampleRun.run().json
    let long = JSONValue.string(String(repeating: "x", count: RunBounds.textBytes + 1))
    #expect(fault(json.setting("summary", to: long)) == .bad(member: "summary"))
    #expect(fault(json.setting("notes", to: .array([long]))) == .bad(member: "notes"))
    let many = JSONValue.array(Array(repeating: "x", count: RunBounds.notes + 1))
    #expect(fault(json.setting("notes", to: many)) == .bad(member: "notes"))
    let seconds = JSONValue.array(
      Array(repeating: .null, count: LatencyTimeline.secondsMost + 1))
    let series = SampleRun.run().json["series"]?.array?.first?.setting("timeline", to: seconds)
    #expect(fault(json.setting("series", to: .array([series ?? .null]))) == .bad(member: "series"))
  }

  @Test(arguments: [
    ("buckets", "[[5,1],[3,1]]"), ("buckets", "[[5,0]]"), ("buckets", "[[5,-1]]"),
    ("buckets", "[[-5,1]]"), ("buckets", "[[5]]"), ("buckets", "[[5,1,1]]"), ("buckets", "[5]"),
    ("buckets", "[[5,9223372036854775807]]"), ("buckets", "[[1e400,1]]"),
    ("leastNs", "-1"), ("leastNs", "999"), ("leastNs", "null"), ("greatestNs", "7"),
    ("timeline", "[[0,1,1,1]]"), ("timeline", "[[1,2,1,3]]"), ("timeline", "[[1,1,3,2]]"),
    ("timeline", "[[1,-1,1,1]]"), ("timeline", "[[1,1,1]]"), ("timeline", "[[1,1,1,null]]"),
    ("timeline", "[true]"), ("name", "1"),
  ])
  func aDistributionThatCannotBeIsNotTaken(_ member: String, _ text: String) throws {
    let json = SampleRun.run().json
    let series = try #require(json["series"]?.array?.first)
    let changed = series.setting(member, to: try JSONValue(parsing: text))
    #expect(fault(json.setting("series", to: .array([changed]))) == .bad(member: "series"))
  }

  @Test(arguments: [
    ("unit", "\"furlongs\""), ("thousandths", "-1"), ("thousandths", "1.5"),
    ("thousandths", "9223372036854775807"), ("met", "1"), ("target", "1"), ("label", "null"),
  ])
  func aFigureThatCannotBeIsNotTaken(_ member: String, _ text: String) throws {
    let json = SampleRun.run().json
    let figure = try #require(json["figures"]?.array?.first)
    let changed = figure.setting(member, to: try JSONValue(parsing: text))
    #expect(fault(json.setting("figures", to: .array([changed]))) == .bad(member: "figures"))
  }

  @Test func everyFaultSaysWhatToDo() {
    #expect("\(RunFault.picture)".contains("--json"))
    #expect("\(RunFault.noRun)".contains("lockstep bench"))
    #expect("\(RunFault.newer(7))".contains("format 7"))
    #expect(
      "\(RunFault.otherBench(.crowd, wanted: .firstSync))"
        == "it is a run of `bench crowd`; name one of `bench first-sync`")
  }
}

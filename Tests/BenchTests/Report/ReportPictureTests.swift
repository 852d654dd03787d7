import LockstepSimulation
import Testing

@testable import LockstepBench

struct ReportPictureTests {
  private func svg(_ run: BenchRun, beside earlier: BenchRun? = nil) -> String {
    String(decoding: ReportPicture.svg(run, beside: earlier), as: UTF8.self)
  }

  @Test func itStandsForItself() {
    let picture = svg(SampleRun.run([2]))
    #expect(picture.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\""))
    #expect(picture.hasSuffix("</svg>\n"))
    for part in [
      "<title id=\"title\">lockstep bench latency</title>", "<desc id=\"desc\">",
      "two people &amp; their devices", "2026-03-01", "processor A processor",
      "this run: p50 2.00 ms · p99 2.00 ms · max 2.00 ms", "missing 0",
      "prefers-color-scheme:dark", "Percentiles", "Histogram", "Timeline",
    ] {
      #expect(picture.contains(part), "\(part)")
    }
  }

  @Test func everyElementThatIsOpenedIsClosed() {
    for picture in [svg(SampleRun.run()), svg(SampleRun.run([]), beside: SampleRun.run())] {
      for name in ["svg", "g", "text", "title", "desc", "style"] {
        let opened =
          picture.ranges(of: "<\(name)>").count + picture.ranges(of: "<\(name) ").count
        #expect(opened == picture.ranges(of: "</\(name)>").count, "\(name)")
      }
      #expect(!picture.contains("nan") && !picture.contains("inf"))
    }
  }

  @Test func namesFromOutsideAreText() {
    var earlier = SampleRun.run([9], processor: "</text><script>")
    earlier.series[0].name = "]]>\u{2}"
    let picture = svg(SampleRun.run(processor: "a<b&c"), beside: earlier)
    #expect(picture.contains("a&lt;b&amp;c"))
    #expect(!picture.contains("<script") && !picture.contains("\u{2}"))
    #expect(picture.contains("The two runs differ in plan or machine"))
  }

  @Test func aLongSentenceIsBroken() {
    var run = SampleRun.run()
    run.summary = Array(repeating: "word", count: 60).joined(separator: " ")
    let lines = svg(run).split(separator: "\n").filter {
      $0.hasPrefix("<text class=\"soft\"") && $0.contains(">word word")
    }
    #expect(lines.count == 3)
  }
}

import Testing

@testable import LockstepBench

struct ReportPageTests {
  private func html(_ run: BenchRun, beside earlier: BenchRun? = nil) -> String {
    String(decoding: ReportPage.html(run, beside: earlier), as: UTF8.self)
  }

  @Test func itShowsEveryFigureWithUnitAndTarget() {
    let page = html(SampleRun.run([2]))
    for part in [
      "change to screen, p50", "2.00 ms", "&lt; 5 s met", "missing", "0 met", "unknown",
      "A processor", "1.2.3", "2026-03-01T12:34:56.000Z", "lockstep bench latency --seconds 2",
      "two people &amp; their devices", "All targets are met.",
    ] {
      #expect(page.contains(part), "\(part)")
    }
    #expect(page.ranges(of: "<svg class=\"chart\" role=\"img\"").count == 3)
    #expect(!page.contains("<th scope=\"col\" class=\"number\">ratio</th>"))
  }

  @Test func itAsksNobodyForAnything() {
    let page = html(SampleRun.run(), beside: SampleRun.run([9]))
    for part in [
      "http://", "https://", "//cdn", "url(", "@import", "<link", "<img", "src=", "href=",
    ] {
      #expect(!page.contains(part), "\(part)")
    }
    #expect(page.contains("default-src 'none'"))
  }

  @Test func aMissedTargetIsSaidFirst() {
    var run = SampleRun.run()
    run.figures.append(RunFigure("duplicated", faults: 1))
    run.notes = ["device 3: <broke>"]
    let page = html(run)
    #expect(page.contains("Missed: duplicated.") && page.contains("device 3: &lt;broke&gt;"))
    #expect(!page.contains("All targets are met."))
  }

  @Test func anEarlierRunStandsBesideWithItsRatio() {
    let page = html(SampleRun.run([3]), beside: SampleRun.run([2]))
    #expect(page.contains("<td class=\"number\">2.00 ms</td><td class=\"number\">1.50 ×</td>"))
    #expect(page.contains("earlier run") && !page.contains("not alike"))
    let other = html(SampleRun.run([3]), beside: SampleRun.run([2], processor: "<Another>"))
    #expect(other.contains("not alike") && other.contains("&lt;Another&gt; in the earlier run"))
    #expect(!other.contains("<Another>"))
  }

  @Test func everyPictureHasANameOfItsOwn() {
    let page = html(SampleRun.run(), beside: SampleRun.run([9]))
    for id in ["percentiles", "histogram", "timeline0", "timeline1"] {
      #expect(page.ranges(of: "id=\"\(id)-title\"").count == 1, "\(id)")
      #expect(page.contains("aria-labelledby=\"\(id)-title \(id)-desc\""), "\(id)")
    }
  }
}

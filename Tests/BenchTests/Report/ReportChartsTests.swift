import Testing

@testable import LockstepBench

struct ReportChartsTests {
  private func lines(_ series: [RunSeries], earlier: [RunSeries] = []) -> [ChartLine] {
    var run = SampleRun.run()
    run.series = series
    var other = SampleRun.run()
    other.series = earlier
    return ChartLine.lines(of: RunComparison(run: run, earlier: earlier.isEmpty ? nil : other))
  }

  /// Returns the path data of the last element with that class.
  private func data(_ look: String, in chart: Chart) -> Substring? {
    guard let start = chart.body.ranges(of: "<path class=\"\(look)\" d=\"").last else {
      return nil
    }
    return chart.body[start.upperBound...].prefix { $0 != "\"" }
  }

  @Test func everyLineHasALookOfItsOwn() {
    let (quiet, busy) = (
      SampleRun.series("quiet", milliseconds: [1]), SampleRun.series("busy", milliseconds: [2])
    )
    let lines = lines([quiet, busy], earlier: [quiet, busy])
    #expect(lines.map(\.name) == ["quiet", "busy", "earlier: quiet", "earlier: busy"])
    #expect(lines.map(\.style) == [0, 1, 2, 3])
    #expect(lines.map(\.isEarlier) == [false, false, true, true])
    #expect(ChartStyle.light.lines.count == ChartStyle.lines)
    #expect(ChartStyle.dark.lines.count == ChartStyle.lines)
    #expect(self.lines([quiet], earlier: [busy]).map(\.name) == ["this run", "earlier run"])
  }

  @Test func percentilesGoUpStepByStep() throws {
    let lines = lines([SampleRun.series(milliseconds: [1, 1, 1, 1, 1, 1, 1, 1, 1, 100])])
    let scale = ChartLine.scale(for: lines)
    let chart = PercentileChart(kind: .latency, lines: lines, scale: scale)
      .chart(width: 360, height: 260)
    let frame = ChartFrame(width: 360, height: 260, heading: "", legend: [])
    let nines = NinesScale(count: 10)
    let low = XMLText.number(frame.y(scale.position(of: 1_015_807)))
    let high = XMLText.number(frame.y(scale.position(of: 100_000_000)))
    let drawn = try #require(data("line c0 d0", in: chart))
    #expect(drawn == "M52 \(low)H\(XMLText.number(frame.x(nines.position(of: 0.9))))V\(high)H340")
  }

  @Test func theHistogramHoldsEveryOne() {
    for values in [[1, 1, 2, 40, 900] as [Int64], [5], [0, 0, 7_000]] {
      let lines = lines([SampleRun.series(milliseconds: values)])
      let chart = HistogramChart(
        kind: .latency, lines: lines, scale: ChartLine.scale(for: lines))
      let bins = chart.bins(of: SampleRun.histogram(values))
      #expect(abs(bins.reduce(0, +) - 1) < 1e-9, "\(values)")
      #expect(bins.allSatisfy { (0...1.000_001).contains($0) })
    }
  }

  @Test func anEarlierRunsHistogramIsAnOutline() {
    let one = SampleRun.series(milliseconds: [1, 2, 3])
    let lines = lines([one], earlier: [one])
    let chart = HistogramChart(kind: .latency, lines: lines, scale: ChartLine.scale(for: lines))
      .chart(width: 360, height: 260)
    #expect(data("area c0", in: chart) != nil && data("area c1", in: chart) == nil)
    #expect(data("line c1 d1", in: chart) != nil)
  }

  @Test func aTimelineHasAGapWhereNothingArrived() throws {
    var series = SampleRun.series(milliseconds: [1, 2])
    series.seconds.insert(nil, at: 1)
    let lines = lines([series])
    let chart = TimelineChart(
      kind: .latency, line: lines[0], scale: ChartLine.scale(for: lines), seconds: 3
    ).chart(id: "timeline0", width: 372, height: 260)
    // From 0 to 1, and from 2 to 3, of three seconds on 300 units.
    let parts = try #require(data("line c0 d0", in: chart)).split(separator: "M")
    #expect(parts.count == 2)
    #expect(parts[0].hasPrefix("52 ") && parts[0].hasSuffix("H152"))
    #expect(parts[1].hasPrefix("252 ") && parts[1].hasSuffix("H352"))
  }

  @Test func aLongTimelineKeepsItsWorstSecond() throws {
    let calm = TimelineSecond(count: 1, median: 1_000_000, p99: 1_000_000, greatest: 1_000_000)
    var series = SampleRun.series(milliseconds: [1, 500])
    series.seconds = Array(repeating: calm, count: 3_600)
    series.seconds[1_801]?.greatest = 500_000_000
    let lines = lines([series])
    let chart = TimelineChart(
      kind: .latency, line: lines[0], scale: ChartLine.scale(for: lines), seconds: 3_600
    ).chart(id: "timeline0", width: 372, height: 260)
    let frame = ChartFrame(
      width: 364, height: 260, heading: "",
      legend: [ChartFrame.Key(name: "p50", colour: 0, dash: 0)])
    let peak = "V\(XMLText.number(frame.y(1)))"
    let drawn = try #require(data("line c0 d2", in: chart))
    #expect(drawn.contains(peak))
    let median = try #require(data("line c0 d0", in: chart))
    #expect(!median.contains(peak))
    #expect(drawn.split(separator: "H").count <= TimelineChart.stepsMost + 1)
    #expect(chart.caption.contains("12 seconds"))
  }

  @Test func labelsThatWouldTouchAreLeftOut() {
    let frame = ChartFrame(width: 360, height: 260, heading: "", legend: [])
    let ticks = (0...100).map {
      ChartFrame.Tick(position: Double($0) / 100, label: "label \($0)")
    }
    let drawn = frame.drawn(across: ticks, up: ticks, below: "")
    #expect(drawn.ranges(of: ">label ").count < 25)
    #expect(drawn.contains(">label 0<"))
  }

  @Test func namesAreTextWhateverTheySay() {
    let lines = lines([
      SampleRun.series("<quiet>", milliseconds: [1]), SampleRun.series("a & b", milliseconds: [1]),
    ])
    let chart = PercentileChart(
      kind: .crowd, lines: lines, scale: ChartLine.scale(for: lines)
    ).chart(width: 360, height: 260)
    #expect(chart.body.contains("&lt;quiet&gt;") && chart.body.contains("a &amp; b"))
  }

  @Test func aBenchWithoutATimelineHasTwoCharts() {
    var run = SampleRun.run([])
    run.series[0].seconds = []
    let charts = ReportCharts(RunComparison(run: run, earlier: nil), timelineWidth: 360)
    #expect(charts.distributions.map(\.id) == ["percentiles", "histogram"])
    #expect(charts.timelines.isEmpty)
    let both = ReportCharts(
      RunComparison(run: SampleRun.run(), earlier: SampleRun.run()), timelineWidth: 360)
    #expect(both.timelines.map(\.id) == ["timeline0", "timeline1"])
  }
}

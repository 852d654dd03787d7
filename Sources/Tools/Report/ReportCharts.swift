/// All charts of a report, in order.
struct ReportCharts {
  /// Percentiles and histogram, side by side if the width allows.
  let distributions: [Chart]
  /// One chart per distribution that has a timeline.
  let timelines: [Chart]

  static let width = 360.0
  static let height = 260.0

  /// `timelineWidth`: in units of the picture, like all lengths.
  init(_ comparison: RunComparison, timelineWidth: Double) {
    let kind = comparison.run.kind
    let lines = ChartLine.lines(of: comparison)
    let scale = ChartLine.scale(for: lines)
    distributions = [
      PercentileChart(kind: kind, lines: lines, scale: scale)
        .chart(width: Self.width, height: Self.height),
      HistogramChart(kind: kind, lines: lines, scale: scale)
        .chart(width: Self.width, height: Self.height),
    ]
    let seconds = lines.map(\.series.seconds.count).max() ?? 0
    timelines = lines.filter { !$0.series.seconds.isEmpty }.map { line in
      TimelineChart(kind: kind, line: line, scale: scale, seconds: seconds)
        .chart(id: "timeline\(line.style)", width: timelineWidth, height: Self.height - 30)
    }
  }
}

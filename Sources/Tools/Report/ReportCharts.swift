/// All charts of a report, in their order.
struct ReportCharts {
  /// Percentiles and histogram, side by side where there is room.
  let distributions: [Chart]
  /// A chart a distribution that has one.
  let timelines: [Chart]

  static let width = 360.0
  static let height = 260.0

  /// `timelineWidth`: in units of the picture, as all that is drawn.
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

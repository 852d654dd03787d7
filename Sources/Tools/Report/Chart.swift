/// One chart of a report, to be placed in a page or a picture.
struct Chart {
  /// Id, unique within a report; only plain letters.
  var id: String
  var heading: String
  /// Explanation in a sentence or two.
  var caption: String
  var width: Double
  var height: Double
  /// SVG elements.
  var body: String
}

/// A distribution in the charts, with its name and style.
struct ChartLine {
  var name: String
  var series: RunSeries
  /// Index of colour and dashes, less than `ChartStyle.lines`.
  var style: Int
  var isEarlier: Bool

  var key: ChartFrame.Key { ChartFrame.Key(name: name, colour: style, dash: style) }

  /// Lines of the run first, then those of the earlier run.
  static func lines(of comparison: RunComparison) -> [ChartLine] {
    let series = comparison.run.series
    let isOne = series.count == 1
    var lines = series.enumerated().map { index, series in
      ChartLine(
        name: isOne ? "this run" : series.name, series: series, style: index, isEarlier: false)
    }
    for earlier in comparison.earlier?.series ?? [] where lines.count < ChartStyle.lines {
      lines.append(
        ChartLine(
          name: isOne ? "earlier run" : "earlier: \(earlier.name)", series: earlier,
          style: lines.count, isEarlier: true))
    }
    return lines
  }

  /// Returns the shared axis of all charts of a report, so that they can be compared visually.
  static func scale(for lines: [ChartLine]) -> LogScale {
    LogScale(
      holding: lines.filter { $0.series.latency.count > 0 }.flatMap {
        [$0.series.latency.leastNanoseconds, $0.series.latency.greatestNanoseconds]
      })
  }
}

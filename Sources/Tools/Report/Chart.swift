/// One drawing of a report, ready to stand in a page or in a picture.
struct Chart {
  /// Unique within a report, of plain letters.
  var id: String
  var heading: String
  /// How it is to be read, in a sentence or two.
  var caption: String
  var width: Double
  var height: Double
  /// SVG elements.
  var body: String
}

/// A distribution as the charts show it: with its name among the others and its look.
struct ChartLine {
  var name: String
  var series: RunSeries
  /// Below `ChartStyle.lines`; colour and dashes alike.
  var style: Int
  var isEarlier: Bool

  var key: ChartFrame.Key { ChartFrame.Key(name: name, colour: style, dash: style) }

  /// Those of the run first, then those of the earlier one.
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

  /// The axis that all charts of a report share, so that they can be compared by eye.
  static func scale(for lines: [ChartLine]) -> LogScale {
    LogScale(
      holding: lines.filter { $0.series.latency.count > 0 }.flatMap {
        [$0.series.latency.leastNanoseconds, $0.series.latency.greatestNanoseconds]
      })
  }
}

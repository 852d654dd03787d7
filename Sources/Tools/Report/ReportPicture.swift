import LockstepModel

/// A report's charts as one self-contained SVG file, for a document or an image viewer with a light
/// or dark background.
public enum ReportPicture {
  private static let margin = 20.0
  private static let gap = 20.0
  private static let width = 2 * ReportCharts.width + gap + 2 * margin
  private static let lineHeight = 17.0
  /// Maximum number of letters in a line of the picture's head.
  private static let lettersALine = 118

  /// `earlier`: a run to compare with.
  public static func svg(_ run: BenchRun, beside earlier: BenchRun? = nil) -> [UInt8] {
    let comparison = RunComparison(run: run, earlier: earlier)
    let charts = ReportCharts(comparison, timelineWidth: width - 2 * margin)
    var top = margin
    var body = ""
    for (index, line) in head(comparison).enumerated() {
      top += index == 0 ? 14 : lineHeight
      let style = index == 0 ? "h" : "soft"
      body +=
        "<text class=\"\(style)\" x=\"\(XMLText.number(margin))\" "
        + "y=\"\(XMLText.number(top))\">\(XMLText.escaped(line))</text>\n"
    }
    top += gap
    for (column, chart) in charts.distributions.enumerated() {
      body += placed(chart, margin + Double(column) * (ReportCharts.width + gap), top)
    }
    top += ReportCharts.height + gap
    for chart in charts.timelines {
      body += placed(chart, margin, top)
      top += chart.height + gap
    }
    let size = (XMLText.number(width), XMLText.number(top))
    return Array(
      """
      <svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" \
      aria-labelledby="title desc" width="\(size.0)" height="\(size.1)" \
      viewBox="0 0 \(size.0) \(size.1)">
      <title id="title">\(XMLText.escaped("lockstep bench \(run.kind.rawValue)"))</title>
      <desc id="desc">\(XMLText.escaped(head(comparison).dropFirst().joined(separator: " ")))</desc>
      <style>
      \(ChartStyle.rules)</style>
      <rect class="card" width="\(size.0)" height="\(size.1)"/>
      \(body)</svg>

      """.utf8)
  }

  private static func placed(_ chart: Chart, _ x: Double, _ y: Double) -> String {
    "<g transform=\"translate(\(XMLText.number(x)) \(XMLText.number(y)))\">\n\(chart.body)</g>\n"
  }

  /// Returns a summary of the run, the machine, and the most important figures.
  private static func head(_ comparison: RunComparison) -> [String] {
    let run = comparison.run
    var lines = ["lockstep bench \(run.kind.rawValue)"] + wrapped(run.summary)
    lines += wrapped(
      (["lockstep \(run.origin.version)", UniversalTime(run.origin.madeAt).date]
        + run.origin.machine.map { "\($0.name) \($0.value)" }).joined(separator: " · "))
    for line in ChartLine.lines(of: comparison) {
      let figures = [("p50", 0.5), ("p99", 0.99), ("max", 1)].map { label, share in
        "\(label) \(Figure.milliseconds(line.series.latency.quantile(share)))"
      }
      lines += wrapped("\(line.name): " + figures.joined(separator: " · "))
    }
    let lost = run.figures.filter { ["missing", "duplicated"].contains($0.label) }
    if !lost.isEmpty {
      lines.append(lost.map { "\($0.label) \($0.text)" }.joined(separator: " · "))
    }
    if !comparison.differences.isEmpty {
      lines.append("The two runs differ in plan or machine: compare them with care.")
    }
    return lines
  }

  private static func wrapped(_ text: String) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
      if lines[lines.count - 1].count + word.count >= lettersALine { lines.append("") }
      lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + word
    }
    return lines
  }
}

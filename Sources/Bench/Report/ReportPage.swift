import LockstepModel
import LockstepTerminal

/// A report as one HTML file: charts, all figures, and the origin of the run. It loads no other
/// files and contains the run itself, so that a later one can be compared with it.
package enum ReportPage {
  static let runStart = "<script type=\"application/json\" id=\"lockstep-run\">"
  static let runEnd = "</script>"

  /// `earlier`: a run to compare with.
  package static func html(_ run: BenchRun, beside earlier: BenchRun? = nil) -> [UInt8] {
    let comparison = RunComparison(run: run, earlier: earlier)
    let title = XMLText.escaped("lockstep bench \(run.kind.rawValue)")
    return Array(
      """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta http-equiv="Content-Security-Policy" \
      content="default-src 'none'; style-src 'unsafe-inline'">
      <title>\(title), \(UniversalTime(run.origin.madeAt).date)</title>
      <style>
      \(ReportPageStyle.rules)</style>
      </head>
      <body>
      <main>
      <h1>\(title)</h1>
      <p>\(XMLText.escaped(run.summary))</p>
      \(verdict(run))\(warning(comparison))\(notes(run))\(charts(comparison))\
      <h2>Figures</h2>
      \(figures(comparison))\
      <h2>What was run</h2>
      \(facts(comparison))\
      </main>
      \(runStart)\(embedded(run))\(runEnd)
      </body>
      </html>

      """.utf8)
  }

  /// Returns JSON in which HTML parsers find no markup.
  private static func embedded(_ run: BenchRun) -> String {
    run.json.text.split(separator: "<", omittingEmptySubsequences: false)
      .joined(separator: "\\u003c")
  }

  private static func verdict(_ run: BenchRun) -> String {
    let missed = run.figures.filter { $0.isMet == false }.map(\.label)
    return missed.isEmpty
      ? "<p><strong>All targets are met.</strong></p>\n"
      : "<p class=\"bad\"><strong>Missed: \(XMLText.escaped(missed.joined(separator: "; ")))."
        + "</strong></p>\n"
  }

  private static func warning(_ comparison: RunComparison) -> String {
    guard !comparison.differences.isEmpty else { return "" }
    return "<p>The two runs are not alike, so their ratios may say more of what differs than of "
      + "the program:</p>\n" + list(comparison.differences)
  }

  private static func notes(_ run: BenchRun) -> String {
    run.notes.isEmpty ? "" : "<p class=\"bad\">Failures:</p>\n" + list(run.notes)
  }

  private static func list(_ lines: [String]) -> String {
    "<ul>\n" + lines.map { "<li>\(XMLText.escaped($0))</li>\n" }.joined() + "</ul>\n"
  }

  private static func charts(_ comparison: RunComparison) -> String {
    let charts = ReportCharts(comparison, timelineWidth: ReportCharts.width)
    let drawn = (charts.distributions + charts.timelines).map { chart in
      """
      <figure>
      <svg class="chart" role="img" aria-labelledby="\(chart.id)-title \(chart.id)-desc" \
      viewBox="0 0 \(XMLText.number(chart.width)) \(XMLText.number(chart.height))">
      <title id="\(chart.id)-title">\(XMLText.escaped(chart.heading))</title>
      <desc id="\(chart.id)-desc">The table of figures has the same data as numbers.</desc>
      \(chart.body)</svg>
      <figcaption>\(XMLText.escaped(chart.caption))</figcaption>
      </figure>

      """
    }
    return "<div class=\"charts\">\n" + drawn.joined() + "</div>\n"
  }

  private static func figures(_ comparison: RunComparison) -> String {
    let isCompared = comparison.earlier != nil
    let numbers = (isCompared ? ["this run", "earlier", "ratio"] : ["measured"]).map {
      Cell(text: $0, isNumber: true)
    }
    let rows = comparison.rows.map { row -> (String, [Cell]) in
      let figure = row.figure
      var cells = [Cell(text: figure.text, isNumber: true)]
      if isCompared {
        let ratio = row.ratioThousandths.map { Figure.decimal(thousandths: $0) + " ×" }
        cells.append(Cell(text: row.earlier?.text ?? "–", isNumber: true))
        cells.append(Cell(text: ratio ?? "–", isNumber: true))
      }
      cells.append(Cell(text: figure.judgement, isBad: figure.isMet == false))
      return (figure.label, cells)
    }
    return table("Figures", numbers + [Cell(text: "target")], rows)
      + (comparison.run.series.count > 1
        ? "<p class=\"soft\">Figures of several runs are their median, a greatest memory the "
          + "greatest of all; the charts join all runs.</p>\n" : "")
  }

  private static func facts(_ comparison: RunComparison) -> String {
    let (run, earlier) = (comparison.run, comparison.earlier)
    let rows = comparison.pairs(allFacts(run), earlier.map(allFacts) ?? []).map { name, now, then in
      let cells = [Cell(text: now ?? "–")]
      return (name, earlier == nil ? cells : cells + [Cell(text: then ?? "–")])
    }
    return table(
      "What was run",
      (earlier == nil ? ["value"] : ["this run", "earlier"]).map { Cell(text: $0) }, rows)
  }

  private static func allFacts(_ run: BenchRun) -> [RunFact] {
    run.plan + run.origin.machine + [
      RunFact("lockstep", run.origin.version),
      RunFact("made at", UniversalTime(run.origin.madeAt).timestamp),
      RunFact("command", run.origin.command),
    ]
  }

  private struct Cell {
    var text: String
    var isNumber = false
    var isBad = false

    var html: String { "<td\(style)>\(XMLText.escaped(text))</td>" }
    var head: String { "<th scope=\"col\"\(style)>\(XMLText.escaped(text))</th>" }

    private var style: String {
      isNumber ? " class=\"number\"" : isBad ? " class=\"bad\"" : ""
    }
  }

  /// Returns a table that scrolls separately on a narrow screen, also with the keyboard.
  private static func table(
    _ name: String, _ heads: [Cell], _ rows: [(label: String, cells: [Cell])]
  ) -> String {
    var html = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"\(name)\">\n"
    html += "<table>\n<thead><tr><td></td>"
    html += heads.map(\.head).joined() + "</tr></thead>\n<tbody>\n"
    for (label, cells) in rows {
      html += "<tr><th scope=\"row\">\(XMLText.escaped(label))</th>"
      html += cells.map(\.html).joined() + "</tr>\n"
    }
    return html + "</tbody>\n</table>\n</div>\n"
  }
}

/// Style of the page around the charts.
private enum ReportPageStyle {
  static var rules: String {
    """
    \(ChartStyle.rules)\
    :root{color-scheme:light dark}
    *{box-sizing:border-box}
    body{margin:0;font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
    main{max-width:72rem;margin:0 auto;padding:1rem}
    h1{font-size:1.375rem;line-height:1.25;margin:.25rem 0}
    h2{font-size:1.0625rem;margin:1.75rem 0 .5rem}
    p,ul{margin:.5rem 0;max-width:75ch}
    .charts{display:grid;gap:1rem;margin:1.25rem 0;\
    grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr))}
    figure{margin:0;padding:.75rem;border:1px solid;border-radius:.5rem;max-width:40rem;\
    break-inside:avoid}
    svg{display:block;width:100%;height:auto}
    figcaption{font-size:.875rem;margin-top:.25rem}
    .scroll{overflow-x:auto}
    table{border-collapse:collapse;font-variant-numeric:tabular-nums}
    th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;\
    border-bottom:1px solid;font-weight:400}
    thead th{font-weight:600}
    td{overflow-wrap:anywhere}
    .number{text-align:right;white-space:nowrap}
    tr{break-inside:avoid}
    @media (max-width:30rem){main{padding:.75rem .5rem}figure{padding:.5rem .25rem}\
    th,td{padding-right:.5rem;font-size:.875rem}}
    \(colours(ChartStyle.light))\
    @media screen and (prefers-color-scheme:dark){
    \(colours(ChartStyle.dark))}
    @media print{body{background:none}main{padding:0}.scroll{overflow:visible}}

    """
  }

  private static func colours(_ palette: ChartStyle.Palette) -> String {
    """
    body{background:\(palette.ground);color:\(palette.text)}
    figure{background:\(palette.card);border-color:\(palette.edge)}
    th,td{border-color:\(palette.edge)}
    .soft,figcaption,tbody th{color:\(palette.soft)}
    .bad{color:\(palette.bad)}

    """
  }
}

/// A report's charts as one self-contained SVG file, for a document or an image viewer with a light
/// or dark background.
package enum ReportPicture {
  private static let margin = 20.0
  private static let gap = 20.0
  private static let width = 2 * ReportCharts.width + gap + 2 * margin
  private static let lineHeight = 17.0
  /// Maximum number of letters in a line of the picture's head.
  private static let lettersALine = 118

  /// `earlier`: a run to compare with.
  package static func svg(_ run: BenchRun, beside earlier: BenchRun? = nil) -> [UInt8] {
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

/// Common functions for SVG and HTML.
enum XMLText {
  /// Escapes a text for content or a quoted attribute. Characters that are invalid in XML, which
  /// foreign names may contain, become U+FFFD.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      case "\t", "\n": escaped.unicodeScalars.append(scalar)
      default:
        let isCharacter = scalar.value >= 0x20 && scalar.value & 0xFFFE != 0xFFFE
        escaped.unicodeScalars.append(isCharacter ? scalar : "\u{FFFD}")
      }
    }
    return escaped
  }

  /// Formats a coordinate with one decimal.
  static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    let (whole, rest) = tenths.magnitude.quotientAndRemainder(dividingBy: 10)
    return rest == 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(rest)"
  }
}

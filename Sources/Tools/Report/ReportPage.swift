import LockstepModel

/// A report as one HTML file: charts, all figures, and the origin of the run. It loads no other
/// files and contains the run itself, so that a later one can be compared with it.
public enum ReportPage {
  static let runStart = "<script type=\"application/json\" id=\"lockstep-run\">"
  static let runEnd = "</script>"

  /// `earlier`: a run to compare with.
  public static func html(_ run: BenchRun, beside earlier: BenchRun? = nil) -> [UInt8] {
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
    run.notes.isEmpty ? "" : "<p class=\"bad\">What went wrong:</p>\n" + list(run.notes)
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
      <desc id="\(chart.id)-desc">The table of figures says the same in numbers.</desc>
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

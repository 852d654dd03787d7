import LockstepSimulation

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

/// Common parts of all charts: heading, legend, and axes with labels; and the conversion of axis
/// positions to coordinates.
///
///      heading
///      ── legend
///      5 ms ┤───────────────┤      top
///      1 ms ┤───────────────┤
///           0   50   90   99       bottom
///              axis title
struct ChartFrame {
  /// A legend entry: the style of a line, and its name.
  struct Key: Hashable {
    var name: String
    var colour: Int
    var dash: Int
  }

  /// Grid line; its position on the axis is 0…1.
  struct Tick: Hashable {
    var position: Double
    var label: String
  }

  let width: Double
  let height: Double
  let heading: String
  private let rows: [[Key]]

  private static let left = 52.0
  /// Margin for half of an axis's last label.
  private static let right = 20.0
  private static let bottom = 42.0
  private static let headingLine = 16.0
  private static let legendRow = 18.0
  private static let sample = 22.0
  private static let gap = 14.0

  init(width: Double, height: Double, heading: String, legend: [Key]) {
    self.width = width
    self.height = height
    self.heading = heading
    var rows: [[Key]] = []
    var end = 0.0
    for key in legend {
      let wide = Self.width(of: key)
      if rows.isEmpty || end + wide > width - Self.right {
        rows.append([])
        end = 0
      }
      rows[rows.count - 1].append(key)
      end += wide
    }
    self.rows = rows
  }

  static func width(of text: String) -> Double { Double(text.count) * ChartStyle.letterWidth }

  private static func width(of key: Key) -> Double { sample + 6 + width(of: key.name) + gap }

  private var top: Double {
    Self.headingLine + Double(rows.count) * Self.legendRow + 14
  }

  func x(_ position: Double) -> Double {
    Self.left + position * (width - Self.left - Self.right)
  }

  /// Returns the y coordinate; position 0 is the bottom.
  func y(_ position: Double) -> Double {
    let floor = height - Self.bottom
    return floor - position * (floor - top)
  }

  /// Draws everything except the data between the axes. `below`: title of the horizontal axis.
  func drawn(across: [Tick], up: [Tick], below: String) -> String {
    var svg = text(0, Self.headingLine - 2, "h", heading)
    for (row, keys) in rows.enumerated() {
      let line = Self.headingLine + Double(row + 1) * Self.legendRow
      var start = 0.0
      for key in keys {
        svg += path(
          "M\(XMLText.number(start)) \(XMLText.number(line - 4))h\(XMLText.number(Self.sample))",
          "line c\(key.colour) d\(key.dash)")
        svg += text(start + Self.sample + 6, line, "soft", key.name)
        start += Self.width(of: key)
      }
    }
    svg += grid(across, up)
    svg += upLabels(up) + acrossLabels(across)
    svg += text((x(0) + x(1)) / 2, height - 6, "soft", below, anchor: "middle")
    return svg
  }

  private func grid(_ across: [Tick], _ up: [Tick]) -> String {
    var lines = ""
    for tick in up {
      lines +=
        "M\(XMLText.number(x(0))) \(XMLText.number(y(tick.position)))"
        + "H\(XMLText.number(x(1)))"
    }
    for tick in across {
      lines +=
        "M\(XMLText.number(x(tick.position))) \(XMLText.number(y(1)))"
        + "V\(XMLText.number(y(0)))"
    }
    return path(lines, "grid")
      + path("M\(XMLText.number(x(0))) \(XMLText.number(y(0)))H\(XMLText.number(x(1)))", "axis")
  }

  /// Omits labels that would touch the one below.
  private func upLabels(_ ticks: [Tick]) -> String {
    var svg = ""
    var last = Double.infinity
    for tick in ticks where last - y(tick.position) >= ChartStyle.fontSize + 1 {
      last = y(tick.position)
      svg += text(x(0) - 6, last + 4, "soft", tick.label, anchor: "end")
    }
    return svg
  }

  /// Omits labels that would touch the previous one; the last one stays within the picture.
  private func acrossLabels(_ ticks: [Tick]) -> String {
    var svg = ""
    var end = -Double.infinity
    for tick in ticks {
      let wide = Self.width(of: tick.label)
      let middle = min(x(tick.position), width - wide / 2)
      guard middle - wide / 2 >= end + 6 else { continue }
      end = middle + wide / 2
      svg += text(middle, y(0) + 17, "soft", tick.label, anchor: "middle")
    }
    return svg
  }

  func path(_ data: String, _ style: String) -> String {
    "<path class=\"\(style)\" d=\"\(data)\"/>\n"
  }

  private func text(
    _ x: Double, _ y: Double, _ style: String, _ words: String, anchor: String = "start"
  ) -> String {
    "<text class=\"\(style)\" x=\"\(XMLText.number(x))\" y=\"\(XMLText.number(y))\""
      + (anchor == "start" ? "" : " text-anchor=\"\(anchor)\"")
      + ">\(XMLText.escaped(words))</text>\n"
  }
}

/// Styles of lines and texts in a picture. Lines differ in colour and in dashes, so that they can
/// be distinguished without colour. All colours have a contrast of at least 4.5 to 1 to the
/// background.
enum ChartStyle {
  /// Number of distinct line styles.
  static let lines = 4
  /// Font size of all texts except headings, and the maximum width of a letter, in units of the
  /// picture.
  static let fontSize = 12.0
  static let letterWidth = 6.6

  struct Palette {
    var ground: String
    var card: String
    var edge: String
    var text: String
    var soft: String
    var bad: String
    var lines: [String]
  }

  static let light = Palette(
    ground: "#f3f5f8", card: "#ffffff", edge: "#dde2e9", text: "#1b2027", soft: "#566070",
    bad: "#b3261e", lines: ["#1f6fd1", "#b0500c", "#17733c", "#7a3fa0"])
  static let dark = Palette(
    ground: "#0f1318", card: "#181d24", edge: "#2b323c", text: "#e7ebf0", soft: "#9ea8b6",
    bad: "#ff8f86", lines: ["#6cabf7", "#f2a365", "#62cb8a", "#cfa2f0"])

  private static let dashes = ["none", "7 3", "1.5 3.5", "9 3 1.5 3"]

  /// CSS rules of all pictures. They use no variables, because not every picture viewer supports
  /// them. In print the light colours are used.
  static var rules: String {
    var rules = """
      .chart text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;\
      font-variant-numeric:tabular-nums}
      .chart .h{font-weight:600;font-size:13px}
      .chart .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
      .chart .grid{fill:none;stroke-width:1;shape-rendering:crispEdges}
      .chart .axis{fill:none;stroke-width:1;shape-rendering:crispEdges}
      .chart .area{fill-opacity:.14;stroke:none}

      """
    for (index, dash) in dashes.enumerated() {
      rules += ".chart .d\(index){stroke-dasharray:\(dash)}\n"
    }
    rules += colours(light)
    rules += "@media screen and (prefers-color-scheme:dark){\n" + colours(dark) + "}\n"
    return rules
  }

  private static func colours(_ palette: Palette) -> String {
    var rules = """
      .chart text{fill:\(palette.text)}
      .chart .soft{fill:\(palette.soft)}
      .chart .card{fill:\(palette.card)}
      .chart .grid{stroke:\(palette.edge)}
      .chart .axis{stroke:\(palette.soft)}

      """
    for (index, colour) in palette.lines.enumerated() {
      rules += ".chart .c\(index){stroke:\(colour)}\n.chart .area.c\(index){fill:\(colour)}\n"
    }
    return rules
  }
}

/// Histogram of latencies: ten bins per power of ten; the height is the bin's share.
struct HistogramChart {
  let kind: BenchKind
  let lines: [ChartLine]
  let scale: LogScale

  static let binsADecade = 10.0
  /// Distances of the horizontal grid lines, in thousandths of all values, and their maximum
  /// number.
  private static let steps: [Int64] = [1, 2, 5, 10, 20, 50, 100, 200, 250]
  private static let ticksMost: Int64 = 5

  func chart(width: Double, height: Double) -> Chart {
    let heading = "Histogram: \(kind.measured)"
    let frame = ChartFrame(
      width: width, height: height, heading: heading,
      legend: lines.count > 1 ? lines.map(\.key) : [])
    let all = lines.map { bins(of: $0.series.latency) }
    let most = Int64(((all.flatMap { $0 }.max() ?? 0) * 1_000).rounded(.up))
    let step = Self.steps.first { most <= $0 * Self.ticksMost } ?? 250
    let top = max(1, (most + step - 1) / step) * step
    var body = frame.drawn(
      across: scale.frameTicks,
      up: stride(from: 0, through: top, by: Int64.Stride(step)).map {
        ChartFrame.Tick(position: Double($0) / Double(top), label: Self.label($0))
      }, below: "latency")
    for (line, shares) in zip(lines, all) {
      guard let data = data(of: shares, top: Double(top) / 1_000, frame) else { continue }
      if !line.isEarlier { body += frame.path(data + "Z", "area c\(line.style)") }
      body += frame.path(data, "line c\(line.style) d\(line.style)")
    }
    return Chart(
      id: "histogram", heading: heading,
      caption: "Share of all \(kind.counted) per latency, in bins of a tenth of a power of "
        + "ten.",
      width: width, height: height, body: body)
  }

  private var firstBin: Int { Int((scale.lower * Self.binsADecade).rounded(.down)) }

  private var binCount: Int {
    Int((scale.upper * Self.binsADecade).rounded(.up)) - firstBin
  }

  /// Returns the share of all values in each bin. A bucket across an edge is split as if its values
  /// were evenly spread.
  func bins(of latency: LatencyHistogram) -> [Double] {
    var shares = [Double](repeating: 0, count: binCount)
    func place(_ nanoseconds: Int64) -> Double {
      let decimal = Logarithm.decimal(Double(max(scale.least, min(scale.greatest, nanoseconds))))
      return decimal * Self.binsADecade - Double(firstBin)
    }
    for bucket in latency.buckets {
      let share = Double(bucket.count) / Double(latency.count)
      let (from, to) = (place(bucket.from), place(max(bucket.from, bucket.upTo)))
      let (first, last) = (min(Int(from), binCount - 1), min(Int(to), binCount - 1))
      guard first < last else {
        shares[first] += share
        continue
      }
      for bin in first...last {
        let inside = min(to, Double(bin + 1)) - max(from, Double(bin))
        shares[bin] += share * inside / (to - from)
      }
    }
    return shares
  }

  /// Returns the outline of the bins that are not empty, from axis to axis; nil if all are empty.
  private func data(of shares: [Double], top: Double, _ frame: ChartFrame) -> String? {
    guard let first = shares.firstIndex(where: { $0 > 0 }),
      let last = shares.lastIndex(where: { $0 > 0 })
    else { return nil }
    func x(_ bin: Int) -> String {
      let decimal = Double(firstBin + bin) / Self.binsADecade
      let position = (decimal - scale.lower) / (scale.upper - scale.lower)
      return XMLText.number(frame.x(min(1, max(0, position))))
    }
    let ground = XMLText.number(frame.y(0))
    var data = "M\(x(first)) \(ground)"
    for bin in first...last {
      data += "V\(XMLText.number(frame.y(shares[bin] / top)))H\(x(bin + 1))"
    }
    return data + "V\(ground)"
  }

  private static func label(_ thousandths: Int64) -> String {
    let (whole, rest) = thousandths.quotientAndRemainder(dividingBy: 10)
    return rest == 0 ? "\(whole) %" : "\(whole).\(rest) %"
  }
}

/// Latency by percentile. Each further nine has the same width as the first, so that the slowest
/// cases are as visible as the common ones.
struct PercentileChart {
  let kind: BenchKind
  let lines: [ChartLine]
  let scale: LogScale

  /// Points closer than this are merged, in units of the picture.
  private static let nearest = 0.3

  func chart(width: Double, height: Double) -> Chart {
    let heading = "Percentiles: \(kind.measured)"
    let frame = ChartFrame(
      width: width, height: height, heading: heading,
      legend: lines.count > 1 ? lines.map(\.key) : [])
    let nines = NinesScale(count: lines.map(\.series.latency.count).max() ?? 0)
    var body = frame.drawn(
      across: nines.ticks.map {
        ChartFrame.Tick(position: nines.position(of: $0.share), label: $0.label)
      },
      up: scale.frameTicks, below: "share of \(kind.counted), %")
    for line in lines where line.series.latency.count > 0 {
      body += frame.path(
        data(of: line.series.latency, nines, frame), "line c\(line.style) d\(line.style)")
    }
    return Chart(
      id: "percentiles", heading: heading,
      caption: "At 99: the latency that 99 % of all \(kind.counted) stayed below; "
        + "each line ends at the maximum.",
      width: width, height: height, body: body)
  }

  /// Returns steps: the line is constant over the shares in one bucket.
  private func data(
    of latency: LatencyHistogram, _ nines: NinesScale, _ frame: ChartFrame
  ) -> String {
    var data = ""
    var seen: UInt64 = 0
    var last = frame.x(0)
    for bucket in latency.buckets {
      seen += bucket.count
      let isLast = seen == latency.count
      let position =
        isLast
        ? nines.end(count: latency.count)
        : nines.position(of: Double(seen) / Double(latency.count))
      let x = frame.x(position)
      guard isLast || x - last >= Self.nearest else { continue }
      let value = min(bucket.upTo, latency.greatestNanoseconds)
      let y = XMLText.number(frame.y(scale.position(of: value)))
      data += (data.isEmpty ? "M\(XMLText.number(last)) \(y)" : "V\(y)") + "H\(XMLText.number(x))"
      last = x
    }
    return data
  }
}

/// Latency by the second of the run, to locate stalls in time.
struct TimelineChart {
  let kind: BenchKind
  let line: ChartLine
  let scale: LogScale
  /// Length of the longest run shown.
  let seconds: Int

  /// Maximum number of steps per line; with more seconds, several share one step.
  static let stepsMost = 300

  private static let names = ["p50", "p99", "max"]

  func chart(id: String, width: Double, height: Double) -> Chart {
    let heading = "Timeline: " + (line.name == "this run" ? kind.measured : line.name)
    let frame = ChartFrame(
      width: width, height: height, heading: heading,
      legend: Self.names.enumerated().map { index, name in
        ChartFrame.Key(name: name, colour: line.style, dash: index)
      })
    let across = SecondScale(seconds: seconds)
    var body = frame.drawn(
      across: across.ticks.map {
        ChartFrame.Tick(position: across.position(of: $0), label: "\($0)")
      },
      up: scale.frameTicks, below: "second of the run")
    for index in Self.names.indices {
      body += frame.path(
        data(of: line.series.seconds.map { $0.map { Self.levels(of: $0)[index] } }, across, frame),
        "line c\(line.style) d\(index)")
    }
    let shared = secondsAStep
    return Chart(
      id: id, heading: heading,
      caption: "By the second in which each was due; a gap where none of a second arrived."
        + (shared > 1 ? " Each step is the worst of \(shared) seconds." : ""),
      width: width, height: height, body: body)
  }

  /// Values in the order of `names`.
  private static func levels(of second: TimelineSecond) -> [Int64] {
    [second.median, second.p99, second.greatest]
  }

  private var secondsAStep: Int { (seconds + Self.stepsMost - 1) / Self.stepsMost }

  private func data(of values: [Int64?], _ across: SecondScale, _ frame: ChartFrame) -> String {
    var data = ""
    var isDrawing = false
    for start in stride(from: 0, to: values.count, by: max(1, secondsAStep)) {
      let end = min(values.count, start + max(1, secondsAStep))
      guard let worst = values[start..<end].compactMap({ $0 }).max() else {
        isDrawing = false
        continue
      }
      let y = XMLText.number(frame.y(scale.position(of: worst)))
      let from = XMLText.number(frame.x(across.position(of: start)))
      data += isDrawing ? "V\(y)" : "M\(from) \(y)"
      data += "H\(XMLText.number(frame.x(across.position(of: end))))"
      isDrawing = true
    }
    return data
  }
}

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

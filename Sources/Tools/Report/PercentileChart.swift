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
      caption: "At 99 stands the latency that 99 % of all \(kind.counted) stayed below; "
        + "each line ends with the greatest.",
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

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
      caption: "The share of all \(kind.counted) that took so long, in bins a tenth of a power "
        + "of ten wide.",
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

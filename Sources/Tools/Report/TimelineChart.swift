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

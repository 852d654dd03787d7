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

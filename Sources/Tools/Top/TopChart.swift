import LockstepApps

/// Small charts made of characters. Their values are also shown as text.
package enum TopChart {
  private static let heights = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// Draws a line over time, the newest value at the right edge; unknown values are gaps. Each
  /// column is the mean of a fixed group of consecutive values, so that the line moves without
  /// changing its shape. `added`: number of values ever added, of which `values` are the newest;
  /// `valuesMax`: number of values that fit into the columns.
  package static func line(
    _ values: [Double?], added: Int, places: Int, valuesMax: Int
  ) -> String {
    guard places > 0 else { return "" }
    let each = max(1, (valuesMax + places - 1) / places)
    var means: [Double?] = []
    var group: [Double] = []
    for (index, value) in values.enumerated() {
      if let value { group.append(value) }
      let number = added - values.count + index
      if number % each == each - 1 || index == values.count - 1 {
        means.append(group.isEmpty ? nil : group.reduce(0, +) / Double(group.count))
        group = []
      }
    }
    means = means.suffix(places)
    let most = means.reduce(0) { max($0, $1 ?? 0) }
    return String(repeating: " ", count: places - means.count)
      + means.map { $0.map { height($0, of: most) } ?? " " }.joined()
  }

  /// Returns the bar for a value. 0 has the lowest height; every greater value is at least one step
  /// higher.
  private static func height(_ value: Double, of most: Double) -> String {
    guard value > 0, most > 0 else { return heights[0] }
    let steps = Double(heights.count - 1)
    return heights[max(1, min(heights.count - 1, Int((value / most * steps).rounded())))]
  }

  /// Draws bars of a histogram's buckets in this many rows, with the bounds that are powers of ten
  /// below: `height` + 1 rows of at most `columns`. Empty if the bars do not fit.
  package static func bars(
    _ histogram: MetricHistogram, columns: Int, height: Int, widthMax: Int = 4
  ) -> [String] {
    let buckets = histogram.buckets
    let width = min(widthMax, columns / max(1, buckets.count))
    guard width > 0, height > 0 else { return [] }
    let most = buckets.reduce(0, max)
    let eighths = buckets.map { value in
      value > 0 ? max(1, Int((value / most * Double(8 * height)).rounded())) : 0
    }
    let rows = (0..<height).map { row in
      let below = (height - 1 - row) * 8
      return eighths.map { tall in
        let part = min(8, max(0, tall - below))
        let bar = String(repeating: part == 0 ? " " : heights[part - 1], count: max(1, width - 1))
        return width > 1 ? bar + " " : bar
      }.joined()
    }
    return rows + [axis(histogram.bounds, width: width)]
  }

  /// Draws the labels. The label of a bound ends at the end of its bucket; labels that do not fit
  /// are omitted.
  private static func axis(_ bounds: [Double], width: Int) -> String {
    var text = ""
    for (index, bound) in bounds.enumerated() where bound.isFinite {
      let word = TopWords.duration(seconds: bound)
      guard ["1", "10", "100"].contains(word.prefix { $0 != " " }) else { continue }
      let start = (index + 1) * width - RowText.width(of: word)
      let taken = RowText.width(of: text)
      guard start >= (taken == 0 ? 0 : taken + 1) else { continue }
      text += String(repeating: " ", count: start - taken) + word
    }
    return text
  }
}

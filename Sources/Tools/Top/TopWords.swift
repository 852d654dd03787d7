/// Figures formatted for people. Unknown values are a dash, never 0.
package enum TopWords {
  package static let unknown = "–"

  /// Formats a whole number: `1,204`.
  package static func count(_ value: Double?) -> String {
    guard let value, value.isFinite else { return unknown }
    return grouped(value)
  }

  /// Formats a number with few digits: `0`, `0.04`, `1.3`, `27`, `1,204`.
  package static func few(_ value: Double?) -> String {
    guard let value, value.isFinite else { return unknown }
    if value == 0 { return "0" }
    if value > 0, value < 0.01 { return "< 0.01" }
    guard value > 0, value < 9.95 else { return grouped(value) }
    let scale = value < 1 ? 100 : 10
    let scaled = Int((value * Double(scale)).rounded())
    let (whole, rest) = (scaled / scale, scaled % scale)
    if rest == 0 { return "\(whole)" }
    // 0.40 is written as 0.4.
    if scale == 100, rest % 10 == 0 { return "\(whole).\(rest / 10)" }
    return "\(whole).\(scale == 100 && rest < 10 ? "0" : "")\(rest)"
  }

  package static func duration(seconds: Double?) -> String {
    guard let seconds else { return unknown }
    if seconds < 0.001 { return few(seconds * 1e6) + " µs" }
    return seconds < 1 ? few(seconds * 1e3) + " ms" : few(seconds) + " s"
  }

  package static func bytes(_ value: Double?) -> String {
    guard let value, value.isFinite else { return unknown }
    guard value >= 1_024 else { return grouped(value) + " B" }
    let units = ["KiB", "MiB", "GiB", "TiB"]
    var (size, power) = (value / 1_024, 0)
    while size >= 1_024, power < units.count - 1 { (size, power) = (size / 1_024, power + 1) }
    return few(size) + " " + units[power]
  }

  /// `share`: 0 or more.
  package static func percent(_ share: Double?) -> String {
    share.map { few($0 * 100) + " %" } ?? unknown
  }

  /// Formats a duration in its two largest units: `14 s`, `3 min 5 s`, `2 h 10 min`, `4 d 1 h`.
  package static func span(seconds: Int64) -> String {
    let units: [(name: String, size: Int64)] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
    var rest = max(0, seconds)
    guard let first = units.firstIndex(where: { rest >= $0.size }) else { return "0 s" }
    var parts: [String] = []
    for unit in units[first...].prefix(2) {
      if rest >= unit.size { parts.append("\(rest / unit.size) \(unit.name)") }
      rest %= unit.size
    }
    return parts.joined(separator: " ")
  }

  /// Returns the text after "the last": `minute`, `10 s`.
  package static func lately(milliseconds: Int64) -> String {
    let seconds = (milliseconds + 500) / 1_000
    return seconds == 60 ? "minute" : span(seconds: max(1, seconds))
  }

  /// Makes codes of the wire format readable: `batchMismatch` becomes `batch mismatch`.
  package static func reason(_ code: String) -> String {
    var words: [String] = []
    var wasCapital = true
    for letter in code {
      if letter.isUppercase, !wasCapital { words.append("") }
      if words.isEmpty { words.append("") }
      words[words.count - 1].append(letter)
      wasCapital = letter.isUppercase
    }
    return words.map { word in
      switch word.lowercased() {
      case "json": "JSON"
      case "uri": "URI"
      case let other: other
      }
    }.joined(separator: " ")
  }

  /// Inserts commas if the number is small enough to have exact digits.
  private static func grouped(_ value: Double) -> String {
    let rounded = value.rounded()
    guard rounded.magnitude < 1e15 else { return "\(rounded)" }
    let digits = String(Int64(rounded).magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.utf8.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return (rounded < 0 ? "-" : "") + text
  }
}

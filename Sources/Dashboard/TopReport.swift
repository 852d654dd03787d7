import LockstepJSON

/// The relay's figures for programs. Figures that the relay does not report, or that need more
/// samples, are null; windows carry the number of seconds observed.
package struct TopReport {
  private let board: TopBoard
  private let history: TopHistory
  private let figures: RelayFigures

  /// Returns nil if the relay has never answered.
  package init?(_ board: TopBoard) {
    guard let history = board.shown, let figures = history.newest else { return nil }
    self.board = board
    self.history = history
    self.figures = figures
  }

  package var json: JSONValue {
    .object([
      JSONMember("source", .string(board.source)),
      JSONMember("at", .whole(board.availability.answeredAt)),
      JSONMember("version", .string(figures.version)),
      JSONMember("uptimeSeconds", .whole(board.uptimeSeconds)),
      JSONMember("accounts", gauge(.accounts)),
      JSONMember("connectedAccounts", gauge(.connectedAccounts)),
      JSONMember("connectedDevices", gauge(.connectedDevices)),
      JSONMember("connections", parts(figures.connections)),
      JSONMember("perSecond", perSecond),
      JSONMember("total", total),
      JSONMember("commitToSocket", times(.lag)),
      JSONMember("commits", times(.commit)),
      JSONMember("syncs", times(.sync)),
      JSONMember("queues", queues),
      JSONMember("rejected", parts(figures.rejected?.filter { $0.value > 0 })),
      JSONMember("store", store),
      JSONMember("process", process),
    ])
  }

  private var perSecond: JSONValue {
    let span = history.span(of: history.rateMilliseconds)
    let rates: [(String, RelayFigures.Counter)] = [
      ("accepted", .accepted), ("commits", .commits), ("deliveries", .deliveries),
      ("hints", .hints), ("saves", .saves),
    ]
    return .object(
      [JSONMember("seconds", .real(Double(span) / 1_000))]
        + rates.map { JSONMember($0, .real(history.rate($1))) })
  }

  /// Totals since the relay's start.
  private var total: JSONValue {
    let counters: [(String, RelayFigures.Counter)] = [
      ("accepted", .accepted), ("commits", .commits), ("deliveries", .deliveries),
      ("hints", .hints), ("saves", .saves), ("slowDevices", .slowDevices),
      ("storeFailures", .storeFailures), ("throttles", .throttles),
    ]
    return .object(counters.map { JSONMember($0, .real(figures[$1])) })
  }

  private func times(_ name: RelayFigures.Histogram) -> JSONValue {
    guard let histogram = history.histogram(name) else { return .null }
    let buckets = zip(histogram.bounds, histogram.buckets).filter { $1 > 0 }
    let span = history.span(of: history.timesMilliseconds)
    return .object([
      JSONMember("seconds", .real(Double(span) / 1_000)),
      JSONMember("count", .real(histogram.count)),
      JSONMember("p50Seconds", .real(histogram.quantile(0.5))),
      JSONMember("p90Seconds", .real(histogram.quantile(0.9))),
      JSONMember("p99Seconds", .real(histogram.quantile(0.99))),
      // Above the last bound the value is unknown: null.
      JSONMember(
        "buckets",
        .array(
          buckets.map { bound, count in
            .object([JSONMember("upToSeconds", .real(bound)), JSONMember("count", .real(count))])
          })),
    ])
  }

  private var queues: JSONValue {
    .object([
      JSONMember("storeRequests", gauge(.storeRequests)),
      JSONMember("outboundBytes", gauge(.outboundBytes)),
      JSONMember("bodyBytes", gauge(.bodyBytes)),
      JSONMember("uploads", gauge(.uploads)),
      JSONMember("downloads", gauge(.downloads)),
    ])
  }

  private var store: JSONValue {
    .object([
      JSONMember("bytes", gauge(.storeBytes)), JSONMember("logBytes", gauge(.logBytes)),
    ])
  }

  private var process: JSONValue {
    .object([
      JSONMember("residentBytes", gauge(.residentBytes)),
      JSONMember("processorShare", .real(history.rate(.processorSeconds))),
      JSONMember("openDescriptors", gauge(.openDescriptors)),
      JSONMember("mostDescriptors", gauge(.mostDescriptors)),
    ])
  }

  private func gauge(_ gauge: RelayFigures.Gauge) -> JSONValue { .real(figures[gauge]) }

  private func parts(_ parts: [RelayFigures.Part]?) -> JSONValue {
    parts.map { .object($0.map { JSONMember($0.label, .real($0.value)) }) } ?? .null
  }
}

extension JSONValue {
  /// Returns a number that may be fractional; null for nil, and for values that JSON cannot
  /// represent.
  fileprivate static func real(_ value: Double?) -> JSONValue {
    guard let value, value.isFinite else { return .null }
    // A whole number is written without a fraction.
    let whole = value.magnitude < 1e15 ? Int64(value) : 0
    let text = Double(whole) == value ? "\(whole)" : "\(value)"
    return JSONNumber(text).map { .number($0) } ?? .null
  }
}

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

import LockstepModel

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
      JSONMember("at", .whole(board.standing.answeredAt)),
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

/// One value of a metric.
package struct MetricSample: Hashable, Sendable {
  package var name: String
  /// In the order of the text.
  package var labels: [Label] = []
  package var value: Double

  package struct Label: Hashable, Sendable {
    package var name: String
    package var value: String
  }

  package subscript(label name: String) -> String? { labels.first { $0.name == name }?.value }
}

/// Reason why a text cannot be used. Its explanation continues a sentence that names the source.
package enum MetricsFault: Error, Hashable, Sendable {
  case tooLong
  /// Line number, from 1.
  case badLine(Int)
  case badBuckets(String)
  /// Metrics of another program.
  case notRelay

  package var explanation: String {
    switch self {
    case .tooLong: "it is too long to be metrics"
    case .badLine(let number): "line \(number) is no metric"
    case .badBuckets(let name): "the buckets of \(name) do not rise"
    case .notRelay: "these are not the metrics of a Lockstep relay"
    }
  }
}

/// Parser of Prometheus' text format, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/). The text is untrusted, so its
/// length and the number of samples are limited.
package enum PrometheusText {
  /// Maximum length; a relay's metrics are some 15 kB.
  package static let bytesMax = 1 << 20
  /// Maximum number of samples; a relay has some 300.
  package static let samplesMax = 20_000

  /// Returns all samples in the order of the text; `name_bucket`, `name_sum` and `name_count` are
  /// separate samples.
  package static func samples(_ text: [UInt8]) throws(MetricsFault) -> [MetricSample] {
    guard text.count <= bytesMax else { throw .tooLong }
    var samples: [MetricSample] = []
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      var reader = SampleReader(line)
      reader.skipBlanks()
      if reader.isAtEnd || reader.next == UInt8(ascii: "#") { continue }
      guard samples.count < samplesMax else { throw .tooLong }
      guard let sample = reader.sample() else { throw .badLine(index + 1) }
      samples.append(sample)
    }
    return samples
  }

  /// Accepts `+Inf` and `NaN`, which the format allows, but not hexadecimal numbers, which Swift
  /// would parse.
  package static func number(_ text: String) -> Double? {
    switch text.lowercased() {
    case "inf", "+inf": return .infinity
    case "-inf": return -.infinity
    case "nan": return .nan
    default:
      let isPlain = text.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.eE".utf8.contains(byte)
      }
      return isPlain ? Double(text) : nil
    }
  }
}

/// Parser of one line: `name{label="value",…} value [timestamp]`.
private struct SampleReader {
  private var rest: ArraySlice<UInt8>

  init(_ line: ArraySlice<UInt8>) { rest = line }

  var next: UInt8? { rest.first }
  var isAtEnd: Bool { rest.isEmpty }

  mutating func skipBlanks() {
    rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == 13 }
  }

  /// Returns nil if the line is invalid.
  mutating func sample() -> MetricSample? {
    guard let name = name(isMetric: true) else { return nil }
    let hadBlank = next.map { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } ?? false
    skipBlanks()
    var labels: [MetricSample.Label] = []
    if consume(UInt8(ascii: "{")) {
      guard let read = self.labels() else { return nil }
      labels = read
    } else if !hadBlank {
      return nil
    }
    skipBlanks()
    let number = String(decoding: word(), as: UTF8.self)
    guard let value = PrometheusText.number(number) else { return nil }
    skipBlanks()
    // Optional timestamp; a relay sends none.
    let time = word()
    skipBlanks()
    guard time.isEmpty || Int64(String(decoding: time, as: UTF8.self)) != nil, isAtEnd else {
      return nil
    }
    return MetricSample(name: name, labels: labels, value: value)
  }

  /// Reads the labels up to the closing brace; a comma before it is allowed.
  private mutating func labels() -> [MetricSample.Label]? {
    var labels: [MetricSample.Label] = []
    while true {
      skipBlanks()
      if consume(UInt8(ascii: "}")) { return labels }
      guard let name = name(isMetric: false) else { return nil }
      skipBlanks()
      guard consume(UInt8(ascii: "=")) else { return nil }
      skipBlanks()
      guard consume(UInt8(ascii: "\"")), let value = quotedString() else { return nil }
      labels.append(MetricSample.Label(name: name, value: value))
      skipBlanks()
      guard consume(UInt8(ascii: ",")) || next == UInt8(ascii: "}") else { return nil }
    }
  }

  /// Reads the rest of a quoted string, after the first quotation mark.
  private mutating func quotedString() -> String? {
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(validating: bytes, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { return nil }
        switch escaped {
        case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(escaped)
        default: bytes += [byte, escaped]
        }
      default: bytes.append(byte)
      }
    }
    return nil
  }

  /// Reads a name. The name of a metric may contain colons.
  private mutating func name(isMetric: Bool) -> String? {
    let name = rest.prefix { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
      default: isMetric && byte == UInt8(ascii: ":")
      }
    }
    guard let first = name.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
      return nil
    }
    rest = rest.dropFirst(name.count)
    return String(decoding: name, as: UTF8.self)
  }

  private mutating func consume(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func word() -> ArraySlice<UInt8> {
    let word = rest.prefix { $0 > UInt8(ascii: " ") }
    rest = rest.dropFirst(word.count)
    return word
  }
}

/// Cumulative histogram: the number of values up to each bound, in total or in a time window.
package struct MetricHistogram: Hashable, Sendable {
  /// Bounds, ascending; the last one is infinite.
  package private(set) var bounds: [Double]
  /// Number of values up to each bound; never decreasing.
  package private(set) var cumulative: [Double]

  /// Maximum number of bounds; a relay's histograms have some 20.
  package static let boundsMax = 200

  /// Returns nil if the values are not a histogram: bounds or counts that do not rise, or no
  /// infinite bound.
  package init?(bounds: [Double], cumulative: [Double]) {
    guard bounds.count == cumulative.count, bounds.count <= MetricHistogram.boundsMax,
      bounds.last == .infinity, let first = cumulative.first, first >= 0,
      cumulative.allSatisfy(\.isFinite), bounds[0] > 0,
      zip(bounds, bounds.dropFirst()).allSatisfy(<),
      zip(cumulative, cumulative.dropFirst()).allSatisfy(<=)
    else { return nil }
    self.bounds = bounds
    self.cumulative = cumulative
  }

  package var count: Double { cumulative.last ?? 0 }

  /// Number of values in each bucket alone.
  package var buckets: [Double] {
    cumulative.indices.map { cumulative[$0] - ($0 == 0 ? 0 : cumulative[$0 - 1]) }
  }

  /// Returns the values added since an earlier state. If any bucket has fewer values than before,
  /// or the bounds differ, the histogram has restarted.
  package func growth(since before: MetricHistogram) -> MetricHistogram {
    let isRestart =
      before.bounds != bounds
      || zip(buckets, before.buckets).contains { $0 < $1 }
    if isRestart { return self }
    var growth = self
    for index in cumulative.indices { growth.cumulative[index] -= before.cumulative[index] }
    return growth
  }

  /// Adds the values of another histogram, which must have the same bounds.
  package mutating func add(_ other: MetricHistogram) {
    precondition(bounds == other.bounds, "histograms with different bounds cannot be added")
    for index in cumulative.indices { cumulative[index] += other.cumulative[index] }
  }

  /// Returns the value below which this share (0 to 1) of all values is, computed like Prometheus'
  /// histogram_quantile: values are evenly spread within their bucket, and above the last bound
  /// nothing is known. nil if there are no values.
  package func quantile(_ share: Double) -> Double? {
    let rank = share * count
    guard count > 0, let index = cumulative.firstIndex(where: { $0 >= rank }) else { return nil }
    guard bounds[index] < .infinity else { return index > 0 ? bounds[index - 1] : nil }
    let lower = index > 0 ? bounds[index - 1] : 0
    let below = index > 0 ? cumulative[index - 1] : 0
    let within = cumulative[index] - below
    return within > 0 ? lower + (bounds[index] - lower) * ((rank - below) / within) : bounds[index]
  }
}

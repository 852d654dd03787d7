import LockstepModel

/// Metrics in Prometheus' text format, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
struct PrometheusText: Sendable {
  enum Kind: String, Sendable {
    case gauge
    case counter
    case histogram
  }

  private(set) var text = ""

  /// Adds a metric without labels.
  mutating func add(_ name: String, _ kind: Kind, _ meaning: String, _ value: String) {
    begin(name, kind, meaning)
    text += "\(name) \(value)\n"
  }

  /// Adds a metric with one label; each value once.
  mutating func add(
    _ name: String, _ kind: Kind, _ meaning: String, by label: String,
    _ values: [(value: String, count: Int)]
  ) {
    begin(name, kind, meaning)
    for (value, count) in values {
      text += "\(name){\(label)=\"\(PrometheusText.escaped(value))\"} \(count)\n"
    }
  }

  /// `scale`: number of the histogram's units in one of the metric's; a power of ten.
  mutating func add(_ name: String, _ meaning: String, _ histogram: Histogram, scale: Int64 = 1) {
    begin(name, .histogram, meaning)
    let bounds = histogram.bounds.map { PrometheusText.decimal($0, per: scale) } + ["+Inf"]
    for (bound, count) in zip(bounds, histogram.cumulative) {
      text += "\(name)_bucket{le=\"\(bound)\"} \(count)\n"
    }
    text += "\(name)_sum \(PrometheusText.decimal(histogram.sum, per: scale))\n"
    text += "\(name)_count \(histogram.count)\n"
  }

  private mutating func begin(_ name: String, _ kind: Kind, _ meaning: String) {
    text += "# HELP \(name) \(meaning)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// Returns exactly `value / scale`, without trailing zeros.
  static func decimal(_ value: Int64, per scale: Int64) -> String {
    let (whole, rest) = value.quotientAndRemainder(dividingBy: scale)
    if rest == 0 { return String(whole) }
    var digits = String(rest)
    digits = String(repeating: "0", count: String(scale).count - 1 - digits.count) + digits
    while digits.last == "0" { digits.removeLast() }
    return "\(whole).\(digits)"
  }

  private static func escaped(_ value: String) -> String {
    value.map { letter in
      switch letter {
      case "\\": "\\\\"
      case "\"": "\\\""
      case "\n": "\\n"
      default: String(letter)
      }
    }.joined()
  }
}

extension PrometheusText {
  /// Adds the process metrics that all Prometheus collectors report, under their common names.
  fileprivate mutating func addProcess(_ measures: ProcessMeasures, startedAt: Int64) {
    add(
      "process_start_time_seconds", .gauge, "Start time of the process, in Unix time.",
      PrometheusText.decimal(startedAt, per: 1_000))
    if let bytes = measures.residentBytes {
      add("process_resident_memory_bytes", .gauge, "Resident memory.", String(bytes))
    }
    if let nanoseconds = measures.processorNanoseconds {
      add(
        "process_cpu_seconds_total", .counter, "Processor time of all threads.",
        PrometheusText.decimal(nanoseconds, per: 1_000_000_000))
    }
    if let count = measures.openDescriptors {
      add("process_open_fds", .gauge, "Open file descriptors.", String(count))
    }
    if let most = measures.mostDescriptors {
      add("process_max_fds", .gauge, "Limit of open file descriptors.", String(most))
    }
  }

  fileprivate mutating func addStore(_ measures: StoreMeasures) {
    if let bytes = measures.databaseBytes {
      add("lockstep_store_bytes", .gauge, "Bytes of the database.", String(bytes))
    }
    if let bytes = measures.freeBytes {
      add("lockstep_disk_free_bytes", .gauge, "Free bytes of the store's disk.", String(bytes))
    }
    if let bytes = measures.logBytes {
      add("lockstep_log_bytes", .gauge, "Bytes of the write-ahead log.", String(bytes))
    }
  }
}

extension PrometheusText {
  fileprivate mutating func addUpkeep(_ upkeep: StoreUpkeep) {
    if let time = upkeep.backup?.goodAt {
      add(
        "lockstep_last_backup_timestamp_seconds", .gauge,
        "Time of the store's last complete backup, in Unix time.",
        PrometheusText.decimal(time, per: 1_000))
    }
    guard let check = upkeep.check else { return }
    add(
      "lockstep_last_check_timestamp_seconds", .gauge,
      "Time of the last check of the store or a backup, in Unix time.",
      PrometheusText.decimal(check.at, per: 1_000))
    add(
      "lockstep_last_check_ok", .gauge, "1 if the last check found no fault, otherwise 0.",
      check.isGood ? "1" : "0")
  }
}

extension RelayServices {
  /// Text of `GET /metrics`: the sums of all nodes, and the metrics of the process.
  var metricsText: String {
    let sum = sumOfStatuses
    let measures = self.measures.read()
    var text = PrometheusText()
    text.add(
      "lockstep_build_info", .gauge, "The running version.", by: "version",
      [(configuration.version, 1)])
    text.addProcess(self.measures.readProcess(), startedAt: configuration.startedAt)
    if let end = self.measures.certificateEnd() {
      text.add(
        "lockstep_tls_certificate_expiry_timestamp_seconds", .gauge,
        "End of the certificate that the relay presents, in Unix time.",
        PrometheusText.decimal(end, per: 1_000))
    }
    text.add(
      "lockstep_connections", .gauge, "Open connections by transport.",
      by: "transport",
      [
        ("websocket", sum.sockets), ("events", sum.streams), ("long-poll", sum.parkedPolls),
        ("http", max(0, sum.connections - sum.sockets - sum.streams - sum.parkedPolls)),
      ])
    text.add("lockstep_accounts", .gauge, "Accounts in the store.", String(measures.accounts))
    text.add(
      "lockstep_disk_low", .gauge, "1 while no new data is accepted for lack of disk space.",
      String(health.isDiskLow ? 1 : 0))
    text.add(
      "lockstep_connected_accounts", .gauge, "Accounts with a connected device.",
      String(presence.connectedAccounts))
    text.add(
      "lockstep_connected_devices", .gauge, "Connected devices.",
      String(presence.connectedDevices))
    text.add(
      "lockstep_commit_duration_seconds", "Transactions, from their start until they are durable.",
      measures.commits, scale: 1_000_000_000)
    text.add(
      "lockstep_fsync_duration_seconds", "Syncs of the store's logs.", measures.syncs,
      scale: 1_000_000_000)
    text.add(
      "lockstep_fetch_duration_seconds", "Reads of the store.", measures.fetches,
      scale: 1_000_000_000)
    text.add(
      "lockstep_notify_lag_seconds",
      "Time of each pushed change from durable until its loop sent it.", sum.notifyLag,
      scale: 1_000_000_000)
    text.add(
      "lockstep_commit_requests", "Requests per transaction.", measures.batches)
    text.addStore(measures)
    text.addUpkeep(self.measures.upkeep())
    return text.text + sum.prometheusText
  }
}

/// Number of values up to each of some bounds, and their sum: a histogram in Prometheus' sense. The
/// owner defines the unit of the values.
@usableFromInline
package struct Histogram: Sendable, Hashable {
  /// Ascending; one bucket each, and one more for values above the last.
  @usableFromInline package let bounds: [Int64]
  /// Number of values of each bucket alone.
  private(set) var counts: [Int]
  @usableFromInline package private(set) var sum: Int64 = 0

  @usableFromInline
  package init(bounds: [Int64]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// Adds the value `times` times.
  @usableFromInline
  package mutating func observe(_ value: Int64, times: Int = 1) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += times
    sum += value * Int64(times)
  }

  /// Adds the values of another histogram with the same bounds.
  mutating func add(_ other: Histogram) {
    precondition(bounds == other.bounds, "the histograms have different bounds")
    for index in counts.indices { counts[index] += other.counts[index] }
    sum += other.sum
  }

  @usableFromInline package var count: Int { counts.reduce(0, +) }

  /// Number of values up to each bound, and then of all values.
  var cumulative: [Int] {
    var total = 0
    return counts.map { count in
      total += count
      return total
    }
  }
}

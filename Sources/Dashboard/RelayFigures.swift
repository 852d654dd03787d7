import LockstepApps
import LockstepTerminal

/// Figures from a relay's `/metrics` that are shown to a person; nil if the relay does not report a
/// figure, or not as a number.
package struct RelayFigures: Hashable, Sendable {
  package enum Counter: String, CaseIterable, Sendable {
    case accepted = "lockstep_connections_accepted_total"
    case commits = "lockstep_commits_total"
    case saves = "lockstep_records_saved_total"
    case deliveries = "lockstep_pushes_total"
    case hints = "lockstep_hints_total"
    case throttles = "lockstep_throttles_total"
    case slowDevices = "lockstep_slow_consumers_total"
    case storeFailures = "lockstep_store_failures_total"
    case processorSeconds = "process_cpu_seconds_total"
  }

  package enum Gauge: String, CaseIterable, Sendable {
    /// Seconds since the Unix epoch.
    case startedAt = "process_start_time_seconds"
    case accounts = "lockstep_accounts"
    case connectedAccounts = "lockstep_connected_accounts"
    case connectedDevices = "lockstep_connected_devices"
    case storeRequests = "lockstep_store_requests_waiting"
    case outboundBytes = "lockstep_outbound_queue_bytes"
    case bodyBytes = "lockstep_body_bytes"
    case uploads = "lockstep_uploads"
    case downloads = "lockstep_downloads"
    case storeBytes = "lockstep_store_bytes"
    case logBytes = "lockstep_log_bytes"
    case residentBytes = "process_resident_memory_bytes"
    case openDescriptors = "process_open_fds"
    case mostDescriptors = "process_max_fds"
  }

  package enum Histogram: String, CaseIterable, Sendable {
    case lag = "lockstep_notify_lag_seconds"
    case commit = "lockstep_commit_duration_seconds"
    case sync = "lockstep_fsync_duration_seconds"
  }

  /// One value of a metric that has several, identified by a label.
  package struct Part: Hashable, Sendable {
    package var label: String
    package var value: Double
  }

  package let version: String
  private var numbers: [String: Double] = [:]
  private var histograms: [Histogram: MetricHistogram] = [:]
  /// Open connections by transport, in the order of the text.
  package let connections: [Part]?
  /// Rejected requests since the relay's start, by reason.
  package let rejected: [Part]?

  package init(metrics text: [UInt8]) throws(MetricsFault) {
    let samples = try PrometheusText.samples(text)
    let build = samples.first { $0.name == "lockstep_build_info" }
    guard let version = build?[label: "version"] else { throw .notRelay }
    self.version = RowText.line(version)
    connections = RelayFigures.parts(samples, "lockstep_connections", label: "transport")
    rejected = RelayFigures.parts(samples, "lockstep_rejected_total", label: "reason")
    let wanted = Set(Counter.allCases.map(\.rawValue) + Gauge.allCases.map(\.rawValue))
    for sample in samples
    where wanted.contains(sample.name) && numbers[sample.name] == nil && sample.value.isFinite {
      numbers[sample.name] = sample.value
    }
    for histogram in Histogram.allCases {
      histograms[histogram] = try RelayFigures.histogram(samples, histogram.rawValue)
    }
  }

  package subscript(_ counter: Counter) -> Double? { numbers[counter.rawValue] }
  package subscript(_ gauge: Gauge) -> Double? { numbers[gauge.rawValue] }
  package subscript(_ histogram: Histogram) -> MetricHistogram? { histograms[histogram] }

  package var openConnections: Double? { connections?.reduce(0) { $0 + $1.value } }

  package func rejected(for reason: String) -> Double? {
    rejected?.first { $0.label == reason }?.value
  }

  /// Returns nil if the metric is missing. A repeated label counts once.
  private static func parts(_ samples: [MetricSample], _ name: String, label: String) -> [Part]? {
    let named = samples.filter { $0.name == name }
    guard !named.isEmpty else { return nil }
    var seen: Set<String> = []
    return named.compactMap { sample in
      guard let text = sample[label: label].map(RowText.line), sample.value.isFinite,
        seen.insert(text).inserted
      else { return nil }
      return Part(label: text, value: sample.value)
    }
  }

  private static func histogram(
    _ samples: [MetricSample], _ name: String
  ) throws(MetricsFault) -> MetricHistogram? {
    let buckets = samples.filter { $0.name == name + "_bucket" }
    guard !buckets.isEmpty else { return nil }
    let bounds = buckets.compactMap { bucket in
      bucket[label: "le"].flatMap { PrometheusText.number($0) }
    }
    guard let read = MetricHistogram(bounds: bounds, cumulative: buckets.map(\.value)) else {
      throw .badBuckets(name)
    }
    return read
  }
}

/// Availability of the relay. Times are this machine's wall clock, milliseconds.
package struct RelayAvailability: Hashable, Sendable {
  /// Time of the last answer; nil: never.
  package private(set) var answeredAt: Int64?
  /// Time since which it does not answer; nil: it answers.
  package private(set) var silentSince: Int64?
  /// Reason for the missing answer.
  package private(set) var reason: String?

  package init() {}

  package mutating func recordAnswer(at wall: Int64) {
    self = RelayAvailability()
    answeredAt = wall
  }

  /// Records that the relay did not answer, or not with metrics.
  package mutating func recordFailure(_ reason: String, at wall: Int64) {
    silentSince = silentSince ?? wall
    self.reason = reason
  }

  package var isSilent: Bool { silentSince != nil }

  /// Returns text for a person: one row if it fits, otherwise these rows. `clock`: formats a time.
  package func words(_ clock: (Int64) -> String) -> [String] {
    switch (silentSince, answeredAt) {
    case (let since?, let answered?):
      ["No answer since " + clock(since), "figures are of " + clock(answered)]
    case (let since?, nil): ["No answer since " + clock(since)]
    case (nil, let answered?): ["Live " + clock(answered)]
    case (nil, nil): ["Asking the relay …"]
    }
  }
}

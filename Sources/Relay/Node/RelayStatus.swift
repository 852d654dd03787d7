import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Counters and current values of a node, for logs and metrics.
@usableFromInline
package struct RelayStatus: Sendable, Hashable {
  // Current values.
  @usableFromInline package var connections = 0
  @usableFromInline package var sockets = 0
  @usableFromInline package var parkedPolls = 0
  @usableFromInline package var streams = 0
  /// Uploads and downloads of chunks under way.
  @usableFromInline package var uploads = 0
  @usableFromInline package var downloads = 0
  @usableFromInline package var storeRequestsWaiting = 0
  @usableFromInline package var bodyBytes = 0
  /// Bytes that the driver reported as unsent.
  @usableFromInline package var unsentBytes = 0
  // Totals since the start.
  @usableFromInline package var connectionsOpened = 0
  @usableFromInline package var requests = 0
  @usableFromInline package var messages = 0
  @usableFromInline package var commits = 0
  @usableFromInline package var recordsSaved = 0
  /// Records that were not saved because they had changed.
  @usableFromInline package var conflicts = 0
  /// Changes sent as frames, events or answers to parked polls, one per receiver.
  @usableFromInline package var pushes = 0
  /// `changed` messages and events.
  @usableFromInline package var hints = 0
  /// Nanoseconds from the moment a change was durable until its node sent it, per push.
  @usableFromInline
  package var notifyLag = Histogram(bounds: [10_000, 25_000, 50_000] + StoreMeasures.durations)
  @usableFromInline package var storeFailures = 0
  /// Times that a socket was not read because its device exceeded its rate.
  @usableFromInline package var throttles = 0
  /// Connections closed because none of their unsent bytes left for long.
  @usableFromInline package var slowConsumers = 0
  /// Pushes to sleeping devices, by their result.
  @usableFromInline package var wakesSent = 0
  @usableFromInline package var wakesGone = 0
  @usableFromInline package var wakesFailed = 0
  @usableFromInline package var socketsClosed = CloseCounts()
  /// Pages of changes that devices had missed, and devices that began to read everything.
  @usableFromInline package var deltas = 0
  @usableFromInline package var snapshots = 0
  /// Refusals in the order of `RefusalCode.allCases`.
  @usableFromInline package var refusals = Array(repeating: 0, count: RefusalCode.allCases.count)
  /// Connections closed before they were accepted, in the order of `ConnectionRejection.allCases`.
  @usableFromInline
  package var rejections = Array(repeating: 0, count: ConnectionRejection.allCases.count)

  @usableFromInline package init() {}

  mutating func count(_ reason: ConnectionRejection) {
    if let index = ConnectionRejection.allCases.firstIndex(of: reason) { rejections[index] += 1 }
  }

  mutating func count(_ code: RefusalCode) {
    if let index = RefusalCode.allCases.firstIndex(of: code) { refusals[index] += 1 }
  }
}

extension RelayStatus {
  private struct Metric: Sendable {
    var name: String
    var kind: PrometheusText.Kind
    var meaning: String
    var value: @Sendable (RelayStatus) -> Int
    var set: @Sendable (inout RelayStatus, Int) -> Void

    init(
      _ name: String, _ kind: PrometheusText.Kind, _ meaning: String,
      _ path: any WritableKeyPath<RelayStatus, Int> & Sendable
    ) {
      self.name = name
      self.kind = kind
      self.meaning = meaning
      value = { $0[keyPath: path] }
      set = { $0[keyPath: path] = $1 }
    }
  }

  /// All numbers except those by a reason, with their external names.
  private static let metrics = openConnections + recoveries + wakes + others

  /// Shown in `/metrics` as one metric, by result.
  private static let wakes = [
    Metric("wakes_sent_total", .counter, "Wakes that push services took.", \.wakesSent),
    Metric("wakes_gone_total", .counter, "Wakes for subscriptions that ended.", \.wakesGone),
    Metric("wakes_failed_total", .counter, "Wakes that failed.", \.wakesFailed),
  ]

  /// Shown in `/metrics` as one metric, by transport.
  private static let openConnections = [
    Metric("connections", .gauge, "Open connections.", \.connections),
    Metric("sockets", .gauge, "Open WebSockets.", \.sockets),
    Metric("parked_polls", .gauge, "Parked long-polls.", \.parkedPolls),
    Metric("streams", .gauge, "Open event streams.", \.streams),
  ]

  /// Shown in `/metrics` as one metric, by result.
  private static let recoveries = [
    Metric("deltas_total", .counter, "Pages of changes that a device had missed.", \.deltas),
    Metric("snapshots_total", .counter, "Devices that began to read everything.", \.snapshots),
  ]

  private static let others = [
    Metric("uploads", .gauge, "Uploads of chunks of files.", \.uploads),
    Metric("downloads", .gauge, "Downloads of chunks of files.", \.downloads),
    Metric(
      "store_requests_waiting", .gauge, "Unanswered requests to the store.",
      \.storeRequestsWaiting),
    Metric("body_bytes", .gauge, "Bytes of bodies and messages in memory.", \.bodyBytes),
    Metric("outbound_queue_bytes", .gauge, "Unsent bytes.", \.unsentBytes),
    Metric("connections_accepted_total", .counter, "Accepted connections.", \.connectionsOpened),
    Metric("requests_total", .counter, "HTTP requests.", \.requests),
    Metric("messages_total", .counter, "Messages on sockets.", \.messages),
    Metric("commits_total", .counter, "Durable commit requests.", \.commits),
    Metric("records_saved_total", .counter, "Records saved.", \.recordsSaved),
    Metric(
      "conflicts_total", .counter, "Records not saved because a newer version existed.",
      \.conflicts),
    Metric("pushes_total", .counter, "Changes pushed, one per receiver.", \.pushes),
    Metric("hints_total", .counter, "Hints sent instead of changes.", \.hints),
    Metric("store_failures_total", .counter, "Requests that failed in the store.", \.storeFailures),
    Metric(
      "throttles_total", .counter, "Times that a socket was read later because of its rate.",
      \.throttles),
    Metric(
      "slow_consumers_total", .counter, "Connections closed because they accepted no bytes.",
      \.slowConsumers),
  ]

  /// Number of refusals after which a device must read everything again.
  private var resets: Int {
    let codes: [RefusalCode] = [.tokenExpired, .storeRestored, .filterChanged, .badChangeToken]
    return zip(RefusalCode.allCases, refusals).reduce(0) { $0 + (codes.contains($1.0) ? $1.1 : 0) }
  }

  /// Returns the sums of two nodes' counters.
  func adding(_ other: RelayStatus) -> RelayStatus {
    var sum = self
    for metric in RelayStatus.metrics {
      metric.set(&sum, metric.value(self) + metric.value(other))
    }
    sum.notifyLag.add(other.notifyLag)
    sum.socketsClosed.add(other.socketsClosed)
    for index in refusals.indices { sum.refusals[index] += other.refusals[index] }
    for index in rejections.indices { sum.rejections[index] += other.rejections[index] }
    return sum
  }

  /// The counters in Prometheus' text format, version 0.0.4.
  var prometheusText: String {
    var text = PrometheusText()
    for metric in RelayStatus.others {
      text.add("lockstep_" + metric.name, metric.kind, metric.meaning, String(metric.value(self)))
    }
    text.add(
      "lockstep_connections_closed_total", .counter,
      "WebSockets that ended, by close code; 1000: by the device; 1006: without a close frame.",
      by: "code", socketsClosed.rows.map { (String($0.code), $0.count) })
    text.add(
      "lockstep_recover_total", .counter,
      "Pages of changes that a device had missed (delta), devices that began to read everything "
        + "(snapshot), and cursors that cannot be continued (reset).",
      by: "result", [("delta", deltas), ("snapshot", snapshots), ("reset", resets)])
    text.add(
      "lockstep_wakes_total", .counter, "Pushes to sleeping devices, by result.", by: "result",
      [("sent", wakesSent), ("gone", wakesGone), ("failed", wakesFailed)])
    text.add(
      "lockstep_rejected_total", .counter,
      "Refused requests, by code, and connections closed before they were accepted, by reason.",
      by: "reason",
      zip(RefusalCode.allCases, refusals).map { ($0.rawValue, $1) }
        + zip(ConnectionRejection.allCases, rejections).map { ("\($0)", $1) })
    return text.text
  }

  /// The answer to `GET /status`.
  func encodedBody(nodes: Int) -> [UInt8] {
    var members = [JSONMember("nodes", JSONValue(integerLiteral: Int64(nodes)))]
    for metric in RelayStatus.metrics {
      members.append(JSONMember(metric.name, JSONValue(integerLiteral: Int64(metric.value(self)))))
    }
    let closed = socketsClosed.rows.map {
      JSONMember(String($0.code), JSONValue(integerLiteral: Int64($0.count)))
    }
    members.append(JSONMember("sockets_closed", .object(closed)))
    let refused = zip(RefusalCode.allCases, refusals).filter { $0.1 > 0 }.map {
      JSONMember($0.0.rawValue, JSONValue(integerLiteral: Int64($0.1)))
    }
    members.append(JSONMember("refusals", .object(refused)))
    let turned = zip(ConnectionRejection.allCases, rejections).filter { $0.1 > 0 }.map {
      JSONMember("\($0.0)", JSONValue(integerLiteral: Int64($0.1)))
    }
    members.append(JSONMember("turned_away", .object(turned)))
    return JSONValue.object(members).serialized()
  }
}

import LockstepModel

/// Counters of the gateway, in Prometheus' text format, version 0.0.4.
struct GatewayMetrics {
  enum Push: String, CaseIterable {
    case accepted, gone, throttled, unavailable, misconfigured
    /// Refused before APNs was asked: malformed, not authorized, too many.
    case refused
  }

  private(set) var endpoints = 0
  private(set) var refusedEndpoints = 0
  private var pushes: [Push: Int] = [:]
  var rejectedConnections = 0

  mutating func countEndpoint(isRefused: Bool) {
    if isRefused { refusedEndpoints += 1 } else { endpoints += 1 }
  }

  mutating func countPush(_ result: Push) { pushes[result, default: 0] += 1 }

  /// `version`: of the program.
  func text(of sender: APNsSender, connections: Int, version: String) -> String {
    var text = ""
    func add(_ name: String, _ kind: String, _ meaning: String, _ values: [(String, Int)]) {
      let name = "lockstep_gateway_" + name
      text += "# HELP \(name) \(meaning)\n# TYPE \(name) \(kind)\n"
      for (labels, value) in values { text += "\(name)\(labels) \(value)\n" }
    }
    add("build_info", "gauge", "Version of the program.", [("{version=\"\(version)\"}", 1)])
    add(
      "endpoints_total", "counter", "Requests for endpoints, by result.",
      [("{result=\"issued\"}", endpoints), ("{result=\"refused\"}", refusedEndpoints)])
    add(
      "pushes_total", "counter", "Pushes of relays, by result.",
      Push.allCases.map { ("{result=\"\($0.rawValue)\"}", pushes[$0] ?? 0) })
    add("pushes_pending", "gauge", "Pushes without an answer of APNs.", [("", sender.pendingCount)])
    add(
      "queue", "gauge", "Pushes that wait for a stream to APNs.",
      APNsEnvironment.allCases.map { environment in
        ("{environment=\"\(environment.name)\"}", sender.waitingCount(environment))
      })
    add(
      "apns_connected", "gauge", "1 if a connection to APNs is ready.",
      APNsEnvironment.allCases.map { environment in
        ("{environment=\"\(environment.name)\"}", sender.isReady(environment) ? 1 : 0)
      })
    add("connections", "gauge", "Connections of devices and relays.", [("", connections)])
    add(
      "rejected_connections_total", "counter", "Connections that were closed at once.",
      [("", rejectedConnections)])
    return text
  }
}

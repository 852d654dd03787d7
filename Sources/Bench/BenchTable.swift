import LockstepJSON
import LockstepTerminal

/// Result of a latency bench, as text and as JSON.
package struct BenchTable: Sendable {
  package var plan: BenchPlan
  package var result: BenchResult
  /// Latencies of one commit to disk (a small write and its fsync), measured separately, in
  /// nanoseconds.
  package var commits: LatencyHistogram
  /// Processor time of the relay process during the bench; nil if it could not be read.
  package var relayProcessorMicroseconds: Int64?
  /// Instructions that the event loop spends per delivery, without sockets; nil if they cannot be
  /// counted.
  package var seamInstructions: Int64?

  package init(
    plan: BenchPlan, result: BenchResult, commits: LatencyHistogram,
    relayProcessorMicroseconds: Int64?, seamInstructions: Int64?
  ) {
    self.plan = plan
    self.result = result
    self.commits = commits
    self.relayProcessorMicroseconds = relayProcessorMicroseconds
    self.seamInstructions = seamInstructions
  }

  private var processorPerDelivery: Int64? {
    relayProcessorMicroseconds.flatMap {
      result.delivered > 0 ? $0 * 1_000 / Int64(result.delivered) : nil
    }
  }

  /// Promised time from an action on one device to the screen of another.
  private static let promiseMilliseconds: Int64 = 5_000
  /// Maximum number of user-mode instructions that the event loop may spend per delivery.
  package static let seamInstructionsMost: Int64 = 700
  /// Limit for polling, the fallback transport: one poll interval and a second.
  private static let pollMilliseconds: Int64 = 31_000

  package var json: JSONValue {
    .object([
      JSONMember("p50Ms", .milliseconds(result.latency.quantile(0.5))),
      JSONMember("p90Ms", .milliseconds(result.latency.quantile(0.9))),
      JSONMember("p99Ms", .milliseconds(result.latency.quantile(0.99))),
      JSONMember("p999Ms", .milliseconds(result.latency.quantile(0.999))),
      JSONMember("maxMs", .milliseconds(result.latency.quantile(1))),
      JSONMember("commitP50Ms", .milliseconds(commits.quantile(0.5))),
      JSONMember("sent", .whole(Int64(result.sent))),
      JSONMember("delivered", .whole(Int64(result.delivered))),
      JSONMember("missing", .whole(Int64(result.missing))),
      JSONMember("duplicated", .whole(Int64(result.duplicated))),
      JSONMember(
        "relayCpuUsPerDelivery",
        .decimal(thousandths: processorPerDelivery)),
      JSONMember(
        "seamInstructionsPerDelivery",
        .whole(seamInstructions)),
      JSONMember("transport", .string(plan.transport.rawValue)),
      JSONMember("accounts", .whole(Int64(plan.accounts))),
      JSONMember("devices", .whole(Int64(plan.devices))),
      JSONMember("rate", .whole(Int64(plan.rate))),
      JSONMember("seconds", .whole(Int64(plan.seconds))),
    ])
  }

  package var title: String {
    "\(plan.accounts) accounts × \(plan.devices) devices, \(plan.rate) changes/s for "
      + "\(plan.seconds) s by \(plan.transport.rawValue), every commit with a full sync"
  }

  package var figures: [RunFigure] {
    let target = plan.transport == .poll ? Self.pollMilliseconds : Self.promiseMilliseconds
    var figures: [RunFigure] = []
    for (label, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]
    {
      let value = result.latency.quantile(share)
      var figure = RunFigure("change to screen, \(label)", nanoseconds: value)
      if share == 0.99, let value {
        (figure.target, figure.isMet) = ("< \(target / 1_000) s", value <= target * 1_000_000)
      }
      figures.append(figure)
    }
    figures += [
      RunFigure("one commit to disk, p50", nanoseconds: commits.quantile(0.5)),
      RunFigure("changes sent", count: Int64(result.sent), target: "\(plan.changes)"),
      RunFigure("deliveries", count: Int64(result.delivered), target: "\(plan.deliveries)"),
      RunFigure("missing", faults: result.missing),
      RunFigure("duplicated", faults: result.duplicated),
      RunFigure("relay's CPU a delivery", thousandths: processorPerDelivery, .microseconds),
    ]
    if let seamInstructions {
      let most = Self.seamInstructionsMost
      figures.append(
        RunFigure(
          "seam's own cost a delivery", thousandths: seamInstructions * 1_000, .instructions,
          target: "≤ \(most)", isMet: seamInstructions <= most))
    }
    return figures
  }

  package var text: String {
    var lines = [title, "", row("", "measured", "target")]
    lines += figures.map { row($0.label, $0.text, $0.judgement) }
    lines += ["", "Each row counts the deliveries up to that latency:"] + chart
    lines += result.failures.prefix(5).map { "Failed: \($0)" }
    return lines.joined(separator: "\n")
  }

  private var chart: [String] {
    let rows = result.latency.doublings()
    let most = rows.map(\.count).max() ?? 1
    return rows.map { row in
      let width = Int((row.count * 40 + most - 1) / max(1, most))
      let label = Figure.milliseconds(row.upTo)
      return String(repeating: " ", count: max(0, 12 - label.count)) + label + "  "
        + String(repeating: "█", count: width) + " \(row.count)"
    }
  }

  private func row(_ label: String, _ value: String, _ target: String) -> String {
    func padded(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let name = label + String(repeating: " ", count: max(0, 28 - label.count))
    return target.isEmpty
      ? name + padded(value, 14) : name + padded(value, 14) + "   " + target
  }
}

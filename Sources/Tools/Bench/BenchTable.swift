public import Changes

/// What a bench saw, for a person and for a program.
public struct BenchTable: Sendable {
  public var plan: BenchPlan
  public var result: BenchResult
  /// One commit to disk (a small write and its fsync), measured beside the bench, in nanoseconds.
  public var commits: LatencyHistogram
  /// What the relay's process spent while the bench ran; nil where it could not be read.
  public var relayProcessorMicroseconds: Int64?
  /// What the loop itself spends on a delivery, without sockets; nil where it cannot be counted.
  public var seamInstructions: Int64?

  public init(
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

  /// From a press on one device to the screen of another: what the product promises.
  private static let promiseMilliseconds: Int64 = 5_000
  /// What the loop may spend on a delivery, in user instructions.
  public static let seamInstructionsMost: Int64 = 700
  /// The last resort's own bound: a poll interval and a second.
  private static let pollMilliseconds: Int64 = 31_000

  public var json: JSONValue {
    func milliseconds(_ nanoseconds: Int64?) -> JSONValue {
      nanoseconds.map { .number(JSONNumber(thousandths: $0 / 1_000)) } ?? .null
    }
    return .object([
      JSONMember("p50Ms", milliseconds(result.latency.quantile(0.5))),
      JSONMember("p90Ms", milliseconds(result.latency.quantile(0.9))),
      JSONMember("p99Ms", milliseconds(result.latency.quantile(0.99))),
      JSONMember("p999Ms", milliseconds(result.latency.quantile(0.999))),
      JSONMember("maxMs", milliseconds(result.latency.quantile(1))),
      JSONMember("commitP50Ms", milliseconds(commits.quantile(0.5))),
      JSONMember("sent", .number(JSONNumber(Int64(result.sent)))),
      JSONMember("delivered", .number(JSONNumber(Int64(result.delivered)))),
      JSONMember("missing", .number(JSONNumber(Int64(result.missing)))),
      JSONMember("duplicated", .number(JSONNumber(Int64(result.duplicated)))),
      JSONMember(
        "relayCpuUsPerDelivery",
        processorPerDelivery.map { .number(JSONNumber(thousandths: $0)) } ?? .null),
      JSONMember(
        "seamInstructionsPerDelivery",
        seamInstructions.map { .number(JSONNumber($0)) } ?? .null),
      JSONMember("transport", .string(plan.transport.rawValue)),
      JSONMember("accounts", .number(JSONNumber(Int64(plan.accounts)))),
      JSONMember("devices", .number(JSONNumber(Int64(plan.devices)))),
      JSONMember("rate", .number(JSONNumber(Int64(plan.rate)))),
      JSONMember("seconds", .number(JSONNumber(Int64(plan.seconds)))),
    ])
  }

  public var text: String {
    var lines = [
      "\(plan.accounts) accounts × \(plan.devices) devices, \(plan.rate) changes/s for "
        + "\(plan.seconds) s by \(plan.transport.rawValue), every commit with a full sync",
      "",
      row("", "measured", "target"),
    ]
    let target = plan.transport == .poll ? Self.pollMilliseconds : Self.promiseMilliseconds
    for (label, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]
    {
      let value = result.latency.quantile(share)
      var judged = ""
      if share == 0.99, let value {
        let isMet = value <= target * 1_000_000
        judged = "< \(target / 1_000) s \(isMet ? "met" : "MISSED")"
      }
      lines.append(row("change to screen, \(label)", Self.milliseconds(value), judged))
    }
    lines.append(row("one commit to disk, p50", Self.milliseconds(commits.quantile(0.5)), ""))
    lines.append(row("changes sent", "\(result.sent)", "\(plan.changes)"))
    lines.append(row("deliveries", "\(result.delivered)", "\(plan.deliveries)"))
    lines.append(row("missing", "\(result.missing)", "0 \(result.missing == 0 ? "met" : "MISSED")"))
    lines.append(
      row("duplicated", "\(result.duplicated)", "0 \(result.duplicated == 0 ? "met" : "MISSED")"))
    let processor = processorPerDelivery.map { Self.decimal(thousandths: $0) + " µs" } ?? "unknown"
    lines.append(row("relay's CPU a delivery", processor, ""))
    if let seamInstructions {
      let most = Self.seamInstructionsMost
      lines.append(
        row(
          "seam's own cost a delivery", "\(seamInstructions) instr.",
          "≤ \(most) \(seamInstructions <= most ? "met" : "MISSED")"))
    }
    lines += ["", "Each row counts the deliveries up to that latency:"] + chart
    lines += result.failures.prefix(5).map { "Failed: \($0)" }
    return lines.joined(separator: "\n")
  }

  private var chart: [String] {
    let rows = result.latency.doublings()
    let most = rows.map(\.count).max() ?? 1
    return rows.map { row in
      let width = Int((row.count * 40 + most - 1) / max(1, most))
      let label = Self.milliseconds(row.upTo)
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

  static func milliseconds(_ nanoseconds: Int64?) -> String {
    nanoseconds.map { decimal(thousandths: $0 / 1_000) + " ms" } ?? "–"
  }

  /// Two places behind the point below ten, one below a hundred, none above.
  static func decimal(thousandths: Int64) -> String {
    let places = thousandths < 10_000 ? 2 : thousandths < 100_000 ? 1 : 0
    let unit: Int64 = places == 2 ? 10 : places == 1 ? 100 : 1_000
    let rounded = (thousandths + unit / 2) / unit
    guard places > 0 else { return "\(rounded)" }
    let scale: Int64 = places == 2 ? 100 : 10
    let fraction = String(rounded % scale)
    return "\(rounded / scale)."
      + String(repeating: "0", count: places - fraction.count) + fraction
  }
}

extension JSONNumber {
  /// A decimal with three places, such as milliseconds from microseconds.
  init(thousandths: Int64) {
    let fraction = String(thousandths.magnitude % 1_000)
    let sign = thousandths < 0 ? "-" : ""
    let zeros = String(repeating: "0", count: 3 - fraction.count)
    let text = "\(sign)\(thousandths.magnitude / 1_000).\(zeros)\(fraction)"
    guard let number = JSONNumber(text) else { preconditionFailure("not a number: \(text)") }
    self = number
  }
}

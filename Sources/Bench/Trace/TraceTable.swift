import LockstepClient
import LockstepJSON
import LockstepTerminal

/// Result of a trace, as text and as JSON.
package struct TraceTable: Sendable {
  package var plan: TracePlan
  package var result: TraceResult

  package init(plan: TracePlan, result: TraceResult) {
    self.plan = plan
    self.result = result
  }

  private static let barWidth: Int64 = 32

  private var timelines: [TraceTimeline] { result.changes.compactMap(\.timeline) }

  /// Timeline with the median total, so that its steps add up to the total.
  private var middle: TraceTimeline? {
    let total = Figure.median(timelines.map(\.total))
    return timelines.first { $0.total == total }
  }

  package var json: JSONValue {
    let totals = timelines.map(\.total)
    let largest = middle?.largest.map { step in
      JSONValue.object([
        JSONMember("place", .string(step.milestone.place.rawValue)),
        JSONMember("milestone", .string(step.milestone.word)),
        JSONMember("stepMs", .milliseconds(step.duration)),
      ])
    }
    return .object([
      JSONMember("transport", .string(plan.transport.rawValue)),
      JSONMember("changes", .whole(Int64(plan.changes))),
      JSONMember("arrived", .whole(Int64(totals.count))),
      JSONMember("medianMs", .milliseconds(Figure.median(totals))),
      JSONMember("leastMs", .milliseconds(totals.min())),
      JSONMember("mostMs", .milliseconds(totals.max())),
      JSONMember("largest", largest ?? .null),
      JSONMember("runs", .array(timelines.map(Self.json))),
      JSONMember("failures", .array(result.failures.map { .string($0) })),
    ])
  }

  private static func json(of line: TraceTimeline) -> JSONValue {
    .object([
      JSONMember("totalMs", .milliseconds(line.total)),
      JSONMember("relayUncertaintyMs", .milliseconds(line.uncertainty)),
      JSONMember(
        "milestones",
        .array(
          line.steps.map { step in
            .object([
              JSONMember("place", .string(step.milestone.place.rawValue)),
              JSONMember("milestone", .string(step.milestone.word)),
              JSONMember("atMs", .milliseconds(step.at)),
              JSONMember("stepMs", .milliseconds(step.duration)),
            ])
          })),
    ])
  }

  package var text: String {
    var lines: [String] = []
    if let middle { lines += Self.lines(of: middle, heading: heading) }
    lines += result.failures.map { "Failed: \($0)" }
    return lines.joined(separator: "\n")
  }

  private var heading: String {
    let totals = timelines.map(\.total)
    let way = "by \(plan.transport.rawValue)"
    guard totals.count > 1, let least = totals.min(), let most = totals.max() else {
      return "one change \(way)"
    }
    return "\(totals.count) changes \(way), one after the other, in \(Figure.milliseconds(least)) "
      + "to \(Figure.milliseconds(most)); shown: the change with the median time"
  }

  private static func lines(of line: TraceTimeline, heading: String) -> [String] {
    var lines = [heading, "", row("", "", "since acted", "step", bar: "")]
    var place: TraceTimeline.Milestone.Place?
    for step in line.steps {
      let isFirst = step.milestone == .acted
      lines.append(
        row(
          step.milestone.place == place ? "" : step.milestone.place.words, step.milestone.word,
          Figure.milliseconds(step.at), isFirst ? "" : Figure.milliseconds(step.duration),
          bar: bar(step, of: line.total)))
      place = step.milestone.place
    }
    lines.append("")
    if let largest = line.largest, line.total > 0 {
      lines.append(
        "The largest part is \(largest.milestone.part(hasRelayTimes: line.hasRelayTimes)): "
          + "\(Figure.milliseconds(largest.duration)), \(largest.duration * 100 / line.total) % of "
          + "the whole.")
    }
    if let uncertainty = line.uncertainty {
      lines.append(
        "The relay's times are by its own clock; all three may be up to "
          + "\(Figure.milliseconds(uncertainty)) earlier or later.")
    } else {
      lines.append(
        "This relay reports no times: its part is one step, with the network in both directions.")
    }
    return lines
  }

  private static func row(
    _ place: String, _ word: String, _ since: String, _ step: String, bar: String
  ) -> String {
    func left(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(0, width - text.count))
    }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let line = left(place, 10) + left(word, 11) + right(since, 11)
    if step.isEmpty { return line }
    return line + right(step, 12) + (bar.isEmpty ? "" : "  " + bar)
  }

  /// Draws a bar that shows the position of the step in the total; empty for a step without
  /// duration.
  private static func bar(_ step: TraceTimeline.Step, of total: Int64) -> String {
    guard step.duration > 0, total > 0 else { return "" }
    let start = (step.at - step.duration) * barWidth / total
    let end = (step.at * barWidth + total - 1) / total
    return String(repeating: " ", count: Int(start))
      + String(repeating: "█", count: Int(end - start))
  }
}

extension TraceTimeline.Milestone {
  package enum Place: String {
    case deviceA
    case relay
    case deviceB

    package var words: String {
      switch self {
      case .deviceA: "device A"
      case .relay: "relay"
      case .deviceB: "device B"
      }
    }
  }

  package var place: Place {
    switch self {
    case .acted, .stored, .sent: .deviceA
    case .cameToRelay, .committed, .pushed: .relay
    case .received, .applied: .deviceB
    }
  }

  /// Word for the event at this milestone.
  package var word: String {
    switch self {
    case .cameToRelay: "received"
    case .acted, .stored, .sent, .committed, .pushed, .received, .applied: rawValue
    }
  }

  /// Describes the step from the previous milestone.
  package func part(hasRelayTimes: Bool) -> String {
    switch self {
    case .acted, .stored: "device A's own transaction"
    case .sent: "device A, before it sent"
    case .cameToRelay: "the network to the relay"
    case .committed: "the relay's commit"
    case .pushed: "the relay's push"
    case .received where hasRelayTimes: "the network to device B"
    case .received: "the relay, with the network in both directions"
    case .applied: "device B's own transaction"
    }
  }
}

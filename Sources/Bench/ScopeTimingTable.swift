import LockstepJSON
import LockstepTerminal

/// Result of a scope timing, as figures and as text: the median time of an answer about what is
/// there and about what nobody has, in each run.
package struct ScopeTimingTable: Sendable {
  package var runs: [ScopeTimings]

  /// Maximum distance of a ratio from 1 in thousandths, if the control's is not larger: what the
  /// medians of equal requests differ by on a quiet machine.
  package static let distanceMost: Int64 = 20

  package init(runs: [ScopeTimings]) { self.runs = runs }

  /// True if no question's times show what is there; false if nothing was measured.
  package var isMet: Bool { ScopeQuestion.allCases.allSatisfy(isMet) }

  package func isMet(_ question: ScopeQuestion) -> Bool {
    guard let ratio = Figure.median(ratios(question, .there)) else { return false }
    let control = ratios(question, .control).map { abs($0 - 1_000) }.max() ?? 0
    return abs(ratio - 1_000) <= max(Self.distanceMost, control)
  }

  /// Returns each run's median, in nanoseconds.
  private func medians(_ question: ScopeQuestion, _ subject: ScopeSubject) -> [Int64] {
    let probe = ScopeProbe(question: question, subject: subject)
    return runs.compactMap { Figure.median($0.nanoseconds[probe] ?? []) }
  }

  /// Returns each run's median relative to that of what nobody has, in thousandths.
  private func ratios(_ question: ScopeQuestion, _ subject: ScopeSubject) -> [Int64] {
    zip(medians(question, subject), medians(question, .missing)).compactMap { median, missing in
      missing > 0 ? median * 1_000 / missing : nil
    }
  }

  package var json: JSONValue {
    .object([
      JSONMember("questions", .array(ScopeQuestion.allCases.map(json))),
      JSONMember("isMet", .bool(isMet)),
    ])
  }

  private func json(_ question: ScopeQuestion) -> JSONValue {
    var members = [JSONMember("question", .string(question.rawValue))]
    for (name, subject) in [("there", ScopeSubject.there), ("missing", .missing)] {
      let medians = medians(question, subject)
      members.append(JSONMember(name + "Us", .decimal(thousandths: Figure.median(medians))))
    }
    for (name, subject) in [("ratio", ScopeSubject.there), ("controlRatio", .control)] {
      let ratios = ratios(question, subject)
      members += [
        JSONMember(name, .decimal(thousandths: Figure.median(ratios))),
        JSONMember(name + "s", .array(ratios.map { .decimal(thousandths: $0) })),
      ]
    }
    return .object(members)
  }

  package var text: String {
    let count = ScopeProbe.all.compactMap { runs.first?.nanoseconds[$0]?.count }.max() ?? 0
    var lines = [
      "A device paired for one zone asks about another; medians of \(runs.count) runs of \(count) "
        + "requests of each kind, in µs, with the least and the greatest run",
      "", Self.row("", ["there", "nobody has it", "ratio", "of two that nobody has"]),
    ]
    for question in ScopeQuestion.allCases {
      lines.append(
        Self.row(
          question.rawValue,
          [
            Self.spread(medians(question, .there)), Self.spread(medians(question, .missing)),
            Self.ratio(ratios(question, .there)), Self.ratio(ratios(question, .control)),
          ]) + (isMet(question) ? "   met" : "   MISSED"))
    }
    lines += [
      "",
      "A ratio may differ from 1 by 0.020, or as much as that of two names that nobody has: "
        + (isMet ? "met" : "MISSED"),
    ]
    return lines.joined(separator: "\n")
  }

  private static func row(_ label: String, _ columns: [String]) -> String {
    var line = label + String(repeating: " ", count: max(0, 22 - label.count))
    for column in columns {
      line += String(repeating: " ", count: max(1, 24 - column.count)) + column
    }
    return line
  }

  private static func spread(_ values: [Int64]) -> String {
    spread(values) { Figure.decimal(thousandths: $0) }
  }

  /// Three decimals, because the limit is a fiftieth.
  private static func ratio(_ values: [Int64]) -> String {
    spread(values) { value in
      let fraction = String(value % 1_000)
      return "\(value / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
  }

  private static func spread(_ values: [Int64], _ text: (Int64) -> String) -> String {
    guard let median = Figure.median(values), let least = values.min(), let most = values.max()
    else { return "–" }
    return "\(text(median)) (\(text(least))–\(text(most)))"
  }
}

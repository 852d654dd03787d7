import Simulator

/// Figures as text.
struct FigureText {
  private let figures: Figures
  private let seconds: Double
  private let played: Int

  init(_ figures: Figures, seconds: Double, played: Int) {
    self.figures = figures
    self.seconds = seconds
    self.played = played
  }

  var text: String {
    let seeds = max(1, figures.seeds)
    let right =
      figures.judged == 0
      ? "\(number(figures.conflicts))"
      : "\(number(figures.conflicts)); \(number(figures.judged)) with a required result, "
        + "reached by \(share(figures.asDemanded, figures.judged))"
    return """
      seeds      \(number(figures.seeds)) in \(tenths(seconds)) s, \
      \(tenths(Double(played) / max(0.001, seconds))) a second
      time       \(years) simulated years
      devices    \(number(figures.devices))
      edits      \(number(figures.edits)), \(figures.edits / seeds) a seed
      conflicts  \(right)
      faults     \(number(figures.tally.faultCount)), \(figures.tally.faultCount / seeds) a seed
      \(strikes)
      happened   \(happenings)
      """
  }

  private var years: String {
    tenths(Double(figures.virtualMilliseconds) / 1_000 / 3_600 / 24 / 365.25)
  }

  private var strikes: String {
    FaultPlan.Kind.allCases.map { kind in
      "  \(number(figures.tally[kind]))".padded(to: 14) + kind.rawValue
    }.joined(separator: "\n")
  }

  private var happenings: String {
    Tally.Occurrence.allCases.filter { figures.tally[$0] > 0 }
      .map { "\($0.rawValue) \(number(figures.tally[$0]))" }.joined(separator: ", ")
  }

  private func number(_ count: Int) -> String { Output.grouped(count) }

  private func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(Output.grouped(tenths / 10)).\(tenths % 10)"
  }

  /// Returns a percentage with hundredths, never rounded up to 100 %.
  private func share(_ part: Int, _ whole: Int) -> String {
    let share = part * 10_000 / whole
    let rest = share % 100
    return rest == 0 ? "\(share / 100) %" : "\(share / 100).\(rest < 10 ? "0" : "")\(rest) %"
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }
}

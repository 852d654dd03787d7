/// A run and an earlier one of the same bench.
struct RunComparison {
  struct Row: Hashable {
    var figure: RunFigure
    /// nil if the earlier run has no figure of this name.
    var earlier: RunFigure?

    /// Ratio to the earlier figure, in thousandths; nil if one is unknown, or the earlier one is 0.
    var ratioThousandths: Int64? {
      guard let now = figure.thousandths, let then = earlier?.thousandths, then > 0,
        earlier?.unit == figure.unit, now <= .max / 1_000
      else { return nil }
      return now * 1_000 / then
    }
  }

  let run: BenchRun
  let earlier: BenchRun?

  /// All figures of the run, in order.
  var rows: [Row] {
    run.figures.map { figure in
      Row(figure: figure, earlier: earlier?.figures.first { $0.label == figure.label })
    }
  }

  /// Differences of plan and machine between the two runs, one sentence each.
  var differences: [String] {
    guard let earlier else { return [] }
    return differences("plan", run.plan, earlier.plan)
      + differences("machine", run.origin.machine, earlier.origin.machine)
  }

  private func differences(_ noun: String, _ facts: [RunFact], _ others: [RunFact]) -> [String] {
    pairs(facts, others).filter { $0.now != $0.then }.map { name, now, then in
      "\(noun), \(name): \(now ?? "–") here, \(then ?? "–") in the earlier run"
    }
  }

  /// Facts of both runs by name, those of the run first; nil if one run lacks the fact.
  func pairs(
    _ facts: [RunFact], _ others: [RunFact]
  ) -> [(name: String, now: String?, then: String?)] {
    facts.map { fact in (fact.name, fact.value, others.first { $0.name == fact.name }?.value) }
      + others.filter { other in !facts.contains { $0.name == other.name } }.map {
        ($0.name, nil, $0.value)
      }
  }
}

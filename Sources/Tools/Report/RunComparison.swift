/// A run beside an earlier one of the same bench.
struct RunComparison {
  struct Row: Hashable {
    var figure: RunFigure
    /// nil where the earlier run has none of that name.
    var earlier: RunFigure?

    /// How many times as much as earlier, in thousandths; nil where one is not known, or nothing
    /// was there to be a multiple of.
    var ratioThousandths: Int64? {
      guard let now = figure.thousandths, let then = earlier?.thousandths, then > 0,
        earlier?.unit == figure.unit, now <= .max / 1_000
      else { return nil }
      return now * 1_000 / then
    }
  }

  let run: BenchRun
  let earlier: BenchRun?

  /// All figures of the run, in their order.
  var rows: [Row] {
    run.figures.map { figure in
      Row(figure: figure, earlier: earlier?.figures.first { $0.label == figure.label })
    }
  }

  /// What the two were told to do, or ran on, and is not the same; a sentence each.
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

  /// The facts of both by their names, those of the run first; nil where one has none.
  func pairs(
    _ facts: [RunFact], _ others: [RunFact]
  ) -> [(name: String, now: String?, then: String?)] {
    facts.map { fact in (fact.name, fact.value, others.first { $0.name == fact.name }?.value) }
      + others.filter { other in !facts.contains { $0.name == other.name } }.map {
        ($0.name, nil, $0.value)
      }
  }
}

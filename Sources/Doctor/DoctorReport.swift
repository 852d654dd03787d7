import LockstepApps
import LockstepCommandLine
import LockstepJSON
import LockstepTerminal

/// All results of `lockstep doctor`, as text and as JSON.
package struct DoctorReport: Sendable {
  /// Checked subjects: a relay's address, a home, a store.
  package var subjects: [String]
  package var checks: [DoctorCheck] = []

  package init(of subjects: [String]) { self.subjects = subjects }

  package func count(of verdict: DoctorCheck.Verdict) -> Int {
    checks.count { $0.verdict == verdict }
  }

  package var hasProblem: Bool { count(of: .problem) > 0 }

  package var json: JSONValue {
    func number(_ name: String, _ verdict: DoctorCheck.Verdict) -> JSONMember {
      JSONMember(name, .whole(Int64(count(of: verdict))))
    }
    return .object([
      JSONMember("subjects", .array(subjects.map { .string($0) })),
      JSONMember("isGood", .bool(!hasProblem)),
      number("problems", .problem), number("warnings", .warning), number("skipped", .skipped),
      JSONMember("checks", .array(checks.map(\.json))),
    ])
  }

  /// `isColoured`: true if the output supports colours. `documents`: those that next steps name.
  package func text(
    isColoured: Bool, documents: Documentation = Documentation(folders: [])
  ) -> String {
    var lines = [subjects.joined(separator: ", ")]
    var area: DoctorCheck.Area?
    for check in checks {
      if check.area != area { lines += ["", check.area.rawValue] }
      area = check.area
      let mark = Self.mark(check.verdict, isColoured)
      lines.append("  \(mark)  \(RowText.left(check.name, 11)) \(RowText.line(check.seen))")
      if check.verdict != .ok, let step = check.nextStep {
        lines.append("           → \(documents.located(RowText.line(step)))")
      }
    }
    return (lines + ["", summary]).joined(separator: "\n")
  }

  private var summary: String {
    let (problems, warnings) = (count(of: .problem), count(of: .warning))
    let left = count(of: .skipped)
    let skipped = left == 0 ? "" : "; \(left) skipped"
    if problems == 0 && warnings == 0 { return "nothing prevents sync\(skipped)" }
    return "\(problems) \(problems == 1 ? "problem" : "problems"), "
      + "\(warnings) \(warnings == 1 ? "warning" : "warnings")\(skipped)"
  }

  private static func mark(_ verdict: DoctorCheck.Verdict, _ isColoured: Bool) -> String {
    let (word, colour) =
      switch verdict {
      case .ok: ("ok     ", 32)
      case .skipped: ("–      ", 2)
      case .warning: ("warning", 33)
      case .problem: ("PROBLEM", 31)
      }
    return isColoured ? "\u{1B}[\(colour)m\(word)\u{1B}[0m" : word
  }
}

import AppLaws
import LockstepEventLoop
import LockstepJSON
import Synchronization
import WireLaws

/// Random histories of edits of one record, for each merge rule, against a model that knows the
/// whole history (`RuleHistory`). Played by several threads.
struct RuleRun {
  /// Histories of each rule.
  static let historiesUsual: UInt64 = 50_000
  /// Findings of a rule that end its part of the run: there is enough to work on.
  static let findingsMax = 5
  /// Histories that a thread plays before it reports.
  private static let portion: UInt64 = 200

  let options: Options
  let histories: UInt64
  let subjects: [RuleHistory.Subject]

  private struct Finding: Sendable {
    var seed: UInt64
    var words: String
  }

  /// Result of one rule, or of a part of its histories.
  private struct Count: Sendable {
    var histories = 0
    var orders = 0
    var findings: [Finding] = []

    mutating func add(_ other: Count) {
      histories += other.histories
      orders += other.orders
      findings += other.findings
    }
  }

  /// Work that is left, shared by the threads.
  private final class Work: Sendable {
    let portions: [(subject: Int, slice: Slice)]
    let next = Atomic(0)
    /// For each rule: true if it has findings enough.
    let isOver: Mutex<[Bool]>
    let results: Mailbox<(subject: Int, Count)>

    init(_ portions: [(subject: Int, slice: Slice)], subjects: Int) throws(SystemFault) {
      self.portions = portions
      isOver = Mutex(Array(repeating: false, count: subjects))
      results = try Mailbox(isBlocking: true)
    }
  }

  func run() throws -> Int32 {
    let watch = Stopwatch()
    let counts = try play(watch)
    Output.showProgress("")
    Output.writeResult(
      options.isJSON ? json(counts, watch.seconds).text : text(counts, watch.seconds))
    return counts.allSatisfy { $0.findings.isEmpty } ? Program.passed : Program.found
  }

  private func play(_ watch: Stopwatch) throws(SystemFault) -> [Count] {
    let portions = subjects.indices.flatMap { subject in
      stride(from: options.first, to: options.first + histories, by: Int(Self.portion)).map {
        (
          subject: subject,
          slice: Slice(
            first: $0, count: min(Self.portion, options.first + histories - $0))
        )
      }
    }
    let work = try Work(portions, subjects: subjects.count)
    var threads: [LoopThread] = []
    let subjects = subjects
    for number in 0..<options.jobs {
      threads.append(try LoopThread("rules \(number)") { Self.play(work, subjects) })
    }
    var counts = subjects.map { _ in Count() }
    var received: [(subject: Int, Count)] = []
    var done = 0
    var shownAt = 0.0
    while done < portions.count, work.results.waitForMessages(into: &received) {
      for (subject, count) in received {
        counts[subject].add(count)
        if counts[subject].findings.count >= Self.findingsMax {
          work.isOver.withLock { $0[subject] = true }
        }
      }
      done += received.count
      received.removeAll()
      if watch.seconds - shownAt > (Output.hasWatcher ? 0.5 : 60) {
        shownAt = watch.seconds
        showProgress(counts, shownAt)
      }
    }
    for thread in threads { thread.join() }
    return counts
  }

  private static func play(_ work: Work, _ subjects: [RuleHistory.Subject]) {
    while true {
      let index = work.next.add(1, ordering: .relaxed).oldValue
      guard index < work.portions.count else { return }
      let (subject, slice) = work.portions[index]
      var count = Count()
      let isOver = work.isOver.withLock { $0[subject] }
      for seed in slice.first..<slice.end where !isOver {
        count.histories += 1
        do throws(BrokenLaw) {
          count.orders += try RuleHistory.play(seed: seed, subjects[subject])
        } catch {
          count.findings.append(Finding(seed: seed, words: error.description))
        }
      }
      work.results.post((subject, count))
    }
  }

  // MARK: report

  private func showProgress(_ counts: [Count], _ seconds: Double) {
    let played = counts.reduce(0) { $0 + $1.histories }
    let wanted = Int(histories) * subjects.count
    let found = counts.reduce(0) { $0 + $1.findings.count }
    let rate = Double(played) / max(seconds, 0.001)
    let left = Int(Double(wanted - played) / max(rate, 0.1))
    Output.showProgress(
      "\(Output.grouped(played)) of \(Output.grouped(wanted)) histories, "
        + "\(Output.grouped(Int(rate))) a second, \(left / 60) min \(left % 60) s to go, found: "
        + (found == 0 ? "nothing" : "\(found)"))
  }

  private func text(_ counts: [Count], _ seconds: Double) -> String {
    var lines: [String] = []
    for (subject, count) in zip(subjects, counts) {
      let name = subject.name + String(repeating: " ", count: max(1, 20 - subject.name.count))
      lines.append(
        name + Output.grouped(count.histories) + " histories, "
          + Output.grouped(count.orders) + " orders of arrival"
          + (count.findings.isEmpty ? "" : ", FAILED"))
      for finding in count.findings.prefix(Self.findingsMax) {
        lines += ["  " + finding.words, "  " + replay(subject, finding.seed)]
      }
    }
    let failed = counts.count { !$0.findings.isEmpty }
    lines.append(
      failed == 0
        ? "all ended as the whole history demands, in \(Output.grouped(Int(seconds))) s"
        : "\(failed) of \(subjects.count) rules failed")
    return lines.joined(separator: "\n")
  }

  private func replay(_ subject: RuleHistory.Subject, _ seed: UInt64) -> String {
    "scripts/simulate --rules 1 --rule \(subject.name) --first \(seed)"
  }

  private func json(_ counts: [Count], _ seconds: Double) -> JSONValue {
    let rules = zip(subjects, counts).map { subject, count -> JSONValue in
      let findings: [JSONValue] = count.findings.map {
        ["seed": .string("\($0.seed)"), "words": .string($0.words)]
      }
      return [
        "rule": .string(subject.name),
        "histories": .number(JSONNumber(Int64(count.histories))),
        "orders": .number(JSONNumber(Int64(count.orders))), "findings": .array(findings),
      ]
    }
    return [
      "first": .string("\(options.first)"), "rules": .array(rules),
      "milliseconds": .number(JSONNumber(Int64(seconds * 1_000))),
    ]
  }
}

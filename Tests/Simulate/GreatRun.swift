import LockstepJSON
import Simulator

/// A run of many seeds, and its report.
struct GreatRun {
  /// Number of findings that ends the run: there is enough to work on.
  static let findingsMax = 20
  /// Number of findings that are reported with their story; each takes a while.
  static let storiesMax = 3

  let options: Options
  private let watch = Stopwatch()
  private var figures = Figures()
  private var played = 0
  private var findings: [Finding] = []
  /// Digest of each seed that one process has played, with `--twice`.
  private var digests: [UInt64: UInt64] = [:]
  private var shownAt = 0.0

  struct Finding {
    enum Kind: String {
      /// A checker reported a violation.
      case fault
      /// Less happened than each seed must have.
      case shortfall
      /// Two processes played the seed differently.
      case unlike
      case crash
    }

    var kind: Kind
    var seed: UInt64
    var words: String
  }

  init(options: Options) { self.options = options }

  mutating func run() throws -> Int32 {
    let slices = Slice.portions(first: options.first, seeds: options.seeds, jobs: options.jobs)
    // The second time another process plays each seed.
    var crew = Crew(options: options, slices: options.isTwice ? slices + slices : slices)
    try crew.run { event in handleEvent(event) }
    Output.showProgress("")
    if options.isJSON { Output.writeResult(json.text) } else { report() }
    let reported = findings.filter { $0.kind == .fault }.prefix(GreatRun.storiesMax)
    for finding in reported where !options.isJSON {
      _ = try Story(seed: finding.seed, options: options).writeReport()
    }
    return findings.isEmpty ? Program.passed : Program.found
  }

  private var seedsWanted: Int { Int(options.seeds) * (options.isTwice ? 2 : 1) }

  private mutating func handleEvent(_ event: Crew.Event) -> Bool {
    switch event {
    case .crashed(let seed, let how):
      findings.append(Finding(kind: .crash, seed: seed, words: how))
    case .played(let seed, _): recordSeed(seed)
    }
    showProgress()
    return findings.count < GreatRun.findingsMax
  }

  private mutating func recordSeed(_ seed: PlayedSeed) {
    played += 1
    if options.isTwice {
      if let before = digests[seed.seed] {
        if before != seed.digest {
          findings.append(
            Finding(
              kind: .unlike, seed: seed.seed,
              words: "two runs had different results: \(before) and \(seed.digest)"))
        }
        return
      }
      digests[seed.seed] = seed.digest
    }
    figures.add(seed.figures)
    if let fault = seed.faults.first {
      findings.append(Finding(kind: .fault, seed: seed.seed, words: fault))
    } else if !seed.shortfalls.isEmpty {
      findings.append(
        Finding(
          kind: .shortfall, seed: seed.seed,
          words: seed.shortfalls.joined(separator: "; ")))
    }
  }

  private mutating func showProgress() {
    let seconds = watch.seconds
    guard seconds - shownAt > (Output.hasWatcher ? 0.5 : 60) else { return }
    shownAt = seconds
    let rate = Double(played) / seconds
    let left = Int(Double(seedsWanted - played) / max(rate, 0.1))
    let found = findings.map { "\($0.seed)" }.joined(separator: ", ")
    Output.showProgress(
      "\(Output.grouped(played)) of \(Output.grouped(seedsWanted)) seeds, \(Int(rate)) a second, "
        + "\(left / 60) min \(left % 60) s to go, found: \(found.isEmpty ? "nothing" : found)")
  }

  // MARK: report

  private func report() {
    for finding in findings {
      Output.writeResult(
        "seed \(finding.seed): \(finding.kind.rawValue): \(finding.words)\n"
          + "  \(options.replay(finding.seed))")
    }
    if findings.count >= GreatRun.findingsMax {
      Output.writeResult("… stopped after \(GreatRun.findingsMax) findings")
    }
    Output.writeResult(FigureText(figures, seconds: watch.seconds, played: played).text)
    if options.isTwice {
      let same = digests.count == figures.seeds && !findings.contains { $0.kind == .unlike }
      Output.writeResult(
        same ? "each seed had identical results in two processes" : "")
    }
    Output.writeResult(
      findings.isEmpty
        ? "all checks passed" : "\(findings.count) of \(figures.seeds) seeds failed")
  }

  private var json: JSONValue {
    let found: [JSONValue] = findings.map {
      [
        "seed": .string("\($0.seed)"), "kind": .string($0.kind.rawValue),
        "words": .string($0.words),
      ]
    }
    return [
      "profile": .string(options.profile.name), "first": .string("\(options.first)"),
      "played": .number(JSONNumber(Int64(played))),
      "milliseconds": .number(JSONNumber(Int64(watch.seconds * 1_000))),
      "figures": figures.json, "findings": .array(found),
    ]
  }
}

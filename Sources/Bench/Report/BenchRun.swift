import LockstepJSON
import LockstepModel
import LockstepTerminal

/// One run of a bench, with everything that a report shows and that a later report compares.
package struct BenchRun: Hashable, Sendable {
  package var kind: BenchKind
  /// One-line description of the run.
  package var summary: String
  package var origin: RunOrigin
  /// Parameters of the bench; two runs are comparable only if these are equal.
  package var plan: [RunFact]
  package var figures: [RunFigure]
  /// Failures during the run, one sentence each.
  package var notes: [String]
  /// Measured distributions; every run of a bench has the same ones.
  package var series: [RunSeries]

  package init(
    kind: BenchKind, summary: String, origin: RunOrigin, plan: [RunFact], figures: [RunFigure],
    notes: [String], series: [RunSeries]
  ) {
    self.kind = kind
    self.summary = summary
    self.origin = origin
    self.plan = plan
    self.figures = figures
    self.notes = notes
    self.series = series
  }
}

/// Benches that measure latencies, by the names of their commands.
package enum BenchKind: String, Hashable, Sendable {
  case latency
  case crowd
  case firstSync = "first-sync"

  /// Name of the measured latency.
  var measured: String {
    switch self {
    case .latency, .crowd: "change to screen"
    case .firstSync: "a save's answer"
    }
  }

  /// Name of the counted events.
  package var counted: String {
    switch self {
    case .latency, .crowd: "deliveries"
    case .firstSync: "saves"
    }
  }
}

/// Origin of a run.
package struct RunOrigin: Hashable, Sendable {
  /// Version of the program.
  package var version: String
  /// Milliseconds since the Unix epoch.
  package var madeAt: Int64
  /// Command that repeats the run, without secrets.
  package var command: String
  package var machine: [RunFact]

  package init(version: String, madeAt: Int64, command: String, machine: [RunFact]) {
    self.version = version
    self.madeAt = madeAt
    self.command = command
    self.machine = machine
  }
}

package struct RunFact: Hashable, Sendable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// Distribution of latencies.
package struct RunSeries: Hashable, Sendable {
  package var name: String
  package var latency: LatencyHistogram
  /// One element per second; empty if the bench has no timeline, nil for a second without values.
  package var seconds: [TimelineSecond?]

  package init(name: String, latency: LatencyHistogram, seconds: [TimelineSecond?]) {
    self.name = name
    self.latency = latency
    self.seconds = seconds
  }
}

extension BenchRun {
  /// Maximum file size in bytes, far above any report or output of a bench.
  package static let fileBytesMost = 4 << 20

  /// Reads the file of an earlier run: a report's page, or the output of `--json`.
  package init(file bytes: [UInt8]) throws(RunFault) {
    let first = bytes.first { !" \t\r\n".utf8.contains($0) }
    guard first == UInt8(ascii: "<") else {
      let json = try Self.parsed(bytes)
      try self.init(json: json["run"] ?? json)
      return
    }
    guard let start = bytes.firstRange(of: Array(ReportPage.runStart.utf8)) else {
      let isPicture = bytes.firstRange(of: Array("<html".utf8)) == nil
      let isDrawn = bytes.firstRange(of: Array("<svg".utf8)) != nil
      throw isPicture && isDrawn ? RunFault.picture : RunFault.noRun
    }
    let rest = bytes[start.upperBound...]
    guard let end = rest.firstRange(of: Array(ReportPage.runEnd.utf8)) else {
      throw RunFault.bad(member: "script")
    }
    try self.init(json: try Self.parsed(Array(rest[..<end.lowerBound])))
  }

  private static func parsed(_ bytes: [UInt8]) throws(RunFault) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: bytes)
    } catch {
      throw RunFault.unreadable(error)
    }
  }
}

extension BenchTable {
  /// Maximum number of failure sentences in a report.
  static let failuresShown = 5

  /// Returns the contents of a report. `isOwnRelay`: true if no other relay was named.
  package func run(from origin: RunOrigin, isOwnRelay: Bool) -> BenchRun {
    BenchRun(
      kind: .latency, summary: title, origin: origin,
      plan: plan.facts + [
        RunFact("relay", isOwnRelay ? "its own, on a temporary store" : "one that runs elsewhere")
      ],
      figures: figures, notes: Array(result.failures.prefix(Self.failuresShown)),
      series: [
        RunSeries(
          name: "change to screen", latency: result.latency, seconds: result.timeline.seconds)
      ])
  }
}

extension BenchPlan {
  /// Parameters, for a report.
  package var facts: [RunFact] {
    [
      RunFact("accounts", "\(accounts)"), RunFact("devices of each", "\(devices)"),
      RunFact("changes a second", "\(rate)"), RunFact("seconds", "\(seconds)"),
      RunFact("transport", transport.rawValue),
    ]
  }
}

/// Reason why a file cannot be used for a comparison.
package enum RunFault: Error, Hashable, Sendable {
  /// Neither a report's page nor JSON.
  case unreadable(JSONFault)
  /// A picture only: it shows a run but does not contain its data.
  case picture
  /// JSON or a page, but not of a bench.
  case noRun
  /// Written by a newer version of the program, with this format number.
  case newer(Int64)
  /// A member is missing or has an invalid value.
  case bad(member: String)
  case otherBench(BenchKind, wanted: BenchKind)
}

extension RunFault: CustomStringConvertible {
  /// Continues a sentence that begins with the file's name and a colon.
  package var description: String {
    switch self {
    case .unreadable(let fault): "it is neither a report nor JSON: \(fault)"
    case .picture:
      "a picture does not contain its figures; name the report (.html) or the "
        + "--json output of that run"
    case .noRun:
      "it contains no run of a bench; name a report (.html) or the output of `lockstep bench … "
        + "--json`"
    case .newer(let format):
      "it was written in format \(format), by a newer lockstep; compare with that version"
    case .bad(let member): "it is damaged: \"\(member)\" is not what a bench writes"
    case .otherBench(let kind, let wanted):
      "it is a run of `bench \(kind.rawValue)`; name one of `bench \(wanted.rawValue)`"
    }
  }
}

/// Command that repeats a run, as a person would type it.
package enum RunCommandLine {
  /// `name`: the words of the command. `options`: in order, without dashes; a nil value marks a
  /// flag. The part before the @ of an address is omitted: it may be a password.
  package static func text(_ name: String, options: [(name: String, value: String?)]) -> String {
    ([name]
      + options.map { option in
        "--\(option.name)" + (option.value.map { " " + quoted(withoutUser($0)) } ?? "")
      }).joined(separator: " ")
  }

  private static func withoutUser(_ value: String) -> String {
    guard let scheme = value.firstRange(of: "://"),
      let end = value[scheme.upperBound...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
    else { return value }
    return value[..<scheme.upperBound] + "…" + value[end...]
  }

  /// Quotes the word for a shell if it contains special characters.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-_./:,@%+=".utf8.contains(byte)
      }
    }
    if isPlain && !word.isEmpty { return word }
    return "'"
      + word.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
  }
}

extension BenchRun {
  /// Format number. Increment it if a current reader could not understand the new output.
  package static let format: Int64 = 1

  /// The form of `--json`, also embedded in a page for later comparisons. Latencies are in
  /// nanoseconds; a bucket is its greatest value and a count, a second of the timeline `[count,
  /// p50, p99, max]`.
  package var json: JSONValue {
    .object([
      JSONMember("format", .whole(Self.format)),
      JSONMember("bench", .string(kind.rawValue)),
      JSONMember("summary", .string(summary)),
      JSONMember("version", .string(origin.version)),
      JSONMember("madeAtMs", .whole(origin.madeAt)),
      JSONMember("command", .string(origin.command)),
      JSONMember("machine", .array(origin.machine.map(\.json))),
      JSONMember("plan", .array(plan.map(\.json))),
      JSONMember("figures", .array(figures.map(\.json))),
      JSONMember("notes", .array(notes.map(JSONValue.string))),
      JSONMember("series", .array(series.map(\.json))),
    ])
  }

  /// Validates everything, because a file may come from anywhere.
  package init(json: JSONValue) throws(RunFault) {
    guard json.members != nil, let format = json["format"]?.int64 else { throw RunFault.noRun }
    guard format <= Self.format else { throw RunFault.newer(format) }
    guard format == Self.format else { throw RunFault.bad(member: "format") }
    guard let kind = json["bench"]?.string.flatMap(BenchKind.init) else {
      throw RunFault.bad(member: "bench")
    }
    guard let madeAt = json["madeAtMs"]?.int64, 0...RunBounds.madeAtMost ~= madeAt else {
      throw RunFault.bad(member: "madeAtMs")
    }
    self.init(
      kind: kind, summary: try json.text("summary"),
      origin: RunOrigin(
        version: try json.text("version"), madeAt: madeAt, command: try json.text("command"),
        machine: try json.list("machine", atMost: RunBounds.facts, RunFact.init)),
      plan: try json.list("plan", atMost: RunBounds.facts, RunFact.init),
      figures: try json.list("figures", atMost: RunBounds.figures, RunFigure.init),
      notes: try json.list("notes", atMost: RunBounds.notes) { $0.boundedText },
      series: try json.list("series", atMost: RunBounds.series, RunSeries.init))
    guard !series.isEmpty else { throw RunFault.bad(member: "series") }
  }
}

/// Limits far above the largest run.
enum RunBounds {
  static let facts = 40
  static let figures = 100
  static let notes = 20
  static let series = 2
  /// Maximum bytes of one text.
  static let textBytes = 16 << 10
  /// End of the year 9999.
  static let madeAtMost: Int64 = 253_402_300_799_999
  /// Maximum figure: below it a multiplication by a thousand cannot overflow.
  static let figureMost: Int64 = 1 << 53
}

extension JSONValue {
  /// String within the limit; nil for anything else.
  fileprivate var boundedText: String? {
    string.flatMap { $0.utf8.count <= RunBounds.textBytes ? $0 : nil }
  }

  fileprivate func text(_ member: String) throws(RunFault) -> String {
    guard let text = self[member]?.boundedText else { throw RunFault.bad(member: member) }
    return text
  }

  /// Reads a list. `read` returns nil for an invalid element.
  fileprivate func list<Element>(
    _ member: String, atMost most: Int, _ read: (JSONValue) -> Element?
  ) throws(RunFault) -> [Element] {
    guard let values = self[member]?.array, values.count <= most else {
      throw RunFault.bad(member: member)
    }
    let elements = values.compactMap(read)
    guard elements.count == values.count else { throw RunFault.bad(member: member) }
    return elements
  }
}

extension RunFact {
  fileprivate var json: JSONValue {
    .object([JSONMember("name", .string(name)), JSONMember("value", .string(value))])
  }

  fileprivate init?(json: JSONValue) {
    guard let name = json["name"]?.boundedText, let value = json["value"]?.boundedText else {
      return nil
    }
    self.init(name, value)
  }
}

extension RunFigure {
  fileprivate var json: JSONValue {
    .object([
      JSONMember("label", .string(label)),
      JSONMember("thousandths", .whole(thousandths)),
      JSONMember("unit", .string(unit.rawValue)),
      JSONMember("target", target.map(JSONValue.string) ?? .null),
      JSONMember("met", isMet.map(JSONValue.bool) ?? .null),
    ])
  }

  fileprivate init?(json: JSONValue) {
    guard let label = json["label"]?.boundedText,
      let unit = json["unit"]?.string.flatMap(Unit.init),
      let value = json["thousandths"], let target = json["target"], let met = json["met"],
      target.isNull || target.boundedText != nil, met.isNull || met.bool != nil,
      value.isNull || value.int64.map({ 0...RunBounds.figureMost ~= $0 }) == true
    else { return nil }
    self.init(
      label, thousandths: value.int64, unit, target: target.boundedText, isMet: met.bool)
  }
}

extension RunSeries {
  fileprivate var json: JSONValue {
    let isEmpty = latency.count == 0
    return .object([
      JSONMember("name", .string(name)),
      JSONMember("leastNs", .whole(isEmpty ? nil : latency.leastNanoseconds)),
      JSONMember("greatestNs", .whole(isEmpty ? nil : latency.greatestNanoseconds)),
      JSONMember(
        "buckets",
        .array(
          latency.buckets.map { .array([.whole($0.upTo), .whole(Int64(clamping: $0.count))]) })),
      JSONMember("timeline", .array(seconds.map { $0?.json ?? .null })),
    ])
  }

  fileprivate init?(json: JSONValue) {
    guard let name = json["name"]?.boundedText, let buckets = json["buckets"]?.array,
      let timeline = json["timeline"]?.array, timeline.count <= LatencyTimeline.secondsMost
    else { return nil }
    let pairs = buckets.compactMap { value -> LatencyHistogram.Bucket? in
      guard let pair = value.array, pair.count == 2, let upTo = pair[0].int64,
        let count = pair[1].int64, count > 0
      else { return nil }
      return LatencyHistogram.Bucket(upTo: upTo, count: UInt64(count))
    }
    guard pairs.count == buckets.count,
      let latency = LatencyHistogram(
        buckets: pairs, least: json["leastNs"]?.int64 ?? .max,
        greatest: json["greatestNs"]?.int64 ?? 0)
    else { return nil }
    let seconds = timeline.map(TimelineSecond.init)
    guard zip(seconds, timeline).allSatisfy({ $0 != nil || $1.isNull }) else { return nil }
    self.init(name: name, latency: latency, seconds: seconds)
  }
}

extension TimelineSecond {
  fileprivate var json: JSONValue {
    .array([.whole(Int64(clamping: count)), .whole(median), .whole(p99), .whole(greatest)])
  }

  fileprivate init?(json: JSONValue) {
    guard let values = json.array?.compactMap(\.int64), values.count == 4,
      json.array?.count == 4, values[0] > 0, values[1] >= 0, values[1] <= values[2],
      values[2] <= values[3]
    else { return nil }
    self.init(count: UInt64(values[0]), median: values[1], p99: values[2], greatest: values[3])
  }
}

/// One figure of a run, with its unit and target.
package struct RunFigure: Hashable, Sendable {
  package enum Unit: String, Hashable, Sendable {
    case milliseconds = "ms"
    case microseconds = "µs"
    case mebibytes = "MiB"
    case instructions = "instr."
    /// Ratio.
    case times = "×"
    /// Whole number without a unit.
    case pieces = ""
  }

  package var label: String
  /// Value in thousandths of the unit; nil if unknown.
  package var thousandths: Int64?
  package var unit: Unit
  /// Target as shown: "< 5 s"; nil if there is none.
  package var target: String?
  /// nil if the figure has no verdict.
  package var isMet: Bool?

  package init(
    _ label: String, thousandths: Int64?, _ unit: Unit, target: String? = nil, isMet: Bool? = nil
  ) {
    self.label = label
    self.thousandths = thousandths
    self.unit = unit
    self.target = target
    self.isMet = isMet
  }

  package init(_ label: String, count: Int64?, target: String? = nil, isMet: Bool? = nil) {
    self.init(
      label, thousandths: count.map { $0 * 1_000 }, .pieces, target: target, isMet: isMet)
  }

  package init(_ label: String, nanoseconds: Int64?, target: String? = nil, isMet: Bool? = nil) {
    self.init(
      label, thousandths: nanoseconds.map { $0 / 1_000 }, .milliseconds, target: target,
      isMet: isMet)
  }

  package init(_ label: String, bytes: Int64?) {
    self.init(label, thousandths: bytes.map { ($0 * 1_000) >> 20 }, .mebibytes)
  }

  /// Figure that counts faults; its target is 0.
  package init(_ label: String, faults: Int) {
    self.init(label, count: Int64(faults), target: "0", isMet: faults == 0)
  }

  /// Value with its unit.
  package var text: String {
    guard let thousandths else { return unit == .milliseconds ? "–" : "unknown" }
    switch unit {
    case .pieces: return "\(thousandths / 1_000)"
    case .instructions: return "\(thousandths / 1_000) \(unit.rawValue)"
    case .milliseconds, .microseconds, .mebibytes, .times:
      return Figure.decimal(thousandths: thousandths) + " " + unit.rawValue
    }
  }

  /// The target and the verdict; empty if there is no target.
  var judgement: String {
    let verdict = isMet.map { $0 ? " met" : " MISSED" } ?? ""
    return target.map { $0 + verdict } ?? ""
  }
}

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

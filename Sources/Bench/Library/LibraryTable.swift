import LockstepJSON
import LockstepTerminal

/// Result of a library bench, as text and as JSON.
package struct LibraryTable: Sendable {
  /// Measured durations, in the order of the table.
  package enum Measure: String, CaseIterable, Sendable {
    case save
    case transaction
    /// From the begin of a save until a live query gives its record.
    case liveTotal
    /// The same from the end of the save.
    case live
    case open
    case read
  }

  package var plan: LibraryPlan
  package var results: [Measure: [LibraryRound]] = [:]
  package var memory: [LibraryMemory.Holder: [LibraryMemory]] = [:]

  /// Maximum of a durable save, in thousandths of a bare commit.
  package static let saveRatioMost: Int64 = 1_500
  /// Maximum from a save until a live query gives it, in nanoseconds.
  package static let liveMost: Int64 = 1_000_000

  package init(plan: LibraryPlan) { self.plan = plan }

  package static func label(of measure: Measure, _ plan: LibraryPlan) -> String {
    switch measure {
    case .save: "a durable save of one record"
    case .transaction: "a transaction of \(LibraryPlan.transactionRecords)"
    case .liveTotal: "save until a live query of \(plan.liveRecords) has it"
    case .live: "of that, after the save"
    case .open: "open a home of \(plan.records)"
    case .read: "read all of them first"
    }
  }

  /// The target of a measure and the verdict; nil if it has none, or was not measured.
  package func judgement(of measure: Measure) -> (target: String, isMet: Bool)? {
    switch measure {
    case .save:
      median(measure, \.ratio).map { ("≤ 1.5", $0 <= Self.saveRatioMost) }
    case .live:
      median(measure, \.library).map { ("< 1 ms", $0 < Self.liveMost) }
    case .transaction, .liveTotal, .open, .read: nil
    }
  }

  func median(_ measure: Measure, _ value: (LibraryRound) -> Int64?) -> Int64? {
    Figure.median((results[measure] ?? []).compactMap(value))
  }

  /// The median of one kind of memory; nil if it was not measured.
  func bytes(_ holder: LibraryMemory.Holder, _ value: (LibraryMemory) -> Int64) -> Int64? {
    Figure.median((memory[holder] ?? []).map(value))
  }

  // MARK: text

  package var text: String {
    var lines = [
      "\(plan.rounds) rounds, the library and bare SQLite in turn; medians (least–greatest of the "
        + "rounds)",
      "",
      Self.row("", "library", "bare SQLite", "ratio", ""),
    ]
    for measure in Measure.allCases {
      guard let rounds = results[measure], !rounds.isEmpty else { continue }
      let judged = judgement(of: measure).map { $0.target + ($0.isMet ? " met" : " MISSED") }
      lines.append(
        Self.row(
          Self.label(of: measure, plan),
          Self.spread(rounds.map(\.library), Figure.milliseconds),
          Self.spread(rounds.compactMap(\.bare), Figure.milliseconds),
          Self.spread(rounds.compactMap(\.ratio)) { Figure.ratio(thousandths: $0) },
          judged ?? ""))
    }
    if !memory.isEmpty { lines += [""] + memoryLines }
    return lines.joined(separator: "\n")
  }

  private var memoryLines: [String] {
    let titles = ["resident memory", "opened", "all records", "bytes of each"]
    return [Self.row(titles[0], titles[1], titles[2], titles[3], "")]
      + LibraryMemory.Holder.allCases.compactMap { holder in
        guard let holding = bytes(holder, { $0.holding - $0.opened }) else { return nil }
        let label =
          switch holder {
          case .records: "an array of \(plan.records) records"
          case .live: "a live query of \(plan.records)"
          case .bare: "bare SQLite, an array of \(plan.records) rows"
          }
        return Self.row(
          label, Figure.mebibytes(bytes(holder) { $0.opened - $0.atStart }),
          Figure.mebibytes(holding), "\(holding / Int64(max(1, plan.records)))", "")
      }
  }

  /// Returns the median with the least and greatest value in brackets; a dash if there are none.
  private static func spread(_ values: [Int64], _ text: (Int64?) -> String) -> String {
    guard let least = values.min(), let greatest = values.max() else { return "–" }
    return "\(text(Figure.median(values))) (\(text(least))–\(text(greatest)))"
  }

  private static func row(_ label: String, _ columns: String...) -> String {
    let widths = [30, 30, 22, 12]
    var line = label + String(repeating: " ", count: max(1, 42 - label.count))
    for (column, width) in zip(columns, widths) {
      line += column + String(repeating: " ", count: max(1, width - column.count))
    }
    while line.hasSuffix(" ") { line.removeLast() }
    return line
  }

  // MARK: JSON

  package var json: JSONValue {
    let measures = Measure.allCases.compactMap { measure -> JSONValue? in
      guard let rounds = results[measure], !rounds.isEmpty else { return nil }
      let ratios = rounds.compactMap(\.ratio)
      let judged = judgement(of: measure)
      return .object([
        JSONMember("measure", .string(measure.rawValue)),
        JSONMember("libraryMs", .milliseconds(median(measure, \.library))),
        JSONMember("bareMs", .milliseconds(median(measure, \.bare))),
        JSONMember("ratio", .decimal(thousandths: Figure.median(ratios))),
        JSONMember("leastRatio", .decimal(thousandths: ratios.min())),
        JSONMember("greatestRatio", .decimal(thousandths: ratios.max())),
        JSONMember("target", judged.map { .string($0.target) } ?? .null),
        JSONMember("met", judged.map { .bool($0.isMet) } ?? .null),
      ])
    }
    let memories = LibraryMemory.Holder.allCases.compactMap { holder -> JSONValue? in
      guard memory[holder] != nil else { return nil }
      return .object([
        JSONMember("holder", .string(holder.rawValue)),
        JSONMember("openedBytes", .whole(bytes(holder) { $0.opened - $0.atStart })),
        JSONMember("recordsBytes", .whole(bytes(holder) { $0.holding - $0.opened })),
      ])
    }
    return .object([
      JSONMember("rounds", .whole(Int64(plan.rounds))),
      JSONMember("operations", .whole(Int64(plan.operations))),
      JSONMember("records", .whole(Int64(plan.records))),
      JSONMember("liveRecords", .whole(Int64(plan.liveRecords))),
      JSONMember("measures", .array(measures)),
      JSONMember("memory", .array(memories)),
    ])
  }
}

extension LibraryMemory {
  var json: JSONValue {
    .object([
      JSONMember("atStart", .whole(atStart)), JSONMember("opened", .whole(opened)),
      JSONMember("holding", .whole(holding)),
    ])
  }

  /// Reads the line that a process with `--memory-of` prints.
  init?(text: String) {
    let value = JSONValue(ifJSON: Array(text.utf8))
    guard let atStart = value?["atStart"]?.int64, let opened = value?["opened"]?.int64,
      let holding = value?["holding"]?.int64
    else { return nil }
    self.init(atStart: atStart, opened: opened, holding: holding)
  }
}

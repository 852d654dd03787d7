import LockstepJSON
import LockstepTerminal

/// Attacks on other accounts in a hostile bench.
package enum HostileAttack: String, Sendable, CaseIterable {
  case zoneDeletions = "zone deletions"
  case chunkNames = "saves with 4,096 hashes"
  case emptyZoneReads = "reads of an empty zone"
  case recordFlood = "flood of records"
  case unreadPages = "pages nobody takes"
  case halfMessages = "half messages before hello"
  case drips = "messages byte by byte"
  case guesses = "wrong pairing codes"
  case reconnects = "reconnects"
}

/// Latencies of the victim's saves and reads, quiet or during an attack.
package struct HostileWindow: Sendable {
  package var saves: LatencyHistogram
  package var reads: LatencyHistogram

  package init(saves: LatencyHistogram, reads: LatencyHistogram) {
    self.saves = saves
    self.reads = reads
  }
}

/// Results of one attack: quiet windows and windows during the attack, alternating.
package struct HostileRow: Sendable {
  package var attack: HostileAttack
  package var quiet: [HostileWindow] = []
  package var attacked: [HostileWindow] = []

  package init(attack: HostileAttack) { self.attack = attack }

  static func median(
    _ windows: [HostileWindow], _ part: KeyPath<HostileWindow, LatencyHistogram>, _ share: Double
  ) -> Int64? {
    Figure.median(windows.compactMap { $0[keyPath: part].quantile(share) })
  }

  /// Returns the shift of the 99th percentile by the attack, in nanoseconds; nil if nothing was
  /// measured.
  package func moved(_ part: KeyPath<HostileWindow, LatencyHistogram>) -> Int64? {
    guard let quiet = Self.median(quiet, part, 0.99),
      let attacked = Self.median(attacked, part, 0.99)
    else { return nil }
    return attacked - quiet
  }
}

/// Result of a hostile bench, as figures and as text.
package struct HostileTable: Sendable {
  package var rows: [HostileRow]
  package var seconds: Int
  /// Latency bench of other accounts, quiet and with many hostile clients of every kind,
  /// alternating.
  package var together: [ConnectionLoadPair]
  /// Maximum memory of the relay in bytes, beyond its idle memory (docs/relay/sizing.md).
  package var memoryMost: Int64

  /// Maximum shift of another account's 99th percentile by one account, in nanoseconds.
  package static let movedMost: Int64 = 20_000_000

  /// Number of hostile clients of each kind when all run at once; each has its own account.
  package static let clientsOfAKind = 10

  package init(rows: [HostileRow], seconds: Int, together: [ConnectionLoadPair], memoryMost: Int64)
  {
    self.rows = rows
    self.seconds = seconds
    self.together = together
    self.memoryMost = memoryMost
  }

  package var isMet: Bool { isMovedLittle && isFast && isSmall }

  private var isMovedLittle: Bool {
    rows.allSatisfy { row in
      [row.moved(\.saves), row.moved(\.reads)].allSatisfy { ($0 ?? .max) <= Self.movedMost }
    }
  }

  private var isFast: Bool {
    together.allSatisfy(\.isWhole) && (ratio(0.99) ?? .max) <= ConnectionLoadTable.ratioMost
  }

  private var isSmall: Bool { (taken ?? .max) <= memoryMost }

  /// Maximum memory growth of the relay in a pair, in bytes.
  private var taken: Int64? {
    together.compactMap { pair in
      if let before = pair.relayBefore, let peak = pair.relayPeak { peak - before } else { nil }
    }.max()
  }

  private func ratio(_ share: Double) -> Int64? {
    Figure.median(together.compactMap { $0.ratio(share) })
  }

  private func median(_ run: KeyPath<ConnectionLoadPair, BenchResult>, _ share: Double) -> Int64? {
    Figure.median(together.compactMap { $0[keyPath: run].latency.quantile(share) })
  }

  package var json: JSONValue {
    .object([
      JSONMember("seconds", .whole(Int64(seconds))),
      JSONMember("attacks", .array(rows.map(Self.json))),
      JSONMember("togetherQuietP99Ms", .milliseconds(median(\.quiet, 0.99))),
      JSONMember("togetherAttackedP99Ms", .milliseconds(median(\.loaded, 0.99))),
      JSONMember("togetherRatioP99", .decimal(thousandths: ratio(0.99))),
      JSONMember("relayTakenBytes", .whole(taken)),
      JSONMember("isMet", .bool(isMet)),
    ])
  }

  private static func json(_ row: HostileRow) -> JSONValue {
    var members = [JSONMember("attack", .string(row.attack.rawValue))]
    for (name, part) in [("save", \HostileWindow.saves), ("read", \HostileWindow.reads)] {
      for (when, windows) in [("Quiet", row.quiet), ("Attacked", row.attacked)] {
        members.append(
          JSONMember(name + when + "P50Ms", .milliseconds(HostileRow.median(windows, part, 0.5))))
        members.append(
          JSONMember(name + when + "P99Ms", .milliseconds(HostileRow.median(windows, part, 0.99))))
      }
    }
    return .object(members)
  }

  package var text: String {
    var lines = [
      "A victim's saves and reads, quiet and with one hostile account; medians of "
        + "\(rows.first?.quiet.count ?? 0) windows of \(seconds) s",
      "", Figure.row("", ["quiet p50", "p99", "attacked p50", "p99", "moved"]),
    ]
    for row in rows {
      for (name, part) in [("saves", \HostileWindow.saves), ("reads", \HostileWindow.reads)] {
        lines.append(
          Figure.row(
            "\(row.attack.rawValue), \(name)",
            [
              Figure.milliseconds(HostileRow.median(row.quiet, part, 0.5)),
              Figure.milliseconds(HostileRow.median(row.quiet, part, 0.99)),
              Figure.milliseconds(HostileRow.median(row.attacked, part, 0.5)),
              Figure.milliseconds(HostileRow.median(row.attacked, part, 0.99)),
              Figure.milliseconds(row.moved(part)),
            ]))
      }
    }
    lines += [
      "", "p99 moved by at most 20 ms: \(isMovedLittle ? "met" : "MISSED")", "",
      "A latency bench of others, quiet and with \(Self.clientsOfAKind) clients of every kind; "
        + "medians of \(together.count) pairs",
      "", Figure.row("", ["quiet", "attacked", "ratio"]),
    ]
    for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
      let columns = [
        Figure.milliseconds(median(\.quiet, share)), Figure.milliseconds(median(\.loaded, share)),
        Figure.ratio(thousandths: ratio(share)),
      ]
      let judged = share == 0.99 ? (isFast ? "   ≤ 2 met" : "   ≤ 2 MISSED") : ""
      lines.append(Figure.row("change to screen, \(label)", columns) + judged)
    }
    let ratios = together.map { Figure.ratio(thousandths: $0.ratio(0.99)) }
    lines.append("ratios of the runs' p99: " + ratios.joined(separator: ", "))
    lines.append(
      Figure.row("relay's memory taken", [Figure.mebibytes(taken)])
        + "   ≤ \(Figure.mebibytes(memoryMost)) \(isSmall ? "met" : "MISSED")")
    if !together.allSatisfy(\.isWhole) { lines.append("changes were lost or duplicated") }
    return lines.joined(separator: "\n")
  }
}

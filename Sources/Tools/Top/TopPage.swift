import LockstepApps

/// Layout of the relay's figures: availability first, then the latencies that people notice, then
/// the rest as far as it fits. If the relay does not answer, everything shown is marked as old, by
/// text and in faint style.
package struct TopPage {
  let board: TopBoard
  let columns: Int
  /// Formats a time, in milliseconds, for a person.
  let clock: (Int64) -> String

  /// Minimum width for tables side by side; below it they are stacked.
  static let wideColumns = 76

  package init(_ board: TopBoard, columns: Int, clock: @escaping (Int64) -> String) {
    self.board = board
    self.columns = columns
    self.clock = clock
  }

  var isWide: Bool { columns >= TopPage.wideColumns }
  var isOld: Bool { board.standing.isSilent }

  /// Returns a full screen: at most `height` rows; the last one shows the keys.
  package func rows(height: Int) -> [ScreenRow] {
    let head = head(height)
    guard height > head.count else {
      return head.prefix(max(0, height)).map { $0.cut(to: columns) }
    }
    let room = height - head.count - 1
    var body = body(room)
    if body.count > room {
      body = Array(body.prefix(max(0, room - 1)) + [ScreenRow(" …", .faint)].prefix(room))
    }
    if isOld { body = body.map { ScreenRow($0.plainText, .faint) } }
    body += [ScreenRow](repeating: ScreenRow(), count: room - body.count)
    return (head + body + [foot]).map { $0.cut(to: columns) }
  }

  /// The whole page as plain lines, without a height limit.
  package var text: String {
    let rows = head(.max) + [ScreenRow()] + stacked(.max) + [ScreenRow(), note]
    return rows.map { row in
      String(row.cut(to: columns).plainText.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }

  // MARK: Head

  private func head(_ height: Int) -> [ScreenRow] {
    let words = board.standing.words(clock)
    let mark = isOld ? " ○ " : " ● "
    let ink: TextStyle = isOld ? .red : board.shown == nil ? .plain : .green
    var rows = [ScreenRow(mark + words.joined(separator: "; "), ink)]
    if rows[0].width > columns {
      rows = words.enumerated().map { ScreenRow(($0 == 0 ? mark : "   ") + $1, ink) }
    }
    if let reason = board.standing.reason, height > 3 {
      rows.append(ScreenRow("   " + reason, isOld ? .red : .plain))
    }
    guard let title, height > 3 else { return rows }
    if !isOld, let first = rows.first, first.width + title.width + 3 <= columns {
      return [first.padded(to: columns - title.width - 1) + title]
    }
    return rows + [ScreenRow(" ") + title]
  }

  private var title: ScreenRow? {
    guard let figures = board.shown?.newest else { return nil }
    let uptime = board.uptimeSeconds.map { " · up for " + TopWords.span(seconds: $0) } ?? ""
    return ScreenRow("Lockstep relay, version \(figures.version)\(uptime)", isOld ? .faint : .plain)
  }

  // MARK: Body

  private func body(_ room: Int) -> [ScreenRow] {
    guard let history = board.shown else { return [] }
    let tables = TopTables(history: history, columns: columns)
    guard isWide else { return stacked(room) }
    // Spare rows are used for empty rows first, then for the chart, then for reasons.
    var spare = room - 4 - 4 - TopTables.blockRows
    let gaps = max(0, min(3, spare))
    spare -= gaps
    let taller = max(0, min(4, spare))
    spare -= taller
    let now = tables.now
    let times = tables.timesBesidePicture(height: 3 + taller)
    let blocks = tables.besides(rejectedMax: max(0, spare))
    return Array(repeating: ScreenRow(), count: gaps > 0 ? 1 : 0) + now
      + Array(repeating: ScreenRow(), count: gaps > 1 ? 1 : 0) + times
      + Array(repeating: ScreenRow(), count: gaps > 2 ? 1 : 0) + blocks
  }

  /// Stacks the tables, with empty rows between them if everything fits.
  private func stacked(_ room: Int) -> [ScreenRow] {
    guard let history = board.shown else { return [] }
    let parts = TopTables(history: history, columns: columns).stacked
    let rows = Array(parts.joined())
    return rows.count + parts.count <= room
      ? Array(parts.joined(separator: [ScreenRow()])) : rows
  }

  // MARK: Foot

  private var note: ScreenRow {
    guard let history = board.shown else { return ScreenRow() }
    let rate = TopWords.lately(milliseconds: history.span(of: history.rateMilliseconds))
    return ScreenRow(" Rates are those of the last \(rate); from \(board.source)", .faint)
  }

  private var foot: ScreenRow {
    let keys = ScreenRow(" q quit", .faint)
    return board.shown == nil ? keys : keys + ScreenRow("  ") + note
  }
}

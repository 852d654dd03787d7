import LockstepApps

/// How the relay's figures are laid out: whether it answers comes first, then what people feel; the
/// rest comes as there is room for it. While the relay is silent, all that is shown is told to be
/// old, in words and in faint letters.
package struct TopPage {
  let board: TopBoard
  let columns: Int
  /// How a person reads a point in time, in milliseconds.
  let clock: (Int64) -> String

  /// With less than this, tables stand below one another.
  static let wideColumns = 76

  package init(_ board: TopBoard, columns: Int, clock: @escaping (Int64) -> String) {
    self.board = board
    self.columns = columns
    self.clock = clock
  }

  var isWide: Bool { columns >= TopPage.wideColumns }
  var isOld: Bool { board.standing.isSilent }

  /// A full screen: at most `height` rows, the last with what can be pressed.
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

  /// All of it as plain lines, with no end of room below.
  package var text: String {
    let rows = head(.max) + [ScreenRow()] + stacked(.max) + [ScreenRow(), note]
    return rows.map { row in
      String(row.cut(to: columns).plainText.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }

  // MARK: the head

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

  // MARK: the body

  private func body(_ room: Int) -> [ScreenRow] {
    guard let history = board.shown else { return [] }
    let tables = TopTables(history: history, columns: columns)
    guard isWide else { return stacked(room) }
    // What is left over goes to empty rows first, then to the picture, then to reasons.
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

  /// One below the other, with empty rows between them where all have room.
  private func stacked(_ room: Int) -> [ScreenRow] {
    guard let history = board.shown else { return [] }
    let parts = TopTables(history: history, columns: columns).stacked
    let rows = Array(parts.joined())
    return rows.count + parts.count <= room
      ? Array(parts.joined(separator: [ScreenRow()])) : rows
  }

  // MARK: the foot

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

import LockstepApps
import LockstepModel
import LockstepTerminal

/// Layout of the relay's figures: availability first, then the latencies that people notice, then
/// the rest as far as it fits. If the relay does not answer, everything shown is marked as old, by
/// text and in faint style.
package struct TopPage {
  package let board: TopBoard
  package let columns: Int
  /// Formats a time, in milliseconds, for a person.
  package let clock: (Int64) -> String

  /// Minimum width for tables side by side; below it they are stacked.
  static let wideColumns = 76

  package init(_ board: TopBoard, columns: Int, clock: @escaping (Int64) -> String) {
    self.board = board
    self.columns = columns
    self.clock = clock
  }

  var isWide: Bool { columns >= TopPage.wideColumns }
  package var isOld: Bool { board.availability.isSilent }

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
    let words = board.availability.words(clock)
    let mark = isOld ? " ○ " : " ● "
    let style: TextStyle = isOld ? .red : board.shown == nil ? .plain : .green
    var rows = [ScreenRow(mark + words.joined(separator: "; "), style)]
    if rows[0].width > columns {
      rows = words.enumerated().map { ScreenRow(($0 == 0 ? mark : "   ") + $1, style) }
    }
    if let reason = board.availability.reason, height > 3 {
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
    let times = tables.timesBesideChart(height: 3 + taller)
    let blocks = tables.sideBySide(rejectedMax: max(0, spare))
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

/// Result of a request for the relay's figures.
package enum TopAnswer: Hashable, Sendable {
  /// `wall`: time of the answer by the relay's clock, milliseconds; nil if it was not sent.
  case metrics([UInt8], wall: Int64?)
  case failed(String)
}

/// State of a relay as observed over time.
package struct TopBoard: Sendable {
  /// Source of the figures.
  package let source: String
  /// All samples, including missing answers.
  package private(set) var history: TopHistory
  /// History at the last answer. It is shown, and is out of date while the relay does not answer.
  package private(set) var shown: TopHistory?
  package private(set) var availability = RelayAvailability()
  /// The relay's clock at its last answer; this machine's clock if the relay did not send it.
  private var relayWall: Int64 = 0

  package init(source: String, everyMilliseconds: Int64) {
    self.source = source
    history = TopHistory(everyMilliseconds: everyMilliseconds)
  }

  package mutating func recordAnswer(_ answer: TopAnswer, at moment: Moment) {
    switch answer {
    case .failed(let reason): recordFailure(reason, at: moment)
    case .metrics(let text, let wall):
      do throws(MetricsFault) {
        history.add(try RelayFigures(metrics: text), at: moment.instant)
        shown = history
        relayWall = wall ?? moment.wall
        availability.recordAnswer(at: moment.wall)
      } catch {
        recordFailure(error.explanation, at: moment)
      }
    }
  }

  private mutating func recordFailure(_ reason: String, at moment: Moment) {
    history.add(nil, at: moment.instant)
    availability.recordFailure(RowText.line(reason), at: moment.wall)
  }

  /// Uptime of the relay at its last answer; nil if unknown.
  package var uptimeSeconds: Int64? {
    guard let startedAt = shown?.newest?[.startedAt], startedAt.magnitude < 1e12 else { return nil }
    return max(0, relayWall / 1_000 - Int64(startedAt))
  }
}

/// Small charts made of characters. Their values are also shown as text.
package enum TopChart {
  private static let heights = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// Draws a line over time, the newest value at the right edge; unknown values are gaps. Each
  /// column is the mean of a fixed group of consecutive values, so that the line moves without
  /// changing its shape. `added`: number of values ever added, of which `values` are the newest;
  /// `valuesMax`: number of values that fit into the columns.
  package static func line(
    _ values: [Double?], added: Int, places: Int, valuesMax: Int
  ) -> String {
    guard places > 0 else { return "" }
    let each = max(1, (valuesMax + places - 1) / places)
    var means: [Double?] = []
    var group: [Double] = []
    for (index, value) in values.enumerated() {
      if let value { group.append(value) }
      let number = added - values.count + index
      if number % each == each - 1 || index == values.count - 1 {
        means.append(group.isEmpty ? nil : group.reduce(0, +) / Double(group.count))
        group = []
      }
    }
    means = means.suffix(places)
    let most = means.reduce(0) { max($0, $1 ?? 0) }
    return String(repeating: " ", count: places - means.count)
      + means.map { $0.map { height($0, of: most) } ?? " " }.joined()
  }

  /// Returns the bar for a value. 0 has the lowest height; every greater value is at least one step
  /// higher.
  private static func height(_ value: Double, of most: Double) -> String {
    guard value > 0, most > 0 else { return heights[0] }
    let steps = Double(heights.count - 1)
    return heights[max(1, min(heights.count - 1, Int((value / most * steps).rounded())))]
  }

  /// Draws bars of a histogram's buckets in this many rows, with the bounds that are powers of ten
  /// below: `height` + 1 rows of at most `columns`. Empty if the bars do not fit.
  package static func bars(
    _ histogram: MetricHistogram, columns: Int, height: Int, widthMax: Int = 4
  ) -> [String] {
    let buckets = histogram.buckets
    let width = min(widthMax, columns / max(1, buckets.count))
    guard width > 0, height > 0 else { return [] }
    let most = buckets.reduce(0, max)
    let eighths = buckets.map { value in
      value > 0 ? max(1, Int((value / most * Double(8 * height)).rounded())) : 0
    }
    let rows = (0..<height).map { row in
      let below = (height - 1 - row) * 8
      return eighths.map { tall in
        let part = min(8, max(0, tall - below))
        let bar = String(repeating: part == 0 ? " " : heights[part - 1], count: max(1, width - 1))
        return width > 1 ? bar + " " : bar
      }.joined()
    }
    return rows + [axis(histogram.bounds, width: width)]
  }

  /// Draws the labels. The label of a bound ends at the end of its bucket; labels that do not fit
  /// are omitted.
  private static func axis(_ bounds: [Double], width: Int) -> String {
    var text = ""
    for (index, bound) in bounds.enumerated() where bound.isFinite {
      let word = TopWords.duration(seconds: bound)
      guard ["1", "10", "100"].contains(word.prefix { $0 != " " }) else { continue }
      let start = (index + 1) * width - RowText.width(of: word)
      let taken = RowText.width(of: text)
      guard start >= (taken == 0 ? 0 : taken + 1) else { continue }
      text += String(repeating: " ", count: start - taken) + word
    }
    return text
  }
}

/// Tables of a relay's figures as rows, from the newest answered sample of a history.
struct TopTables {
  let history: TopHistory
  let columns: Int

  private var figures: RelayFigures? { history.newest }

  /// Rows of the tables side by side, if few requests were rejected.
  static let blockRows = 12
  /// Columns of the complete table of times.
  private static let timesColumns = 56

  private static let transports = [
    "websocket": "WebSocket", "events": "Server-sent events", "long-poll": "Long-poll",
    "http": "HTTP",
  ]

  // MARK: Current values

  /// `Saves a second   12  ▁▂▃▂▁  4 requests a second`.
  var now: [ScreenRow] {
    let count = TopWords.count
    let accounts =
      "of \(count(figures?[.connectedAccounts])) accounts; \(count(figures?[.accounts])) in the store"
    return [
      line(
        "Devices connected", count(figures?[.connectedDevices]), accounts,
        history.track { history.samples[$0].figures?[.connectedDevices] }),
      line(
        "Connections", count(figures?.openConnections),
        "\(TopWords.few(history.rate(.accepted))) new a second",
        history.track { history.samples[$0].figures?.openConnections }),
      line(
        "Saves a second", TopWords.few(history.rate(.saves)),
        "\(TopWords.few(history.rate(.commits))) requests a second",
        history.track { history.rate(.saves, upTo: $0) }),
      line(
        "Deliveries a second", TopWords.few(history.rate(.deliveries)),
        "\(TopWords.few(history.rate(.hints))) hints a second",
        history.track { history.rate(.deliveries, upTo: $0) }),
    ]
  }

  private func line(
    _ label: String, _ value: String, _ note: String, _ track: [Double?]
  ) -> ScreenRow {
    let row =
      ScreenRow(" " + RowText.left(label, 20)) + ScreenRow(RowText.right(value, 7), .strong)
    let noteColumns = 32
    let hasNote = columns >= row.width + 14 + noteColumns
    let places = min(60, columns - row.width - 3 - (hasNote ? noteColumns : 0))
    guard places >= 8 else { return row }
    let chart = TopChart.line(
      track, added: history.added, places: places, valuesMax: TopHistory.shownMax)
    return row + "  " + chart + ScreenRow(hasNote ? "  " + note : "", .faint)
  }

  // MARK: Times

  /// A narrow screen shows only the median and the 99th percentile.
  private var times: [ScreenRow] {
    let isNarrow = columns < TopTables.timesColumns
    let shares: [(name: String, share: Double)] =
      isNarrow ? [("p50", 0.5), ("p99", 0.99)] : [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)]
    let span = history.span(of: history.timesMilliseconds)
    let isKnown = span > 0
    let lately = TopWords.lately(milliseconds: isKnown ? span : history.timesMilliseconds)
    let heading =
      " " + RowText.left("In the last \(lately)", 22)
      + (shares.map(\.name) + (isNarrow ? [] : ["count"])).map { RowText.right($0, 8) }.joined()
    let rows: [(String, RelayFigures.Histogram)] = [
      ("From commit to socket", .lag), ("Commits", .commit), ("Syncs to disk", .sync),
    ]
    return [ScreenRow(heading, .strong)]
      + rows.map { label, name in
        let histogram = history.histogram(name)
        let times = shares.map { TopWords.duration(seconds: histogram?.quantile($0.share)) }
        let cells = times + (isNarrow ? [] : [TopWords.count(histogram?.count)])
        return ScreenRow(
          " " + RowText.left(label, 22) + cells.map { RowText.right($0, 8) }.joined())
      }
  }

  /// Returns the times, and to their right the distribution from commit to socket: a caption, bars
  /// in this many rows less one, and the axis.
  func timesBesideChart(height: Int) -> [ScreenRow] {
    let left = TopTables.timesColumns + 2
    let chart = chart(columns: columns - left, height: height - 1)
    let times = times
    return (0..<max(times.count, chart.count)).map { index in
      let row = index < times.count ? times[index] : ScreenRow()
      return index < chart.count ? row.padded(to: left) + chart[index] : row
    }
  }

  private func chart(columns: Int, height: Int) -> [ScreenRow] {
    guard let histogram = history.histogram(.lag) else { return [] }
    guard histogram.count > 0 else { return [ScreenRow("nothing was delivered", .faint)] }
    let bars = TopChart.bars(histogram, columns: columns, height: height)
    return [ScreenRow(RowText.cut("from commit to socket", to: columns), .faint)]
      + bars.map { ScreenRow($0) }
  }

  // MARK: Tables

  /// Contents of one table: a label and a value per row.
  private struct Block {
    var title: String
    var rows: [(label: String, value: String)]
  }

  private var transports: Block {
    let parts = figures?.connections ?? []
    return Block(
      title: "Connections by transport",
      rows: parts.prefix(8).map {
        (TopTables.transports[$0.label] ?? $0.label, TopWords.count($0.value))
      })
  }

  private var store: Block {
    Block(
      title: "Store and process",
      rows: [
        ("Database", TopWords.bytes(figures?[.storeBytes])),
        ("Write-ahead log", TopWords.bytes(figures?[.logBytes])),
        ("Requests that the store failed", TopWords.count(figures?[.storeFailures])),
        ("Memory", TopWords.bytes(figures?[.residentBytes])),
        ("Processor, of one core", TopWords.percent(history.rate(.processorSeconds))),
        (
          "Descriptors",
          TopWords.count(figures?[.openDescriptors]) + " of "
            + TopWords.count(figures?[.mostDescriptors])
        ),
      ])
  }

  private var queues: Block {
    let (uploads, downloads) = (figures?[.uploads], figures?[.downloads])
    return Block(
      title: "Queues",
      rows: [
        ("Requests that wait for the store", TopWords.count(figures?[.storeRequests])),
        ("Bytes that wait to leave", TopWords.bytes(figures?[.outboundBytes])),
        ("Bytes held for requests and answers", TopWords.bytes(figures?[.bodyBytes])),
        (
          "Chunks of files under way",
          "\(TopWords.count(uploads)) in, \(TopWords.count(downloads)) out"
        ),
      ])
  }

  private var slow: Block {
    Block(
      title: "Slow devices, since the relay began",
      rows: [
        ("Closed, as they took nothing for long", TopWords.count(figures?[.slowDevices])),
        ("Told by a hint, as a push was too much", TopWords.count(figures?[.hints])),
        ("Read later, as they asked too often", TopWords.count(figures?[.throttles])),
      ])
  }

  /// Returns the most frequent reasons first, in at most this many rows below the title.
  private func rejected(_ most: Int, _ columns: Int) -> [ScreenRow] {
    let title = "Rejected, by reason"
    guard let rejected = figures?.rejected else {
      return rows(of: Block(title: title, rows: [(TopWords.unknown, "")]), columns)
    }
    let reasons = rejected.filter { $0.value > 0 }.sorted {
      ($1.value, $0.label) < ($0.value, $1.label)
    }
    guard !reasons.isEmpty else {
      return rows(of: Block(title: title, rows: [("Nothing, since the relay began.", "")]), columns)
    }
    let heading = row(" " + title, "last " + lately + RowText.right("in all", 9), columns)
    let shown = reasons.count > most ? reasons.prefix(most - 1) : reasons[...]
    let rest = reasons.count - shown.count
    return [ScreenRow(heading, .strong)]
      + shown.map { part in
        let lately = history.increase(history.timesMilliseconds) { $0.rejected(for: part.label) }
        let values = TopWords.count(lately) + RowText.right(TopWords.count(part.value), 9)
        return ScreenRow(row("  " + TopWords.reason(part.label), values, columns))
      } + (rest > 0 ? [ScreenRow("  … and \(rest) more", .faint)] : [])
  }

  private var lately: String {
    let span = history.span(of: history.timesMilliseconds)
    return TopWords.lately(milliseconds: span > 0 ? span : history.timesMilliseconds)
  }

  private func rows(of block: Block, _ columns: Int) -> [ScreenRow] {
    [ScreenRow(" " + block.title, .strong)]
      + block.rows.map { ScreenRow(row("  " + $0.label, $0.value, columns)) }
  }

  private func row(_ label: String, _ value: String, _ columns: Int) -> String {
    let room = max(0, columns - RowText.width(of: value) - 1)
    return RowText.left(RowText.cut(label, to: room), room) + " " + value
  }

  /// Places the tables side by side; `rejectedMax`: number of reasons that fit after the first two.
  func sideBySide(rejectedMax: Int) -> [ScreenRow] {
    let left = min(48, columns * 45 / 100)
    let right = min(48, columns - left)
    let first = rows(of: transports, left - 2) + rows(of: store, left - 2)
    let second =
      rows(of: queues, right) + rows(of: slow, right) + rejected(2 + rejectedMax, right)
    return (0..<max(first.count, second.count)).map { index in
      let row = index < first.count ? first[index] : ScreenRow()
      return index < second.count ? row.padded(to: left) + second[index] : row
    }
  }

  /// Tables stacked, those that people notice first.
  var stacked: [[ScreenRow]] {
    let each = min(52, columns - 1)
    let chart = chart(columns: columns - 2, height: 3).map { ScreenRow(" ") + $0 }
    return [
      now, times, chart, rows(of: transports, each), rows(of: queues, each),
      rows(of: slow, each), rejected(12, each), rows(of: store, each),
    ].filter { !$0.isEmpty }
  }
}

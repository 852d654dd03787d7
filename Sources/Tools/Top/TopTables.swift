import LockstepApps

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
    let picture = TopChart.line(
      track, added: history.added, places: places, valuesMax: TopHistory.shownMax)
    return row + "  " + picture + ScreenRow(hasNote ? "  " + note : "", .faint)
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
  func timesBesidePicture(height: Int) -> [ScreenRow] {
    let left = TopTables.timesColumns + 2
    let picture = picture(columns: columns - left, height: height - 1)
    let times = times
    return (0..<max(times.count, picture.count)).map { index in
      let row = index < times.count ? times[index] : ScreenRow()
      return index < picture.count ? row.padded(to: left) + picture[index] : row
    }
  }

  private func picture(columns: Int, height: Int) -> [ScreenRow] {
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
  func besides(rejectedMax: Int) -> [ScreenRow] {
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
    let picture = picture(columns: columns - 2, height: 3).map { ScreenRow(" ") + $0 }
    return [
      now, times, picture, rows(of: transports, each), rows(of: queues, each),
      rows(of: slow, each), rejected(12, each), rows(of: store, each),
    ].filter { !$0.isEmpty }
  }
}

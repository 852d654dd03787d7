import Lockstep
import LockstepCommandLine
import LockstepTerminal

/// Heading of a full-screen view: the app, the sync status, and this device's name at the right end
/// if there is room. What does not fit into one row has a second one.
struct WatchHeading {
  let title: String
  /// Nil before the home has said it.
  let status: HomeStatus?
  let columns: Int
  /// This machine's wall clock, in milliseconds.
  let wall: Int64
  /// Returns a point in time as the person's clock shows it.
  let clock: @Sendable (Int64) -> String

  var rows: [ScreenRow] {
    let heading = ScreenRow(" " + title, .strong)
    guard let status else { return [heading + ScreenRow("  …", .faint)] }
    let sync = ScreenRow(status.isInSync ? " ● " : " ○ ", status.isInSync ? .green : .red)
    let words = words(status)
    let name = ScreenRow(RowText.cut(RowText.line(status.deviceName), to: 24), .faint) + " "
    let row = heading + " " + sync + words
    if row.width + name.width + 2 <= columns {
      return [row.padded(to: columns - name.width) + name]
    }
    if row.width <= columns { return [row] }
    let hasRoom = heading.width + name.width + 2 <= columns
    return [
      hasRoom ? heading.padded(to: columns - name.width) + name : heading, sync + words,
    ]
  }

  private func words(_ status: HomeStatus) -> String {
    if status.isInSync {
      let transport = status.transport.map { " by " + $0 } ?? ""
      return "in sync\(transport), \(clock(wall))"
    }
    let last = status.lastSync.map { "; last in sync " + clock($0 - status.relayTime(atWall: 0)) }
    return status.line(wall: wall) + (last ?? "")
  }
}

/// Page of a view that is a list: heading, rows that can be scrolled, and the keys.
struct WatchPage {
  let title: String
  private let clock: @Sendable (Int64) -> String
  private var status: HomeStatus?
  private(set) var showsHelp = false
  /// Index of the first row that is shown.
  private var top = 0
  /// Rows of the list that were shown last, and rows that it has.
  private var extent: (shown: Int, all: Int) = (1, 0)
  /// Bytes of an arrow key that have been read: escape, then `[`.
  private var arrow: [UInt8] = []

  init(_ title: String, clock: @escaping @Sendable (Int64) -> String = CalendarTime.clock) {
    self.title = title
    self.clock = clock
  }

  mutating func handle(_ status: HomeStatus) { self.status = status }

  var transport: String? { status?.transport }

  mutating func handleKey(_ key: UInt8) {
    if key == 0x1B || (arrow == [0x1B] && key == UInt8(ascii: "[")) {
      arrow.append(key)
      return
    }
    let isArrow = arrow.count == 2
    arrow = []
    switch key {
    case UInt8(ascii: "?"), UInt8(ascii: "h"): showsHelp.toggle()
    case UInt8(ascii: "j"): top += 1
    case UInt8(ascii: "B") where isArrow: top += 1
    case UInt8(ascii: "k"): top -= 1
    case UInt8(ascii: "A") where isArrow: top -= 1
    case UInt8(ascii: " "): top += extent.shown
    case UInt8(ascii: "b"): top -= extent.shown
    case UInt8(ascii: "g"): top = 0
    default: break
    }
    top = max(0, min(top, extent.all - extent.shown))
  }

  /// Stores the number of rows, so that the list is not scrolled beyond its end.
  mutating func setExtent(of rows: Int, columns: Int, height: Int, at wall: Int64) {
    extent = (max(1, available(columns, height, wall)), rows)
    top = max(0, min(top, extent.all - extent.shown))
  }

  /// Rows to draw, at most `height`. `body`: all rows of the list.
  func rows(_ body: [ScreenRow], columns: Int, height: Int, at wall: Int64) -> [ScreenRow] {
    let head = heading(columns, wall)
    let available = available(columns, height, wall)
    guard available > 0 else { return Array((head + [keys(body.count)]).suffix(max(0, height))) }
    let gap = hasGaps(height) ? [ScreenRow()] : []
    let shown = showsHelp ? Array(Self.help.prefix(available)) : visible(body, available)
    let rest = [ScreenRow](repeating: ScreenRow(), count: available - shown.count)
    return head + gap + shown + rest + gap + [keys(body.count)]
  }

  private func heading(_ columns: Int, _ wall: Int64) -> [ScreenRow] {
    WatchHeading(title: title, status: status, columns: columns, wall: wall, clock: clock).rows
  }

  /// Number of rows for the list.
  private func available(_ columns: Int, _ height: Int, _ wall: Int64) -> Int {
    height - heading(columns, wall).count - 1 - (hasGaps(height) ? 2 : 0)
  }

  private func hasGaps(_ height: Int) -> Bool { height >= 12 }

  private func visible(_ body: [ScreenRow], _ available: Int) -> [ScreenRow] {
    let first = max(0, min(top, body.count - available))
    var shown = Array(body[first..<min(body.count, first + available)])
    guard available > 2 else { return shown }
    if first > 0 { shown[0] = ScreenRow("… \(first + 1) before", .faint) }
    let left = body.count - first - available
    if left > 0 { shown[available - 1] = ScreenRow("… and \(left + 1) more", .faint) }
    return shown
  }

  private func keys(_ count: Int) -> ScreenRow {
    let scroll = count > extent.shown && extent.all > 0 ? "j k scroll  " : ""
    return ScreenRow(" \(scroll)? help  q quit", .faint)
  }

  private static let help: [ScreenRow] = {
    let keys = [
      ("j, k", "one row down, one row up; arrows do the same"),
      ("space, b", "a page down, a page up"), ("g", "to the first row"),
      ("?", "this help, and back"), ("q", "quit"),
    ]
    return [ScreenRow(" Keys", .strong), ScreenRow()]
      + keys.map { key, words in ScreenRow("  " + RowText.left(key, 10), .strong) + words }
  }()
}

import Lockstep
import LockstepCommandLine
import LockstepLanguage
import LockstepTerminal

/// Heading of a full-screen view: the app, the sync status, and this device's name at the right end
/// if there is room. What does not fit into one row has a second one.
struct WatchHeading {
  /// The app's zone.
  let title: String
  /// Nil before the home has said it.
  let status: HomeStatus?
  let columns: Int
  /// This machine's wall clock, in milliseconds.
  let wall: Int64
  /// Returns a point in time as the person's clock shows it.
  let clock: @Sendable (Int64) -> String

  var rows: [ScreenRow] {
    let heading = ScreenRow(" " + localizedTitle, .strong)
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

  private var localizedTitle: String {
    switch title {
    case "Timer": localized("Timer")
    case "Vault": localized("Vault")
    case "Clipboard": localized("Clipboard")
    case "Memos": localized("Memos")
    case "Habits": localized("Habits")
    default: title
    }
  }

  private func words(_ status: HomeStatus) -> String {
    if status.isInSync {
      guard let transport = status.transport else {
        return localized("in sync, {time}", ["time": clock(wall)])
      }
      return localized(
        "in sync by {transport}, {time}", ["transport": transport, "time": clock(wall)])
    }
    let line = status.line(wall: wall)
    guard let last = status.lastSync else { return line }
    return localized(
      "{status}; last in sync {time}",
      ["status": line, "time": clock(last - status.relayTime(atWall: 0))])
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
    if first > 0 {
      let count = String(first + 1)
      shown[0] = ScreenRow(localized("… {count} before", ["count": count]), .faint)
    }
    let left = body.count - first - available
    if left > 0 {
      let count = String(left + 1)
      shown[available - 1] = ScreenRow(localized("… and {count} more", ["count": count]), .faint)
    }
    return shown
  }

  private func keys(_ count: Int) -> ScreenRow {
    let words =
      count > extent.shown && extent.all > 0
      ? localized("j k scroll  ? help  q quit") : localized("? help  q quit")
    return ScreenRow(" " + words, .faint)
  }

  private static var help: [ScreenRow] {
    WatchKeys([
      ("j, k", localized("one row down, one row up; arrows do the same")),
      (localized("space, b"), localized("a page down, a page up")),
      ("g", localized("to the first row")),
      ("?", localized("this help, and back")), ("q", localized("quit")),
    ]).rows
  }
}

/// Page of a view with its keys and their effects.
struct WatchKeys {
  let rows: [ScreenRow]

  init(_ keys: [(name: String, effect: String)]) {
    let columns = 2 + (keys.map { RowText.width(of: $0.name) }.max() ?? 0)
    rows =
      [ScreenRow(" " + localized("Keys"), .strong), ScreenRow()]
      + keys.map { ScreenRow("  " + RowText.left($0.name, columns), .strong) + $0.effect }
  }
}

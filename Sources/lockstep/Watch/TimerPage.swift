import LockstepApps
import LockstepModel

/// Layout of the timer's full screen. The most important rows fit on the smallest terminal; the
/// others are shown if there is room.
struct TimerPage {
  let view: TimerView
  let columns: Int
  let height: Int
  /// This machine's wall clock, in milliseconds.
  let wall: Int64

  /// Rows to draw, at most `height`.
  var rows: [ScreenRow] {
    guard height > 2 else { return Array([countdownLine, sync].prefix(max(0, height))) }
    let foot = [notice, keys].compactMap(\.self).suffix(height > 4 ? 2 : 1)
    let room = height - foot.count
    var body = view.showsHelp ? help(room) : page(room)
    body = Array(body.prefix(room))
    body += [ScreenRow](repeating: ScreenRow(), count: room - body.count)
    return body + foot
  }

  private func page(_ room: Int) -> [ScreenRow] {
    let digits = bigDigits(room)
    var head = [sync]
    if !digits.isEmpty, room >= digits.count + 8 { head += [ScreenRow()] }
    head += digits.isEmpty ? [countdownLine] : digits
    if !digits.isEmpty {
      if room >= digits.count + 7 { head += [ScreenRow()] }
      head += [phase]
    }
    head += [pomodoros, edit].compactMap(\.self)
    let left = room - head.count
    guard left >= 3 else { return head }
    if columns >= 100 {
      return head + [ScreenRow()] + beside(devices(left - 1), news(left - 1))
    }
    // The devices come first; recent events get the remaining rows.
    let devices = devices(min(left - 1, max(3, (left - 2) / 2 + 1)))
    let newsRoom = left - devices.count - 2
    head += [ScreenRow()] + devices
    return newsRoom >= 2 ? head + [ScreenRow()] + news(newsRoom) : head
  }

  // MARK: the countdown

  private var remaining: Int64 { view.board?.remaining(at: view.relayTime(at: wall)) ?? 0 }

  private var time: String { TimerScreen.clock(remaining) }

  private var ink: TextStyle {
    guard let screen = view.board?.screen, !screen.isPaused else { return .strong }
    switch TimerPhase(rawValue: screen.stateType) {
    case .focus: return .red
    case .breakTime: return .green
    case .snooze: return .magenta
    case .idle, nil: return .strong
    }
  }

  /// Returns no rows if there is no room for them.
  private func bigDigits(_ room: Int) -> [ScreenRow] {
    guard view.board != nil else { return [] }
    let sizes: [(dot: Int, scale: Int)] = [(4, 2), (2, 1), (1, 1)]
    let fitting = sizes.first { size in
      BigDigits.width(of: time, dot: size.dot) <= columns - 2
        && BigDigits.height * size.scale + (size.scale > 1 ? 20 : 3) <= room
    }
    guard let fitting else { return [] }
    return BigDigits.rows(time, dot: fitting.dot, scale: fitting.scale).map {
      ScreenRow($0, ink).centred(in: columns)
    }
  }

  private var title: String {
    guard let screen = view.board?.screen else { return "…" }
    return switch TimerPhase(rawValue: screen.stateType) {
    case .idle: "nothing runs"
    case .focus: "focus"
    case .breakTime: isLongBreak ? "long break" : "break"
    case .snooze: "snooze, the break waits"
    case nil: RowText.line(screen.stateType)
    }
  }

  private var isLongBreak: Bool {
    guard let board = view.board, board.longBreakEvery > 0 else { return false }
    let done = board.screen.completedPomodoros
    return done > 0 && done % board.longBreakEvery == 0
  }

  private var pausedMark: ScreenRow {
    view.board?.screen.isPaused == true ? ScreenRow("  paused", .strong) : ScreenRow()
  }

  /// Row for screens on which the large digits do not fit.
  private var countdownLine: ScreenRow {
    guard let screen = view.board?.screen else { return ScreenRow(" …") }
    guard screen.stateType != TimerPhase.idle.rawValue else { return ScreenRow(" " + title, ink) }
    return ScreenRow(" \(title) \(time)", ink) + pausedMark
  }

  /// Row such as `focus ━━━━━━────── 25 min`.
  private var phase: ScreenRow {
    let name = ScreenRow(" " + title, ink) + pausedMark
    guard let duration = view.board?.duration, duration > 0, remaining > 0 else { return name }
    let length = TimerNews.minutes(duration)
    let room = min(60, columns - name.width - RowText.width(of: length) - 6)
    guard room >= 6 else { return name }
    // Records come from other programs as well, and may contain a length of any size.
    let passed = max(0, Double(duration) - Double(remaining))
    let done = Int(Double(room) * passed / Double(duration))
    return name + ScreenRow("  " + String(repeating: "━", count: done), ink)
      + ScreenRow(String(repeating: "─", count: room - done), .faint)
      + ScreenRow("  " + length, .faint)
  }

  /// Row such as `●●○○ 2 done, long break in 2`.
  private var pomodoros: ScreenRow? {
    guard let board = view.board else { return nil }
    // This program never counts below 0, but another program may.
    let (done, every) = (max(0, board.screen.completedPomodoros), board.longBreakEvery)
    let count = done == 0 ? "none done yet" : "\(done) done"
    guard every > 0 else { return ScreenRow(" " + count) }
    // After the last one is done, the row stays full during the long break.
    let inCycle =
      isLongBreak && board.screen.stateType == TimerPhase.breakTime.rawValue
      ? every : done % every
    let left = every - inCycle
    let ahead = left == 0 ? "" : ", long break in \(left)"
    guard every <= 12 else { return ScreenRow(" " + count + ahead) }
    return ScreenRow(" " + String(repeating: "●", count: Int(inCycle)), .strong)
      + ScreenRow(String(repeating: "○", count: Int(left)), .faint) + " \(count)\(ahead)"
  }

  /// Device and time of the last edit.
  private var edit: ScreenRow? {
    guard let board = view.board, let editedAt = board.editedAt else { return nil }
    let age = RowText.age(of: editedAt, at: view.relayTime(at: wall))
    let own = board.screen.device == view.status?.device ? " (this device)" : ""
    let when = age == "now" ? "just now" : age + " ago"
    return ScreenRow(" by ", .faint) + RowText.line(board.deviceName)
      + ScreenRow(
        own + ", " + view.clock(editedAt - view.relayTime(at: 0)) + ", " + when, .faint)
  }

  // MARK: sync, devices, news

  /// Sync status, with the device's name at the right end if there is room.
  private var sync: ScreenRow {
    guard let status = view.status else { return ScreenRow(" …", .faint) }
    let isGood = status.isInSync
    let mark = ScreenRow(isGood ? " ● " : " ○ ", isGood ? .green : .red)
    var text = isGood ? "in sync" : status.line(wall: wall)
    if isGood, let transport = status.transport { text += " by " + transport }
    if !isGood, let last = status.lastSync {
      text += "; last in sync " + view.clock(last - view.relayTime(at: 0))
    } else if isGood {
      text += ", " + view.clock(wall)
    }
    let row = mark + text
    let name = ScreenRow(RowText.cut(RowText.line(status.deviceName), to: 24), .faint) + " "
    guard row.width + name.width + 2 <= columns else { return row }
    return row.padded(to: columns - name.width) + name
  }

  /// Returns a heading and the account's other devices, in at most so many rows.
  private func devices(_ room: Int) -> [ScreenRow] {
    var heading = ScreenRow(" Other devices", .strong)
    if view.devicesTrouble != nil {
      heading = heading + ScreenRow("  as last known", .faint)
    }
    guard let all = view.devices else {
      let words = view.devicesTrouble ?? "asking the relay"
      return [heading, ScreenRow("   " + words, .faint)]
    }
    let others = all.filter { $0.id.text != view.status?.device }
    guard !others.isEmpty else {
      return [heading, ScreenRow("   none yet; lockstep agent pair lets one in", .faint)]
    }
    let now = view.relayTime(at: wall)
    let rows = others.sorted {
      ($0.connected ? 1 : 0, $0.lastSeen) > ($1.connected ? 1 : 0, $1.lastSeen)
    }
    .map { device in
      let age = RowText.age(of: device.lastSeen, at: now)
      let seen =
        device.connected ? "connected" : "seen " + (age == "now" ? "just now" : age + " ago")
      return ScreenRow(device.connected ? "   ● " : "   ○ ", device.connected ? .green : .faint)
        + RowText.left(RowText.cut(RowText.line(device.description.deviceName), to: 20), 20)
        + ScreenRow("  " + seen, device.connected ? .plain : .faint)
    }
    return [heading] + fitting(rows, room - 1)
  }

  private func news(_ room: Int) -> [ScreenRow] {
    let heading = ScreenRow(" Just now", .strong)
    guard !view.news.isEmpty else {
      return [heading, ScreenRow("   nothing since this view began", .faint)]
    }
    return [heading]
      + view.news.prefix(max(0, room - 1)).map {
        ScreenRow("   " + view.clock($0.at) + "  ", .faint) + $0.text
      }
  }

  private func fitting(_ rows: [ScreenRow], _ room: Int) -> [ScreenRow] {
    guard rows.count > room, room > 0 else { return Array(rows.prefix(max(0, room))) }
    return Array(rows.prefix(room - 1))
      + [ScreenRow("   … and \(rows.count - room + 1) more", .faint)]
  }

  private func beside(_ left: [ScreenRow], _ right: [ScreenRow]) -> [ScreenRow] {
    let half = columns / 2
    return (0..<max(left.count, right.count)).map { index in
      let first = index < left.count ? left[index].cut(to: half - 2) : ScreenRow()
      return index < right.count ? first.padded(to: half) + right[index] : first
    }
  }

  // MARK: keys

  private var notice: ScreenRow? {
    view.refusal.map { ScreenRow(" " + $0, .red) } ?? (height > 8 ? ScreenRow() : nil)
  }

  private var keys: ScreenRow {
    let words =
      columns >= 76
      ? "s start  p pause  r resume  x stop  k skip  z snooze  ? help  q quit"
      : columns >= 36 ? "s start  p pause  ? help  q quit" : "? help  q quit"
    return ScreenRow(" " + words, .faint)
  }

  private func help(_ room: Int) -> [ScreenRow] {
    let keys = [
      ("s", "start a focus"), ("p", "pause"), ("r", "resume"), ("space", "pause or resume"),
      ("x", "stop; an unfinished focus does not count"),
      ("k", "skip to what follows"), ("z", "put the break off"),
      ("?", "this help, and back"), ("q", "quit; the timer goes on"),
    ]
    let rows = keys.map { key, words in ScreenRow("  " + RowText.left(key, 7), .strong) + words }
    let head = [ScreenRow(" Keys", .strong), ScreenRow()]
    return room >= rows.count + 3 ? [sync] + head + rows : Array(rows.prefix(room))
  }
}

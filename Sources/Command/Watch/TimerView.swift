import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// State of the timer's full screen: the last board from the home, the sync status, the other
/// devices, and recent events. It counts down by itself, by relay time, so that all screens change
/// their second at the same instant. `TimerPage` does the layout.
struct TimerView: WatchView {
  struct News: Hashable {
    /// Time by this machine's wall clock, in milliseconds.
    var at: Int64
    var text: String
  }

  private(set) var board: TimerContents?
  private(set) var status: HomeStatus?
  /// Recent events, the newest first.
  private(set) var news: [News] = []
  /// Reason why the last key had no effect.
  private(set) var refusal: String?
  private(set) var devices: [Device]?
  private(set) var devicesError: String?
  private(set) var showsHelp = false
  /// Returns a point in time as the person's clock shows it.
  let clock: @Sendable (Int64) -> String
  /// Relay time minus wall clock, in milliseconds, as the home reported last.
  private var offset: Int64 = 0
  private var alarm: String?
  /// End of the countdown for which the bell has rung.
  private var alarmedZeroAt: Int64?
  private var refusedAt: Int64 = 0
  private var requestedAt: Int64?
  private var hasNewConnection = false

  private static let newsMax = 20
  private static let refusalMilliseconds: Int64 = 6_000
  /// Interval in milliseconds between requests for the account's devices.
  static let requestMilliseconds: Int64 = 30_000

  init(clock: @escaping @Sendable (Int64) -> String = CalendarTime.clock) { self.clock = clock }

  // MARK: input

  mutating func handleLine(_ line: JSONValue, at wall: Int64) {
    if let clock = line["clock"]?.wholeNumber { offset = clock }
    if let view = line["view"], let new = TimerContents(json: view) { show(new, at: wall) }
    if let status = line["status"] { handleStatus(HomeStatus(json: status), at: wall) }
    if let reason = line["error"]?.string {
      refusal = RowText.line(reason)
      refusedAt = wall
    }
    // An answer with names is to a request that the view sent by itself; all others are to keys.
    if let answer = line["answer"], answer["names"] == nil { refusal = nil }
  }

  private mutating func show(_ new: TimerContents, at wall: Int64) {
    if let old = board {
      recordEnd(of: old, at: max(wall + offset, new.screen.at))
      if let text = TimerNews.line(from: old, to: new) {
        // The time of an edit is when the device made it, not when it arrived from an offline
        // device.
        addNews(text, at: new.editedAt.map { min($0 - offset, wall) } ?? wall)
      }
    }
    board = new
  }

  private mutating func handleStatus(_ new: HomeStatus, at wall: Int64) {
    if let text = TimerNews.line(from: status, to: new) { addNews(text, at: wall) }
    if new.transport != status?.transport { hasNewConnection = true }
    status = new
  }

  private mutating func addNews(_ text: String, at wall: Int64) {
    let index = news.firstIndex { $0.at <= wall } ?? news.endIndex
    news.insert(News(at: wall, text: text), at: index)
    news = Array(news.prefix(Self.newsMax))
  }

  mutating func handleDevices(_ result: DeviceProbe.Result, at wall: Int64) {
    switch result {
    case .devices(let list):
      devices = list
      devicesError = nil
    case .unknown(let reason): devicesError = RowText.line(reason)
    }
  }

  mutating func handleKey(_ key: UInt8) -> WatchKeyAction {
    switch key {
    case UInt8(ascii: "s"): return .order(TimerAction.event(.start(length: nil)).json)
    case UInt8(ascii: "p"): return .order(TimerAction.event(.pause).json)
    case UInt8(ascii: "r"): return .order(TimerAction.event(.resume).json)
    case UInt8(ascii: " "):
      let isPaused = board?.screen.isPaused ?? false
      return .order(TimerAction.event(isPaused ? .resume : .pause).json)
    case UInt8(ascii: "x"): return .order(TimerAction.event(.stop).json)
    case UInt8(ascii: "k"): return .order(TimerAction.event(.skip).json)
    case UInt8(ascii: "z"): return .order(TimerAction.event(.snooze(length: nil)).json)
    case UInt8(ascii: "?"), UInt8(ascii: "h"):
      showsHelp.toggle()
      return .nothing
    default: return .nothing
    }
  }

  // MARK: time

  func relayTime(at wall: Int64) -> Int64 { wall + offset }

  /// Returns the time, by the wall clock, at which the screen changes without input: at the next
  /// second of a countdown, which is the same instant of relay time on all devices.
  func nextChange(after wall: Int64) -> Int64? {
    board?.screen.zeroAt.map {
      TimerScreen.nextSecond(to: $0, from: relayTime(at: wall)) - offset
    }
  }

  mutating func advance(to wall: Int64) {
    if wall - refusedAt > Self.refusalMilliseconds { refusal = nil }
    if let board { recordEnd(of: board, at: relayTime(at: wall)) }
  }

  private mutating func recordEnd(of board: TimerContents, at instant: Int64) {
    guard let zeroAt = board.screen.zeroAt, zeroAt <= instant, alarmedZeroAt != zeroAt
    else { return }
    alarmedZeroAt = zeroAt
    switch TimerPhase(rawValue: board.screen.stateType) {
    case .focus: alarm = localized("Focus done: time for a break.")
    case .breakTime: alarm = localized("The break is over.")
    case .snooze: alarm = localized("Time for the break that was put off.")
    case .idle, nil: alarm = localized("The time is up.")
    }
  }

  mutating func nextAlarm() -> String? {
    defer { alarm = nil }
    return alarm
  }

  /// Requests the devices when the view begins, after a new connection, and at regular intervals.
  mutating func consumeDeviceRequest(at wall: Int64) -> Bool {
    let isLate = requestedAt.map { abs(wall - $0) >= Self.requestMilliseconds } ?? true
    guard isLate || hasNewConnection else { return false }
    hasNewConnection = false
    requestedAt = wall
    return true
  }

  func rows(columns: Int, height: Int, at wall: Int64) -> [ScreenRow] {
    TimerPage(view: self, columns: columns, height: height, wall: wall).rows
  }
}

/// Recent events, one line each, derived from two successive boards or sync states of the home.
enum TimerNews {
  /// Returns nil if nothing has changed but the time.
  static func line(from old: TimerContents, to new: TimerContents) -> String? {
    guard new.editedAt != old.editedAt || new.screen.stableJSON != old.screen.stableJSON else {
      return nil
    }
    let (was, now) = (old.screen, new.screen)
    // An edit at zero has the time at which the countdown ran out.
    let isZero = was.zeroAt != nil && was.zeroAt == new.editedAt
    let who = RowText.line(new.deviceName)
    // Except for a break that is put off once more.
    if was.stateType == now.stateType, was.isPaused == now.isPaused,
      now.stateType != TimerPhase.snooze.rawValue
    {
      // No key leads here: of two concurrent edits, another one has prevailed now.
      return was.device == now.device || now.device.isEmpty
        ? nil : localized("what {device} did at the same time stands", ["device": who])
    }
    switch TimerPhase(rawValue: now.stateType) {
    case .focus where was.stateType == now.stateType,
      .breakTime where was.stateType == now.stateType,
      .snooze where was.isPaused != now.isPaused:
      return continued(who, new)
    case .breakTime where isZero && was.stateType == TimerPhase.focus.rawValue:
      return focusEnd(new)
    case .breakTime where isZero: return localized("the break that was put off begins")
    case .idle where isZero: return localized("the break is over")
    case .idle where was.stateType == TimerPhase.breakTime.rawValue:
      return localized("{device} ended the break", ["device": who])
    case .idle: return localized("{device} stopped the timer", ["device": who])
    case .focus, .breakTime, .snooze: return beginning(who, new)
    case nil:
      return localized(
        "{device} did what this version does not know: {state}",
        ["device": who, "state": RowText.line(now.stateType)])
    }
  }

  private static func continued(_ who: String, _ board: TimerContents) -> String {
    let values = ["device": who, "time": TimerScreen.clock(board.screen.remaining)]
    return board.screen.isPaused
      ? localized("{device} paused, {time} left", values)
      : localized("{device} goes on, {time} left", values)
  }

  /// A phase that a person began.
  private static func beginning(_ who: String, _ board: TimerContents) -> String {
    guard let duration = board.duration else {
      return switch TimerPhase(rawValue: board.screen.stateType) {
      case .breakTime: localized("{device} went on to a break", ["device": who])
      case .snooze: localized("{device} put the break off for a while", ["device": who])
      case .focus, .idle, nil: localized("{device} started a focus", ["device": who])
      }
    }
    let values = ["device": who, "length": minutes(duration)]
    return switch TimerPhase(rawValue: board.screen.stateType) {
    case .breakTime: localized("{device} went on to a break of {length}", values)
    case .snooze: localized("{device} put the break off for {length}", values)
    case .focus, .idle, nil: localized("{device} started a focus of {length}", values)
    }
  }

  /// A focus that ran out.
  private static func focusEnd(_ board: TimerContents) -> String {
    let done = board.screen.completedPomodoros
    // Only English has a word of its own for the place in an order.
    let number = Language.current == .english ? ordinal(done) : String(done)
    guard let duration = board.duration else {
      return localized("focus done, the {number}; a break follows", ["number": number])
    }
    return localized(
      "focus done, the {number}; a break of {length} follows",
      ["number": number, "length": minutes(duration)])
  }

  /// Returns nil if there is nothing of interest to a person.
  static func line(from old: HomeStatus?, to new: HomeStatus) -> String? {
    guard let old else { return nil }
    if new.conflicts > old.conflicts {
      let count = new.conflicts - old.conflicts
      return localized(
        count: count, one: "a conflict was settled", many: "{count} conflicts were settled")
    }
    if let reason = new.connectionError, old.connectionError == nil {
      return localized("offline: {reason}", ["reason": RowText.line(translated(reason))])
    }
    if old.connectionError != nil, let transport = new.transport {
      return localized("connected by {transport}", ["transport": transport])
    }
    return nil
  }

  /// Returns a text as short as possible, such as `25 min`, `90 s` or `02:30`.
  static func minutes(_ milliseconds: Int64) -> String {
    if milliseconds % 60_000 == 0 {
      return localized("{count} min", ["count": String(milliseconds / 60_000)])
    }
    if milliseconds < 120_000 {
      return localized("{count} s", ["count": String((max(0, milliseconds) + 999) / 1_000)])
    }
    return TimerScreen.clock(milliseconds)
  }

  private static func ordinal(_ number: Int64) -> String {
    switch (number % 10, number % 100) {
    case (_, 11...13): "\(number)th"
    case (1, _): "\(number)st"
    case (2, _): "\(number)nd"
    case (3, _): "\(number)rd"
    default: "\(number)th"
    }
  }
}

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
    guard height > 2 else { return Array(([countdownLine] + heading).prefix(max(0, height))) }
    let foot = [notice, keys].compactMap(\.self).suffix(height > 4 ? 2 : 1)
    let available = height - foot.count
    var body = view.showsHelp ? help(available) : page(available)
    body = Array(body.prefix(available))
    body += [ScreenRow](repeating: ScreenRow(), count: available - body.count)
    return body + foot
  }

  private func page(_ available: Int) -> [ScreenRow] {
    let digits = bigDigits(available)
    var head = heading
    if !digits.isEmpty, available >= digits.count + 8 { head += [ScreenRow()] }
    head += digits.isEmpty ? [countdownLine] : digits
    if !digits.isEmpty {
      if available >= digits.count + 7 { head += [ScreenRow()] }
      head += [phase]
    }
    head += [pomodoros, edit].compactMap(\.self)
    let left = available - head.count
    guard left >= 3 else { return head }
    if columns >= 100 {
      return head + [ScreenRow()] + beside(devices(left - 1), news(left - 1))
    }
    // The devices come first; recent events get the remaining rows.
    let devices = devices(min(left - 1, max(3, (left - 2) / 2 + 1)))
    let newsRows = left - devices.count - 2
    head += [ScreenRow()] + devices
    return newsRows >= 2 ? head + [ScreenRow()] + news(newsRows) : head
  }

  // MARK: the countdown

  private var remaining: Int64 { view.board?.remaining(at: view.relayTime(at: wall)) ?? 0 }

  private var time: String { TimerScreen.clock(remaining) }

  private var style: TextStyle {
    guard let screen = view.board?.screen, !screen.isPaused else { return .strong }
    switch TimerPhase(rawValue: screen.stateType) {
    case .focus: return .red
    case .breakTime: return .green
    case .snooze: return .magenta
    case .idle, nil: return .strong
    }
  }

  /// Returns no rows if there is no room for them.
  private func bigDigits(_ available: Int) -> [ScreenRow] {
    guard view.board != nil else { return [] }
    let sizes: [(dot: Int, scale: Int)] = [(4, 2), (2, 1), (1, 1)]
    let fitting = sizes.first { size in
      BigDigits.width(of: time, dot: size.dot) <= columns - 2
        && BigDigits.height * size.scale + (size.scale > 1 ? 20 : 3) <= available
    }
    guard let fitting else { return [] }
    return BigDigits.rows(time, dot: fitting.dot, scale: fitting.scale).map {
      ScreenRow($0, style).centred(in: columns)
    }
  }

  private var title: String {
    guard let screen = view.board?.screen else { return "…" }
    return switch TimerPhase(rawValue: screen.stateType) {
    case .idle: localized("nothing runs")
    case .focus: localized("focus")
    case .breakTime: isLongBreak ? localized("long break") : localized("break")
    case .snooze: localized("snooze, the break waits")
    case nil: RowText.line(screen.stateType)
    }
  }

  private var isLongBreak: Bool {
    guard let board = view.board, board.longBreakEvery > 0 else { return false }
    let done = board.screen.completedPomodoros
    return done > 0 && done % board.longBreakEvery == 0
  }

  private var pausedMark: ScreenRow {
    view.board?.screen.isPaused == true
      ? ScreenRow("  " + localized("paused"), .strong) : ScreenRow()
  }

  /// Row for screens on which the large digits do not fit.
  private var countdownLine: ScreenRow {
    guard let screen = view.board?.screen else { return ScreenRow(" …") }
    guard screen.stateType != TimerPhase.idle.rawValue else { return ScreenRow(" " + title, style) }
    return ScreenRow(" \(title) \(time)", style) + pausedMark
  }

  /// Row such as `focus ━━━━━━────── 25 min`.
  private var phase: ScreenRow {
    let name = ScreenRow(" " + title, style) + pausedMark
    guard let duration = view.board?.duration, duration > 0, remaining > 0 else { return name }
    let length = TimerNews.minutes(duration)
    let available = min(60, columns - name.width - RowText.width(of: length) - 6)
    guard available >= 6 else { return name }
    // Records come from other programs as well, and may contain a length of any size.
    let passed = max(0, Double(duration) - Double(remaining))
    let done = Int(Double(available) * passed / Double(duration))
    return name + ScreenRow("  " + String(repeating: "━", count: done), style)
      + ScreenRow(String(repeating: "─", count: available - done), .faint)
      + ScreenRow("  " + length, .faint)
  }

  /// Row such as `●●○○ 2 done, long break in 2`.
  private var pomodoros: ScreenRow? {
    guard let board = view.board else { return nil }
    // This program never counts below 0, but another program may.
    let (done, every) = (max(0, board.screen.completedPomodoros), board.longBreakEvery)
    guard every > 0 else { return ScreenRow(" " + Self.pomodoros(done, untilLongBreak: 0)) }
    // After the last one is done, the row stays full during the long break.
    let inCycle =
      isLongBreak && board.screen.stateType == TimerPhase.breakTime.rawValue
      ? every : done % every
    let left = every - inCycle
    let words = Self.pomodoros(done, untilLongBreak: left)
    guard every <= 12 else { return ScreenRow(" " + words) }
    return ScreenRow(" " + String(repeating: "●", count: Int(inCycle)), .strong)
      + ScreenRow(String(repeating: "○", count: Int(left)), .faint) + (" " + words)
  }

  /// `left`: pomodoros until the long break; 0: there is none ahead.
  private static func pomodoros(_ done: Int64, untilLongBreak left: Int64) -> String {
    let values = ["count": String(done), "left": String(left)]
    if left == 0 {
      return done == 0 ? localized("none done yet") : localized("{count} done", values)
    }
    return done == 0
      ? localized("none done yet, long break in {left}", values)
      : localized("{count} done, long break in {left}", values)
  }

  /// Device and time of the last edit.
  private var edit: ScreenRow? {
    guard let board = view.board, let editedAt = board.editedAt else { return nil }
    let values = [
      "time": view.clock(editedAt - view.relayTime(at: 0)),
      "when": RowText.ago(editedAt, at: view.relayTime(at: wall)),
    ]
    // The device's name has another style, so it is put into the text here.
    let text =
      board.screen.device == view.status?.device
      ? localized("by {device} (this device), {time}, {when}", values)
      : localized("by {device}, {time}, {when}", values)
    guard let place = text.firstRange(of: "{device}") else { return ScreenRow(" " + text, .faint) }
    return ScreenRow(" " + String(text[..<place.lowerBound]), .faint)
      + RowText.line(board.deviceName)
      + ScreenRow(String(text[place.upperBound...]), .faint)
  }

  // MARK: sync, devices, news

  /// The app, the sync status and the device's name.
  private var heading: [ScreenRow] {
    WatchHeading(
      title: TimerApp.zone.text, status: view.status, columns: columns, wall: wall,
      clock: view.clock
    ).rows
  }

  /// Returns a heading and the account's other devices, in at most so many rows.
  private func devices(_ available: Int) -> [ScreenRow] {
    var heading = ScreenRow(" " + localized("Other devices"), .strong)
    if view.devicesError != nil {
      heading = heading + ScreenRow("  " + localized("as last known"), .faint)
    }
    guard let all = view.devices else {
      let words = view.devicesError ?? localized("asking the relay")
      return [heading, ScreenRow("   " + words, .faint)]
    }
    let others = all.filter { $0.id.text != view.status?.device }
    guard !others.isEmpty else {
      let words = localized("none yet; lockstep agent pair lets one in")
      return [heading, ScreenRow("   " + words, .faint)]
    }
    let now = view.relayTime(at: wall)
    let rows = others.sorted {
      ($0.connected ? 1 : 0, $0.lastSeen) > ($1.connected ? 1 : 0, $1.lastSeen)
    }
    .map { device in
      let seen =
        device.connected
        ? localized("connected")
        : localized("seen {when}", ["when": RowText.ago(device.lastSeen, at: now)])
      return ScreenRow(device.connected ? "   ● " : "   ○ ", device.connected ? .green : .faint)
        + RowText.left(RowText.cut(RowText.line(device.description.deviceName), to: 20), 20)
        + ScreenRow("  " + seen, device.connected ? .plain : .faint)
    }
    return [heading] + fitting(rows, available - 1)
  }

  private func news(_ available: Int) -> [ScreenRow] {
    let heading = ScreenRow(" " + localized("Just now"), .strong)
    guard !view.news.isEmpty else {
      return [heading, ScreenRow("   " + localized("nothing since this view began"), .faint)]
    }
    return [heading]
      + view.news.prefix(max(0, available - 1)).map {
        ScreenRow("   " + view.clock($0.at) + "  ", .faint) + $0.text
      }
  }

  private func fitting(_ rows: [ScreenRow], _ available: Int) -> [ScreenRow] {
    guard rows.count > available, available > 0 else {
      return Array(rows.prefix(max(0, available)))
    }
    let count = String(rows.count - available + 1)
    return Array(rows.prefix(available - 1))
      + [ScreenRow("   " + localized("… and {count} more", ["count": count]), .faint)]
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
    let texts = [
      (localized("s start  p pause  r resume  x stop  k skip  z snooze  ? help  q quit"), 76),
      (localized("s start  p pause  ? help  q quit"), 36),
    ]
    let fitting = texts.first { text, least in
      columns >= max(least, RowText.width(of: text) + 1)
    }
    return ScreenRow(" " + (fitting?.0 ?? localized("? help  q quit")), .faint)
  }

  private func help(_ available: Int) -> [ScreenRow] {
    let keys = WatchKeys([
      ("s", localized("start a focus")), ("p", localized("pause")), ("r", localized("resume")),
      (localized("space"), localized("pause or resume")),
      ("x", localized("stop; an unfinished focus does not count")),
      ("k", localized("skip to what follows")), ("z", localized("put the break off")),
      ("?", localized("this help, and back")), ("q", localized("quit; the timer goes on")),
    ])
    return available >= keys.rows.count + 2
      ? heading + keys.rows : Array(keys.rows.dropFirst(2).prefix(available))
  }
}

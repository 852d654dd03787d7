import LockstepApps
import LockstepModel

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
  private(set) var devicesTrouble: String?
  private(set) var showsHelp = false
  /// Returns a point in time as the person's clock shows it.
  let clock: @Sendable (Int64) -> String
  /// Relay time minus wall clock, in milliseconds, as the home reported last.
  private var offset: Int64 = 0
  private var alarm: String?
  /// End of the countdown for which the bell has rung.
  private var rungFor: Int64?
  private var refusedAt: Int64 = 0
  private var lookedAt: Int64?
  private var hasNewConnection = false

  private static let newsMax = 20
  private static let refusalMilliseconds: Int64 = 6_000
  /// Interval in milliseconds between requests for the account's devices.
  static let lookMilliseconds: Int64 = 30_000

  init(clock: @escaping @Sendable (Int64) -> String = CalendarTime.clock) { self.clock = clock }

  // MARK: input

  mutating func take(_ line: JSONValue, at wall: Int64) {
    if let clock = line["clock"]?.wholeNumber { offset = clock }
    if let view = line["view"], let new = TimerContents(json: view) { take(new, at: wall) }
    if let status = line["status"] { take(HomeStatus(json: status), at: wall) }
    if let reason = line["error"]?.string {
      refusal = RowText.line(reason)
      refusedAt = wall
    }
    // An answer with names is to a request that the view sent by itself; all others are to keys.
    if let answer = line["answer"], answer["names"] == nil { refusal = nil }
  }

  private mutating func take(_ new: TimerContents, at wall: Int64) {
    if let old = board {
      noteEnd(of: old, at: max(wall + offset, new.screen.at))
      if let text = TimerNews.line(from: old, to: new) {
        // The time of an edit is when the device made it, not when it arrived from an offline
        // device.
        add(text, at: new.editedAt.map { min($0 - offset, wall) } ?? wall)
      }
    }
    board = new
  }

  private mutating func take(_ new: HomeStatus, at wall: Int64) {
    if let text = TimerNews.line(from: status, to: new) { add(text, at: wall) }
    if new.transport != status?.transport { hasNewConnection = true }
    status = new
  }

  private mutating func add(_ text: String, at wall: Int64) {
    let place = news.firstIndex { $0.at <= wall } ?? news.endIndex
    news.insert(News(at: wall, text: text), at: place)
    news = Array(news.prefix(Self.newsMax))
  }

  mutating func take(_ found: DeviceProbe.Found, at wall: Int64) {
    switch found {
    case .devices(let list):
      devices = list
      devicesTrouble = nil
    case .unknown(let reason): devicesTrouble = RowText.line(reason)
    }
  }

  mutating func pressed(_ key: UInt8) -> WatchPress {
    switch key {
    case UInt8(ascii: "s"): return .order(TimerEvent.start(length: nil).order)
    case UInt8(ascii: "p"): return .order(TimerEvent.pause.order)
    case UInt8(ascii: "r"): return .order(TimerEvent.resume.order)
    case UInt8(ascii: " "):
      let isPaused = board?.screen.isPaused ?? false
      return .order((isPaused ? TimerEvent.resume : TimerEvent.pause).order)
    case UInt8(ascii: "x"): return .order(TimerEvent.stop.order)
    case UInt8(ascii: "k"): return .order(TimerEvent.skip.order)
    case UInt8(ascii: "z"): return .order(TimerEvent.snooze(length: nil).order)
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
  func changesAt(_ wall: Int64) -> Int64? {
    board?.screen.zeroAt.map {
      TimerScreen.nextSecond(to: $0, from: relayTime(at: wall)) - offset
    }
  }

  mutating func pass(at wall: Int64) {
    if wall - refusedAt > Self.refusalMilliseconds { refusal = nil }
    if let board { noteEnd(of: board, at: relayTime(at: wall)) }
  }

  private mutating func noteEnd(of board: TimerContents, at instant: Int64) {
    guard let zeroAt = board.screen.zeroAt, zeroAt <= instant, rungFor != zeroAt else { return }
    rungFor = zeroAt
    switch TimerPhase(rawValue: board.screen.stateType) {
    case .focus: alarm = "Focus done: time for a break."
    case .breakTime: alarm = "The break is over."
    case .snooze: alarm = "Time for the break that was put off."
    case .idle, nil: alarm = "The time is up."
    }
  }

  mutating func takeAlarm() -> String? {
    defer { alarm = nil }
    return alarm
  }

  /// Requests the devices when the view begins, after a new connection, and at regular intervals.
  mutating func takeWishForDevices(at wall: Int64) -> Bool {
    let isLate = lookedAt.map { abs(wall - $0) >= Self.lookMilliseconds } ?? true
    guard isLate || hasNewConnection else { return false }
    hasNewConnection = false
    lookedAt = wall
    return true
  }

  func rows(columns: Int, height: Int, at wall: Int64) -> [ScreenRow] {
    TimerPage(view: self, columns: columns, height: height, wall: wall).rows
  }
}

import Apps
import Changes
import Loop

/// `lockstep agent timer watch`: the timer, live.
enum AgentTimerWatchCommand {
  static let command = HomeWatch.command(
    "Shows the timer live, with keys to press; without a terminal, a JSON line a change.",
    discussion: """
      A line is {"at", "stateType", "isPaused", "remaining", "completedPomodoros", "device"}: \
      relay time and milliseconds left at that time. It ends with q, Ctrl-C, or when nobody reads \
      it any more.
      """,
    app: TimerApp().name, isTicking: true, view: { TimerView(takesColours: $0) },
    question: { _ throws(CommandFailure) in TimerApp.screen })
}

/// The live view: a line for the timer, one for sync and what just happened, and the keys.
struct TimerView: WatchView {
  let takesColours: Bool
  var showsKeys = true
  private var timer = "…"
  private var status: HomeStatus?
  private var note = ""
  private var area = DrawnArea()

  init(takesColours: Bool) { self.takesColours = takesColours }

  mutating func pressed(_ key: UInt8) -> WatchPress {
    switch key {
    case UInt8(ascii: "s"): return .order(TimerEvent.start(length: nil).order)
    case UInt8(ascii: "p"): return .order(TimerEvent.pause.order)
    case UInt8(ascii: "r"): return .order(TimerEvent.resume.order)
    case UInt8(ascii: "x"): return .order(TimerEvent.stop.order)
    case UInt8(ascii: "k"): return .order(TimerEvent.skip.order)
    case UInt8(ascii: "z"): return .order(TimerEvent.snooze(length: nil).order)
    case UInt8(ascii: "?"), UInt8(ascii: "h"):
      showsKeys.toggle()
      return .nothing
    default: return .nothing
    }
  }

  mutating func end() { showsKeys = false }

  mutating func take(_ line: JSONValue) {
    if line["view"] != nil { timer = HomeView(line).text }
    if let status = line["status"] { self.status = HomeStatus(json: status) }
    if let reason = line["error"]?.string { note = reason }
    if line["answer"] != nil { note = "" }
  }

  /// It grows old while nobody tells anything new: how long a device is offline goes on, and one
  /// that is in sync is so all the time.
  private var sync: String {
    guard let status else { return "" }
    return status.isInSync ? "in sync" : status.line(now: SystemClock.moment().wall)
  }

  /// The view over the one drawn before. A line that would go on in the next row is cut: rows are
  /// what the cursor goes up by.
  mutating func drawn(columns: Int, rows: Int) -> String {
    var lines = [timer, sync]
    if !note.isEmpty { lines.append(note) }
    if showsKeys {
      lines.append("s start  p pause  r resume  x stop  k skip  z snooze  ? keys  q quit")
    }
    lines = lines.map { RowText.cut($0, to: columns - 1) }
    if takesColours { lines[0] = "\u{1B}[1m\(lines[0])\u{1B}[0m" }
    return area.drawn(lines)
  }
}

import LockstepApps
import LockstepJSON
import LockstepModel
import LockstepSimulation

/// Actions of a person with one app on a working day, from nine to five, on several devices.
struct DayScript {
  struct Act {
    /// Milliseconds since midnight.
    var at: Int64
    var device: Int
    var what: What
  }

  enum What {
    /// Order in the app's own format.
    case order(JSONValue)
    /// A file is saved; this many of its chunks are new.
    case saveFile(size: Int, chunks: Int)
  }

  static let hour: Int64 = 3_600_000
  static let minute: Int64 = 60_000
  /// Working hours; outside of them no device is used.
  static let work = 9 * hour..<17 * hour
  /// From an hour after working hours until midnight.
  static let idle = 18 * hour..<24 * hour

  /// Sorted by time.
  let acts: [Act]

  init(of app: KnownApp, devices: Int, random: inout SeededRandom) {
    var day = DayWriter(devices: devices, random: random)
    switch app {
    case .timer: day.pomodoros()
    case .clipboard: day.copies()
    case .memo: day.memos()
    case .habits: day.habits()
    case .vault: day.files()
    }
    random = day.random
    acts = day.acts.sorted { $0.at < $1.at }
  }
}

/// Builds the actions of a day, app by app.
private struct DayWriter {
  let devices: Int
  var random: SeededRandom
  var acts: [DayScript.Act] = []

  init(devices: Int, random: SeededRandom) {
    self.devices = devices
    self.random = random
  }

  private mutating func add(_ at: Int64, _ what: DayScript.What) {
    let device = Int.random(in: 0..<devices, using: &random)
    acts.append(DayScript.Act(at: at, device: device, what: what))
  }

  /// Returns a random time in the working hours.
  private mutating func moment() -> Int64 { Int64.random(in: DayScript.work, using: &random) }

  /// Returns a text of this many letters, in words.
  private mutating func text(_ count: Int) -> String {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let isGap = Int.random(in: 0..<6, using: &random) == 0
      bytes.append(isGap ? UInt8(ascii: " ") : UInt8.random(in: 97...122, using: &random))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Adds a focus every half hour, most with an interruption; the countdowns end by themselves.
  mutating func pomodoros() {
    for start in stride(
      from: DayScript.work.lowerBound, to: DayScript.work.upperBound, by: 30 * 60_000)
    {
      add(start, .order(TimerAction.event(.start(length: nil)).json))
      guard Int.random(in: 0..<3, using: &random) > 0 else { continue }
      let pause = start + DayScript.minute * Int64.random(in: 3...12, using: &random)
      add(pause, .order(TimerAction.event(.pause).json))
      add(pause + 2 * DayScript.minute, .order(TimerAction.event(.resume).json))
    }
    add(DayScript.work.upperBound, .order(TimerAction.event(.stop).json))
  }

  /// Adds eighty copied items: most are lines, some are pages.
  mutating func copies() {
    for number in 0..<80 {
      let letters = number % 10 == 0 ? 4_000 : Int.random(in: 8...300, using: &random)
      let action = ClipboardAction.add(
        content: text(letters), name: Name(trusted: "copy \(number)"))
      add(moment(), .order(action.json))
    }
  }

  /// Adds six memos, each edited several times.
  mutating func memos() {
    for number in 0..<6 {
      let name = Name(trusted: "memo \(number)")
      var content = text(400)
      var at = DayScript.work.lowerBound + DayScript.minute * Int64(number)
      add(at, .order(MemoAction.add(content: content, name: name).json))
      for _ in 0..<8 {
        at += DayScript.minute * Int64.random(in: 5...50, using: &random)
        let was = content
        content += " " + text(80)
        add(
          at,
          .order(MemoAction.edit(memo: name.text, content: content, was: was).json))
      }
    }
  }

  /// Adds four habits that are checked once, and four that are counted during the day.
  mutating func habits() {
    for number in 0..<8 {
      let name = Name(trusted: "habit \(number)")
      let kind: HabitKind = number % 2 == 0 ? .checkbox : .count
      let adding = HabitAction.add(name: name, title: name.text, kind: kind, target: 8)
      add(DayScript.work.lowerBound, .order(adding.json))
      for _ in 0..<(kind == .checkbox ? 1 : 8) {
        let at = max(moment(), DayScript.work.lowerBound + DayScript.minute)
        let action: HabitAction =
          kind == .checkbox
          ? .check(habit: name.text, day: "2026-11-21", isDone: true)
          : .count(habit: name.text, day: "2026-11-21", by: 1)
        add(at, .order(action.json))
      }
    }
  }

  /// Adds a file of a megabyte, saved ten times with one changed chunk.
  mutating func files() {
    let (size, chunks) = (8 * DayDevice.chunkBytes, 8)
    add(DayScript.work.lowerBound, .saveFile(size: size, chunks: chunks))
    for _ in 0..<10 { add(moment(), .saveFile(size: size, chunks: 1)) }
  }
}

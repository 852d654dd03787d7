import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepCommand

struct TimerViewTests {
  private static func view() -> TimerView { TimerView { "@\($0)" } }

  private static func board(
    _ type: String = "focus", left: Int64 = 60_000, at: Int64 = 0, edited: Int64 = 0,
    paused: Bool = false, done: Int64 = 0, by device: String = "phone"
  ) -> JSONValue {
    [
      "at": .number(JSONNumber(at)), "stateType": .string(type), "isPaused": .bool(paused),
      "remaining": .number(JSONNumber(left)), "completedPomodoros": .number(JSONNumber(done)),
      "device": "0000000000000002", "deviceName": .string(device),
      "editedAt": .number(JSONNumber(edited)), "duration": 60_000, "longBreakEvery": 4,
    ]
  }

  private static func line(_ board: JSONValue, clock: Int64 = 0) -> JSONValue {
    ["view": board, "lines": [], "clock": .number(JSONNumber(clock))]
  }

  private static func text(
    _ view: TimerView, columns: Int = 80, height: Int = 24, at wall: Int64 = 0
  ) -> [String] {
    view.rows(columns: columns, height: height, at: wall).map(\.plainText)
  }

  private func alarm(_ view: inout TimerView) -> String? { view.nextAlarm() }

  private func wishes(_ view: inout TimerView, _ wall: Int64) -> Bool {
    view.consumeDeviceRequest(at: wall)
  }

  private func press(_ view: inout TimerView, _ key: UInt8) -> WatchKeyAction {
    view.handleKey(key)
  }

  @Test func theCountdownGoesOnThoughNobodyTellsAnything() {
    var view = Self.view()
    view.handleLine(Self.line(Self.board()), at: 0)
    let small = { (wall: Int64) in
      Self.text(view, columns: 40, height: 5, at: wall).joined(separator: "\n")
    }
    #expect(small(0).contains("focus 01:00"))
    #expect(small(1).contains("focus 01:00"))
    #expect(small(1_000).contains("focus 00:59"))
    #expect(small(59_999).contains("focus 00:01"))
    #expect(small(90_000).contains("focus 00:00"))
  }

  /// Independent of the wall clocks of the two machines.
  @Test func twoScreensChangeTheirSecondAtOneInstantOfRelayTime() {
    var (one, other) = (Self.view(), Self.view())
    one.handleLine(Self.line(Self.board(left: 59_300, at: 700), clock: 1_000_000), at: -999_300)
    other.handleLine(Self.line(Self.board(left: 41_877, at: 18_123), clock: -5_000), at: 23_123)
    for instant in stride(from: Int64(20_000), to: 40_000, by: 333) {
      let changes = (
        one.nextChange(after: instant - 1_000_000), other.nextChange(after: instant + 5_000)
      )
      #expect(changes.0.map { $0 + 1_000_000 } == changes.1.map { $0 - 5_000 })
      #expect(
        Self.text(one, at: instant - 1_000_000)[2...6]
          == Self.text(other, at: instant + 5_000)[2...6]
      )
    }
    #expect(one.nextChange(after: -999_300) == -999_000)
  }

  /// Records may come from other programs: the screen is drawn for any numbers.
  @Test(arguments: [0, 1, 153_722_867_280_912_930, 1 << 60, Int64.max, -1, Int64.min])
  func anyLengthIsDrawn(_ length: Int64) {
    for left in [0, 1, 60_000, 1 << 60] as [Int64] {
      for done in [0, 3, 1 << 60, -1, -(1 << 60)] as [Int64] {
        var view = Self.view()
        let board = Self.board(left: left, done: done)
          .setting("duration", to: .number(JSONNumber(length)))
        view.handleLine(Self.line(board), at: 0)
        for (columns, height) in [(30, 4), (80, 24), (200, 60)] {
          let rows = Self.text(view, columns: columns, height: height, at: 1)
          #expect(rows.contains { $0.contains("focus") })
        }
      }
    }
  }

  @Test func aTimerThatStandsStillChangesByNobody() {
    var view = Self.view()
    #expect(view.nextChange(after: 0) == nil)
    view.handleLine(Self.line(Self.board(paused: true)), at: 0)
    #expect(view.nextChange(after: 0) == nil)
    view.handleLine(Self.line(Self.board("idle", left: 0)), at: 0)
    #expect(view.nextChange(after: 0) == nil)
  }

  @Test func eachEndIsRungForOnce() {
    var view = Self.view()
    view.handleLine(Self.line(Self.board()), at: 0)
    view.advance(to: 59_999)
    #expect(alarm(&view) == nil)
    view.advance(to: 60_000)
    #expect(alarm(&view) == "Focus done: time for a break.")
    view.advance(to: 60_001)
    view.handleLine(
      Self.line(Self.board("breakTime", left: 60_000, at: 60_000, edited: 60_000, done: 1)),
      at: 60_002)
    #expect(alarm(&view) == nil)
    // The home may send the next phase before this screen has checked its clock.
    view.handleLine(
      Self.line(Self.board("idle", left: 0, at: 120_000, edited: 120_000)), at: 119_999)
    #expect(alarm(&view) == "The break is over.")
    view.advance(to: 200_000)
    #expect(alarm(&view) == nil)
  }

  @Test func aTimerThatIsStoppedRingsForNothing() {
    var view = Self.view()
    view.handleLine(Self.line(Self.board()), at: 0)
    view.handleLine(Self.line(Self.board("idle", left: 0, at: 30_000, edited: 30_000)), at: 30_000)
    view.advance(to: 90_000)
    #expect(alarm(&view) == nil)
  }

  @Test func aRefusalStaysUntilAPressSucceedsOrAWhile() {
    var view = Self.view()
    let isRefused = { (wall: Int64) in
      Self.text(view, at: wall).contains { $0.contains("nothing runs here") }
    }
    view.handleLine(["error": "nothing runs here"], at: 0)
    view.handleLine(["answer": ["names": 2]], at: 0)
    #expect(isRefused(0))
    view.handleLine(["answer": [:]], at: 0)
    #expect(!isRefused(0))
    view.handleLine(["error": "nothing runs here"], at: 0)
    view.advance(to: 5_000)
    #expect(isRefused(5_000))
    view.advance(to: 7_000)
    #expect(!isRefused(7_000))
  }

  @Test func keysAreOrdersAndSpaceDoesWhatIsNext() {
    var view = Self.view()
    #expect(press(&view, UInt8(ascii: "s")) == .order(["do": "start"]))
    #expect(press(&view, UInt8(ascii: "z")) == .order(["do": "snooze"]))
    #expect(press(&view, UInt8(ascii: " ")) == .order(["do": "pause"]))
    view.handleLine(Self.line(Self.board(paused: true)), at: 0)
    #expect(press(&view, UInt8(ascii: " ")) == .order(["do": "resume"]))
    #expect(press(&view, UInt8(ascii: "A")) == .nothing)
    #expect(press(&view, UInt8(ascii: "?")) == .nothing)
    #expect(Self.text(view).contains { $0.contains("put the break off") })
  }

  @Test func theDevicesAreAskedForAtTheBeginningWithANewConnectionAndNowAndThen() {
    var view = Self.view()
    #expect(wishes(&view, 0) == true)
    #expect(wishes(&view, 29_999) == false)
    #expect(wishes(&view, 30_000) == true)
    view.handleLine(["status": ["state": "inSync", "transport": "websocket"]], at: 30_001)
    #expect(wishes(&view, 30_001) == true)
    #expect(wishes(&view, 30_002) == false)
  }

  @Test func whatHappenedStandsWithItsTimeTheNewestFirst() {
    var view = Self.view()
    view.handleLine(Self.line(Self.board("idle", left: 0)), at: 0)
    view.handleLine(Self.line(Self.board(edited: 5_000), clock: 1_000), at: 4_500)
    view.handleLine(["status": ["state": "inSync", "transport": "websocket"]], at: 5_000)
    view.handleLine(["status": ["state": "offline", "reason": "refused"]], at: 6_000)
    // The edit was made before that, on a device that was offline.
    view.handleLine(
      Self.line(Self.board(left: 30_000, edited: 6_500, paused: true), clock: 1_000), at: 7_000)
    #expect(
      view.news == [
        .init(at: 6_000, text: "offline: refused"),
        .init(at: 5_500, text: "phone paused, 00:30 left"),
        .init(at: 4_000, text: "phone started a focus of 1 min"),
      ])
    #expect(Self.text(view).contains { $0.contains("@4000  phone started") })
  }

  @Test(arguments: [(20, 3), (40, 10), (80, 24), (120, 40), (300, 80), (10, 1), (80, 5)])
  func everyScreenIsFilledAndNoMore(_ columns: Int, _ height: Int) {
    var view = Self.view()
    view.handleLine(Self.line(Self.board(done: 3)), at: 0)
    view.handleLine(["status": ["state": "inSync", "deviceName": "desk"]], at: 0)
    for number in 0..<30 {
      view.handleLine(
        Self.line(Self.board(edited: Int64(number), paused: number % 2 == 0, done: 3)), at: 0)
    }
    let devices = (1...40).map { number in
      Device(
        id: DeviceID(rawValue: UInt64(number)),
        description: DeviceDescription(
          deviceName: "device \(number)", platform: "linux", appVersion: "1"),
        lastSeen: 0, connected: number % 2 == 0)
    }
    view.handleDevices(DeviceProbe.Result.devices(devices), at: 0)
    for _ in 0..<2 {
      let rows = view.rows(columns: columns, height: height, at: 0)
      #expect(rows.count == height)
      _ = view.handleKey(UInt8(ascii: "?"))
    }
    if height >= 10 {
      let rows = Self.text(view, columns: columns, height: height)
      #expect(rows.contains { $0.contains("██") } || columns < 40)
      #expect(rows.contains { $0.contains("●●●○") && $0.contains("3 done") })
      #expect(rows.last?.contains("q quit") == true)
    }
  }

  /// With names, news and a refusal in the person's language, nothing is cut on a usual terminal.
  @Test(arguments: Language.allCases) func everyRowFitsTheTerminal(_ language: Language) {
    language {
      for type in ["focus", "breakTime", "snooze", "idle"] {
        var view = TimerView { _ in "12:34" }
        view.handleLine(Self.line(Self.board(done: 3)), at: 0)
        view.handleLine(
          Self.line(Self.board(type, edited: 3_000, paused: type == "snooze", done: 10)), at: 4_000)
        view.handleLine(["status": ["state": "inSync", "transport": "websocket"]], at: 5_000)
        view.handleDevices(.devices([]), at: 5_000)
        for _ in 0..<2 {
          for row in view.rows(columns: 80, height: 24, at: 64_000) {
            #expect(row.width <= 80, "\(row.plainText)")
          }
          _ = view.handleKey(UInt8(ascii: "?"))
        }
      }
    }
  }

  @Test func theScreenIsInTheLanguageOfThePerson() {
    func text(_ language: Language) -> String {
      language {
        var view = TimerView { _ in "12:34" }
        view.handleLine(Self.line(Self.board("idle", left: 0)), at: 0)
        view.handleLine(Self.line(Self.board(edited: 5_000, done: 3)), at: 5_000)
        view.handleLine(["status": ["state": "inSync", "transport": "websocket"]], at: 5_000)
        view.handleDevices(.devices([]), at: 5_000)
        return Self.text(view, at: 15_000).joined(separator: "\n")
      }
    }
    let chinese = text(.chinese)
    for words in [
      " 计时器  ● 已同步（websocket），12:34", " 专注", "1 分钟", "●●●○ 已完成 3 个番茄钟，再完成 1 个后长休息",
      " 上次更改：phone，12:34，10 秒前", " 其他设备", "12:34  phone 开始了 1 分钟的专注",
      " s 开始  p 暂停  r 继续  x 停止  k 跳过  z 推迟休息  ? 帮助  q 退出",
    ] { #expect(chinese.contains(words), "\(words) is not in \(chinese)") }
    let japanese = text(.japanese)
    for words in [
      " タイマー  ● 同期済み（websocket）、12:34", " 集中", "●●●○ 3ポモドーロ完了、あと1回で長い休憩",
      " 最終変更：phone、12:34、10秒前", " ほかのデバイス", "12:34  phoneが1分の集中を開始",
      " s 開始  p 一時停止  r 再開  x 停止  k スキップ  z スヌーズ  ? ヘルプ  q 終了",
    ] { #expect(japanese.contains(words), "\(words) is not in \(japanese)") }
  }

  @Test func theBellIsForWordsOfThePerson() {
    Language.japanese {
      var view = Self.view()
      view.handleLine(Self.line(Self.board()), at: 0)
      view.advance(to: 60_000)
      #expect(alarm(&view) == "集中が終わりました。休憩の時間です。")
    }
  }

  @Test func aRelayThatCannotBeAskedIsNoReasonToForgetTheDevices() {
    var view = Self.view()
    view.handleLine(Self.line(Self.board()), at: 0)
    #expect(Self.text(view).contains { $0.contains("asking the relay") })
    view.handleDevices(DeviceProbe.Result.unknown("not there"), at: 0)
    #expect(Self.text(view).contains { $0.contains("not there") })
    view.handleDevices(
      DeviceProbe.Result.devices([
        Device(
          id: DeviceID(rawValue: 7),
          description: DeviceDescription(deviceName: "tab", platform: "", appVersion: ""),
          lastSeen: 0, connected: true)
      ]), at: 0)
    view.handleDevices(DeviceProbe.Result.unknown("not there"), at: 0)
    #expect(Self.text(view).contains { $0.contains("as last known") })
    #expect(Self.text(view).contains { $0.contains("● tab") && $0.contains("connected") })
  }
}

import Glibc
import LockstepEventLoop
import LockstepModel

/// A view on the full screen of a terminal. Waits for messages of the home, keys, changes of the
/// terminal's size, and the next second.
struct LiveWatch {
  let session: HomeSession
  let app: String
  let request: HomeRequest
  var view: any WatchView
  let look: Look<DeviceProbe.Found>
  let ringsBell: Bool
  let notifies: Bool
  private var notice = DesktopNotice()
  private var names: [DeviceID: String] = [:]

  init(
    session: HomeSession, app: String, request: HomeRequest, view: any WatchView,
    look: Look<DeviceProbe.Found>, ringsBell: Bool, notifies: Bool
  ) {
    self.session = session
    self.app = app
    self.request = request
    self.view = view
    self.look = look
    self.ringsBell = ringsBell
    self.notifies = notifies
  }

  /// Interval in milliseconds at which ages and the sync status are redrawn if nothing else
  /// happens.
  private static let idleMilliseconds: Int64 = 1_000

  private enum Turn {
    case goOn
    /// The process that held the home has ended.
    case reopen
    case end
  }

  mutating func run(until signals: Signals, resizes: Signals) throws(CommandFailure) -> ExitCode {
    let keys = try RawKeys()
    defer { keys.restore() }
    var screen = try FullScreen(.standard)
    defer { screen.leave() }
    defer { look.end() }
    while true {
      guard session.connection.send(request) else {
        try session.reopen()
        continue
      }
      var turn = Turn.goOn
      while case .goOn = turn {
        try show(on: &screen)
        turn = try step(keys, signals, resizes)
      }
      if case .end = turn { return .success }
      try session.reopen()
    }
  }

  private mutating func show(on screen: inout FullScreen) throws(CommandFailure) {
    let wall = SystemClock.moment().wall
    view.pass(at: wall)
    do throws(CommandFailure) {
      try screen.show(view.rows(columns: screen.columns, height: screen.height, at: wall))
      if let words = view.takeAlarm() {
        if ringsBell { try screen.ring() }
        if notifies { notice.tell("Lockstep timer", words) }
      }
    } catch {
      // The terminal is gone, so no error can be shown on it.
      throw error.exitCode == .failure ? .nobodyReads : error
    }
    notice.clear()
    if view.takeWishForDevices(at: wall) { try look.ask() }
  }

  private mutating func step(
    _ keys: RawKeys, _ signals: Signals, _ resizes: Signals
  ) throws(CommandFailure) -> Turn {
    let wall = SystemClock.moment().wall
    let wait = view.changesAt(wall).map { min(max(1, $0 - wall), Self.idleMilliseconds) }
    let others = [signals.rawValue, resizes.rawValue, STDIN_FILENO, look.descriptor]
    let event = session.connection.next(
      milliseconds: Int32(wait ?? Self.idleMilliseconds), others: others)
    switch event {
    case .line(let line): view.take(line, at: SystemClock.moment().wall)
    case .timeout: break
    case .closed: return .reopen
    case .other(signals.rawValue): return .end
    case .other(resizes.rawValue): try take(resizes)
    case .other(STDIN_FILENO):
      guard let key = keys.read(), !RawKeys.quits.contains(key) else { return .end }
      if case .order(let order) = view.pressed(key) {
        guard session.connection.send(.order(app: app, order)) else { return .reopen }
      }
    case .other: if let found = look.take() { return take(found) }
    }
    return .goOn
  }

  /// Clears the signal. The screen reads its size whenever it draws.
  private func take(_ resizes: Signals) throws(CommandFailure) {
    do throws(SystemFault) { _ = try resizes.take() } catch { throw CommandFailure("\(error)") }
  }

  /// Passes the devices to the view, and their names to the home, which stores them.
  private mutating func take(_ found: DeviceProbe.Found) -> Turn {
    view.take(found, at: SystemClock.moment().wall)
    guard case .devices(let devices) = found else { return .goOn }
    let names = Dictionary(devices.map { ($0.id, $0.description.deviceName) }) { first, _ in first }
    guard names != self.names else { return .goOn }
    self.names = names
    return session.connection.send(.names(names)) ? .goOn : .reopen
  }
}

/// Single keys as they are pressed, without waiting for a whole line.
struct RawKeys {
  private var before = termios()

  /// q, Ctrl-C and Ctrl-D.
  static let quits: [UInt8] = [UInt8(ascii: "q"), 3, 4]

  init() throws(CommandFailure) {
    guard tcgetattr(STDIN_FILENO, &before) == 0 else {
      throw CommandFailure("the terminal cannot be used; try --json")
    }
    var raw = before
    // Ctrl-C is read as a key too, so that the terminal is always restored.
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &raw)
  }

  func restore() {
    var before = before
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &before)
  }

  /// Returns nil at the end of the input.
  func read() -> UInt8? {
    var byte: UInt8 = 0
    return Glibc.read(STDIN_FILENO, &byte, 1) == 1 ? byte : nil
  }
}

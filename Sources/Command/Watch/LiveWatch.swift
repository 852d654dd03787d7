import Glibc
import Lockstep
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepLanguage
import LockstepModel

/// A view on the full screen of a terminal. Waits for messages of the home, keys, changes of the
/// terminal's size, and the next second.
struct LiveWatch {
  let session: HomeSession
  let app: String
  let request: HomeRequest
  var view: any WatchView
  let query: BackgroundQuery<DeviceProbe.Result>
  let ringsBell: Bool
  let notifies: Bool
  private var notice = DesktopNotice()
  private var names: [DeviceID: String] = [:]

  init(
    session: HomeSession, app: String, request: HomeRequest, view: any WatchView,
    query: BackgroundQuery<DeviceProbe.Result>, ringsBell: Bool, notifies: Bool
  ) {
    self.session = session
    self.app = app
    self.request = request
    self.view = view
    self.query = query
    self.ringsBell = ringsBell
    self.notifies = notifies
  }

  /// Interval in milliseconds at which ages and the sync status are redrawn if nothing else
  /// happens.
  private static let idleMilliseconds: Int64 = 1_000

  private enum Turn {
    case proceed
    /// The process that held the home has ended.
    case reopen
    case end
  }

  mutating func run(until signals: Signals, resizes: Signals) throws(CommandFailure) -> ExitCode {
    let keys = try RawKeys()
    defer { keys.restore() }
    var screen = try FullScreen(.standard)
    defer { screen.restore() }
    defer { query.stop() }
    while true {
      guard session.connection.send(request) else {
        try session.reopen()
        continue
      }
      var turn = Turn.proceed
      while case .proceed = turn {
        try draw(on: &screen)
        turn = try waitForEvent(keys, signals, resizes)
      }
      if case .end = turn { return .success }
      try session.reopen()
    }
  }

  private mutating func draw(on screen: inout FullScreen) throws(CommandFailure) {
    let wall = SystemClock.moment().wall
    view.advance(to: wall)
    do throws(CommandFailure) {
      let (columns, height) = (screen.columns, screen.height)
      view.layOut(columns: columns, height: height, at: wall)
      try screen.draw(view.rows(columns: columns, height: height, at: wall))
      if let text = view.nextAlarm() {
        if ringsBell { try screen.ringBell() }
        if notifies { notice.show(localized("Lockstep timer"), text) }
      }
    } catch {
      // The terminal is gone, so no error can be shown on it.
      throw error.exitCode == .failure ? .outputClosed : error
    }
    notice.reap()
    if view.consumeDeviceRequest(at: wall) { try query.start() }
  }

  private mutating func waitForEvent(
    _ keys: RawKeys, _ signals: Signals, _ resizes: Signals
  ) throws(CommandFailure) -> Turn {
    let wall = SystemClock.moment().wall
    let wait = view.nextChange(after: wall).map { min(max(1, $0 - wall), Self.idleMilliseconds) }
    let others = [signals.rawValue, resizes.rawValue, STDIN_FILENO, query.descriptor]
    let event = session.connection.next(
      milliseconds: Int32(wait ?? Self.idleMilliseconds), others: others)
    switch event {
    case .line(let line): view.handleLine(line, at: SystemClock.moment().wall)
    case .timeout: break
    case .closed: return .reopen
    case .other(signals.rawValue): return .end
    case .other(resizes.rawValue): try clear(resizes)
    case .other(STDIN_FILENO):
      guard let key = keys.read(), !RawKeys.quits.contains(key) else { return .end }
      if case .order(let order) = view.handleKey(key) {
        guard session.connection.send(.order(app: app, order)) else { return .reopen }
      }
    case .other: if let result = query.nextAnswer() { return handleDevices(result) }
    }
    return .proceed
  }

  /// Clears the signal. The screen reads its size whenever it draws.
  private func clear(_ resizes: Signals) throws(CommandFailure) {
    _ = try CommandFailure.wrap { () throws(SystemFault) in try resizes.receive() }
  }

  /// Passes the devices to the view, and their names to the home, which stores them.
  private mutating func handleDevices(_ result: DeviceProbe.Result) -> Turn {
    view.handleDevices(result, at: SystemClock.moment().wall)
    guard case .devices(let devices) = result else { return .proceed }
    let names = Dictionary(devices.map { ($0.id, $0.description.deviceName) }) { first, _ in first }
    guard names != self.names else { return .proceed }
    self.names = names
    return session.connection.send(.names(names)) ? .proceed : .reopen
  }
}

/// Notifications on the desktop by `notify-send`, if both exist. Does not wait for its processes,
/// and reaps those that have ended.
struct DesktopNotice {
  private var running: [ChildProcess] = []

  /// Maximum number of running processes, in case the desktop does not respond.
  private static let runningMax = 4

  private static var hasDesktop: Bool {
    let variables = ["WAYLAND_DISPLAY", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS"] as [String]
    return variables.contains { name in
      getenv(name).map { $0.pointee != 0 } ?? false
    }
  }

  /// Shows a notification. Does nothing if that is not possible.
  mutating func show(_ title: String, _ text: String) {
    reap()
    guard Self.hasDesktop, running.count < Self.runningMax else { return }
    let command = ["notify-send", "--app-name=Lockstep", title, text]
    do throws(CommandFailure) {
      running.append(try ChildProcess(command, readsOutput: false))
    } catch {
      // This desktop has no such program; the view shows what has changed.
    }
  }

  /// Reaps the processes that have ended.
  mutating func reap() {
    running.removeAll { $0.exitCode() != nil }
  }
}

import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime

/// `lockstep clipboard watch --sync`: mirrors the desktop's clipboard and the account's newest
/// item. `ClipboardMirror` decides what goes where; this runs the programs and talks to the home.
struct ClipboardSync {
  static let discussion = """
    With --sync it mirrors the clipboard of this desktop until Ctrl-C: what is copied here becomes \
    the newest item, and what arrives from another device is copied here. What was there at the \
    start stays. It needs wl-clipboard under Wayland, xclip or xsel under X11. There it reads the \
    clipboard once a second, unless clipnotify is installed. Only text is synced, up to \
    \(ClipboardMirror.textBytesMax >> 10) KiB; blank texts are not, nor passwords that a password \
    manager marks as such (xsel cannot see the mark). With --json it prints a line per transfer, \
    without the text.
    """

  private let session: HomeSession
  private let signals: Signals
  private let isJSON: Bool
  private var desktop: DesktopClipboard
  private var mirror: ClipboardMirror
  private var watcher: Watcher?
  /// Programs that hold texts for others on the desktop, the newest last.
  private var writers: [ChildProcess] = []
  /// Time at which the desktop is read without a report of a change; nil: only after one.
  private var readsAt: Instant?
  /// Reason for which the desktop does not answer, and the wait before the next attempt.
  private var loss: (reason: String, milliseconds: Int64)?
  private var failedWatches = 0

  private struct Watcher {
    var process: ChildProcess
    var startedAt: Instant
  }

  /// Interval at which the clipboard is read if no program reports changes, in milliseconds.
  private static let pollMilliseconds: Int64 = 1_000
  /// Longest wait before a desktop that does not answer is tried again, in milliseconds.
  private static let retryMillisecondsMax: Int64 = 30_000
  /// Programs that hold texts. All but the newest end by themselves, unless they hang.
  private static let writersMax = 4
  /// Failures of the watching program in a row, each within a second, after which it is given up.
  private static let failedWatchesMax = 3
  private static let orderAttempts = 2
  /// Least time between two changes, in milliseconds: people need longer.
  private static let soundMilliseconds: Int64 = 20
  /// Pause before the home is asked again, if it has closed the connection.
  private static let reconnectMicroseconds: UInt32 = 100_000

  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let desktop = try DesktopClipboard.find(
      environment: { name in getenv(name).map { String(cString: $0) } },
      hasProgram: DesktopClipboard.isInstalled)
    // Before any thread starts: threads inherit the blocked signals.
    let signals = try Interruption.signals([SIGTERM, SIGINT, SIGHUP])
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let lock = try lock(session.folder)
      defer { close(lock) }
      try session.requireScope(ClipboardApp.zone, forChanges: true)
      if session.isHolder {
        // What other devices have copied until now is there already.
        _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      }
      let status = HomeStatus(json: try session.send(.status))
      var sync = ClipboardSync(
        session: session, signals: signals, isJSON: arguments[AgentCommand.json],
        desktop: desktop, mirror: ClipboardMirror(device: status.device))
      defer { sync.stopPrograms() }
      return try sync.run()
    }
  }

  /// Returns a descriptor that keeps others from doing the same for this home: they would send each
  /// copy twice.
  private static func lock(_ folder: HomeFolder) throws(CommandFailure) -> Int32 {
    let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CommandFailure("\(folder.path): \(String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw CommandFailure(
        localized(
          "the clipboard of a desktop is synced with this home already; end that command first"))
    }
    return descriptor
  }

  private init(
    session: HomeSession, signals: Signals, isJSON: Bool, desktop: DesktopClipboard,
    mirror: ClipboardMirror
  ) {
    self.session = session
    self.signals = signals
    self.isJSON = isJSON
    self.desktop = desktop
    self.mirror = mirror
  }

  // MARK: Loop

  private mutating func run() throws(CommandFailure) -> ExitCode {
    if case .lost(let reason) = try desktop.read(stopsAt: signals.rawValue) {
      throw CommandFailure(
        localized(
          "the desktop does not answer ({reason}); run this command in a terminal of the desktop",
          ["reason": reason]))
    }
    if !desktop.knowsPasswords {
      Self.tell(
        localized("xsel cannot see which copies are passwords, so they are synced; install xclip"))
    }
    try readDesktop()
    let question = ClipboardQuestion.list.json
    _ = try itemToWrite(in: session.send(.show(app: ClipboardApp().name, question)))
    try startWatcher()
    Self.tell(localized("the clipboard of this desktop is synced; Ctrl-C ends it"))
    while true {
      guard let home = try connect() else { continue }
      events: while true {
        switch home.next(milliseconds: waitMilliseconds, others: descriptors) {
        case .line(let line): try handleLine(line)
        case .other(signals.rawValue): return .success
        case .other: try handleWatcher()
        case .timeout: if TerminalOutput.standard.hasNoReader { return .success }
        case .closed: break events
        }
        try handleTime()
      }
      usleep(Self.reconnectMicroseconds)
    }
  }

  /// Returns a connection on which the items come, after each change; nil if it has to be tried
  /// again.
  private func connect() throws(CommandFailure) -> HomeConnection? {
    let list = HomeRequest.watch(
      app: ClipboardApp().name, ClipboardQuestion.list.json, isTicking: false)
    if let home = HomeConnection(socket: session.folder.socket), home.send(list) { return home }
    // Nobody holds the home now: this process does.
    try session.reopen()
    return nil
  }

  private var descriptors: [Int32] {
    [signals.rawValue] + [watcher?.process.output].compactMap(\.self)
  }

  /// At most a second: the output's reader and the programs are looked after in between.
  private var waitMilliseconds: Int32 {
    let left = readsAt.map { $0.milliseconds(since: SystemClock.instant()) } ?? 1_000
    return Int32(clamping: min(max(0, left), 1_000))
  }

  private mutating func handleTime() throws(CommandFailure) {
    reapWriters()
    if let readsAt, readsAt <= SystemClock.instant() { try readDesktop() }
  }

  // MARK: Account to desktop

  private mutating func handleLine(_ line: JSONValue) throws(CommandFailure) {
    if let reason = line["error"]?.string { throw CommandFailure(reason) }
    guard line["view"] != nil, let name = try itemToWrite(in: line) else { return }
    do throws(CommandFailure) {
      let question = ClipboardQuestion.item(name).json
      let item = HomeView(try session.send(.show(app: ClipboardApp().name, question))).json
      guard let text = item["content"]?.string, loss == nil, mirror.handleText(text) else { return }
      try write(text, of: name)
    } catch {
      // It was removed meanwhile, or the process that holds the home has ended.
      guard let message = error.message else { throw error }
      Self.tell(
        localized("an item was not copied to the desktop: {reason}", ["reason": message]))
    }
  }

  /// Returns the name of the item of a list whose text is to be written; nil if there is none.
  private mutating func itemToWrite(in answer: JSONValue) throws(CommandFailure) -> String? {
    guard let entries = HomeView(answer).json["items"]?.array else { return nil }
    try refreshSwitch()
    return mirror.handleItems(
      entries.map {
        ClipboardMirror.Item(
          name: $0["name"]?.string ?? "", device: $0["device"]?.string ?? "",
          copiedAt: $0["copiedAt"]?.int64 ?? 0, isText: $0["image"] == nil)
      })
  }

  /// Asks the home whether the clipboard is switched off: a line about it may be on its way still.
  private mutating func refreshSwitch() throws(CommandFailure) {
    let status = HomeStatus(json: try session.send(.status))
    mirror.isOff = status.waitingChanges(inDisabled: ClipboardApp.zone) != nil
  }

  private mutating func write(_ text: String, of name: String) throws(CommandFailure) {
    do throws(CommandFailure) {
      writers.append(try desktop.write(text))
    } catch {
      mirror.handleFailedWrite()
      throw error
    }
    if writers.count > Self.writersMax { writers.removeFirst().stop() }
    try report(text, of: name, to: "desktop")
  }

  private mutating func reapWriters() {
    let newest = writers.count - 1
    var ended: [Int] = []
    for (index, writer) in writers.enumerated() {
      guard let code = writer.exitCode() else { continue }
      writer.release()
      ended.append(index)
      // Another program has something to copy, or the session has ended.
      if index == newest, code != 0 {
        mirror.handleFailedWrite()
        readsAt = SystemClock.instant()
      }
    }
    for index in ended.reversed() { writers.remove(at: index) }
  }

  // MARK: Desktop to account

  private mutating func readDesktop() throws(CommandFailure) {
    readsAt =
      desktop.isWatched
      ? nil : SystemClock.instant().advanced(milliseconds: Self.pollMilliseconds)
    switch try desktop.read(stopsAt: signals.rawValue) {
    case .lost(let reason): handleLoss(reason)
    case .contents(let contents):
      if loss != nil {
        loss = nil
        Self.tell(localized("the desktop answers again"))
        if watcher == nil { try startWatcher() }
      }
      try handle(contents)
    }
  }

  private mutating func handle(_ contents: ClipboardMirror.Contents) throws(CommandFailure) {
    let now = SystemClock.instant().nanoseconds / 1_000_000
    if mirror.isNew(contents) { try refreshSwitch() }
    switch mirror.handleDesktop(contents, at: now) {
    case .nothing: break
    case .ignore(let reason): Self.tell(reason.text)
    case .send(let text):
      if try desktop.isPassword(stopsAt: signals.rawValue) {
        mirror.handleFailedSend()
        Self.tell(ClipboardMirror.Reason.secret.text)
      } else {
        try send(text)
      }
    }
  }

  /// Adds the text as an item. A second attempt makes the same item, not another one.
  private mutating func send(_ text: String) throws(CommandFailure) {
    let name = AgentApp.newName
    let order = ClipboardAction.add(content: text, name: name).json
    var reason = ""
    for _ in 0..<Self.orderAttempts {
      do throws(CommandFailure) {
        _ = try session.send(.order(app: ClipboardApp().name, order))
        return try report(text, of: name.text, to: "account")
      } catch {
        guard let message = error.message else { throw error }
        reason = message
      }
    }
    mirror.handleFailedSend()
    Self.tell(localized("a copy was not synced: {reason}", ["reason": reason]))
  }

  /// The session has ended, or the desktop starts anew. It is tried again for as long as this runs.
  private mutating func handleLoss(_ reason: String) {
    if loss == nil {
      Self.tell(
        localized("the desktop does not answer ({reason}); waiting for it", ["reason": reason]))
    }
    let milliseconds = min((loss?.milliseconds ?? 500) * 2, Self.retryMillisecondsMax)
    loss = (reason, milliseconds)
    readsAt = SystemClock.instant().advanced(milliseconds: milliseconds)
    mirror.handleLostDesktop()
    watcher?.process.stop()
    watcher = nil
  }

  // MARK: Programs

  private mutating func startWatcher() throws(CommandFailure) {
    guard desktop.isWatched, loss == nil else { return }
    watcher = Watcher(process: try desktop.startWatch(), startedAt: SystemClock.instant())
  }

  /// Handles output of the program that reports changes, or its end.
  private mutating func handleWatcher() throws(CommandFailure) {
    guard let current = watcher else { return }
    let bytes = current.process.read(atMost: 4_096)
    if !bytes.isEmpty {
      let words = String(decoding: bytes, as: UTF8.self)
      // The rest is a complaint; the program's end follows.
      guard desktop.tool == .wlClipboard, words.contains("changed") else { return }
      failedWatches = 0
      guard words.contains("sensitive") else { return try readDesktop() }
      return try handle(.secret)
    }
    watcher = nil
    let age = SystemClock.instant().milliseconds(since: current.startedAt)
    let hasChanged = current.process.awaitExitCode() == 0 && desktop.tool != .wlClipboard
    current.process.stop()
    // One that ends at once, again and again, reports nothing.
    let isSound = age >= (hasChanged ? Self.soundMilliseconds : 1_000)
    failedWatches = isSound ? 0 : failedWatches + 1
    if failedWatches >= Self.failedWatchesMax { try giveUpWatching() }
    // The new one first, so that no change is missed.
    try startWatcher()
    try readDesktop()
  }

  /// Wayland desktops without a protocol for it let no program watch their clipboard; GNOME is one.
  private mutating func giveUpWatching() throws(CommandFailure) {
    failedWatches = 0
    guard desktop.tool == .wlClipboard else {
      desktop.isWatched = false
      return
    }
    let hasX11 = getenv("DISPLAY").map { $0.pointee != 0 } ?? false
    guard hasX11, let other = DesktopClipboard.ofX11(DesktopClipboard.isInstalled) else {
      throw CommandFailure(
        localized(
          "this Wayland desktop lets no program watch its clipboard (wl-paste --watch fails); "
            + "install the package xclip, then try again"))
    }
    Self.tell(
      localized(
        "this Wayland desktop lets no program watch its clipboard; using {program}",
        ["program": other.tool.rawValue]))
    desktop = other
  }

  private mutating func stopPrograms() {
    watcher?.process.stop()
    for writer in writers { writer.stop() }
    (watcher, writers) = (nil, [])
  }

  // MARK: Output

  private func report(
    _ text: String, of name: String, to side: String
  ) throws(CommandFailure) {
    let count = text.unicodeScalars.count
    let wall = SystemClock.moment().wall
    if isJSON {
      let json: JSONValue = [
        "at": .number(JSONNumber(wall)), "to": .string(side), "name": .string(name),
        "characters": .number(JSONNumber(Int64(count))),
      ]
      _ = try TerminalOutput.printed(json.text)
      return
    }
    let sentence =
      side == "account"
      ? localized(
        count: count, one: "{count} character from this desktop are the newest item",
        many: "{count} characters from this desktop are the newest item")
      : localized(
        count: count, one: "{count} character from another device are on this desktop",
        many: "{count} characters from another device are on this desktop")
    _ = try TerminalOutput.printed("\(CalendarTime.clockWithSeconds(wall))  \(sentence)")
  }

  private static func tell(_ sentence: String) {
    TerminalOutput.writeToStandardError(
      "lockstep: \(TerminalOutput.escaped(Log.oneLine(sentence)))\n")
  }
}

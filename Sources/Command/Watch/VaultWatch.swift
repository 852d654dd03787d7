import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Live view of the vault: one row per file, with a bar during a transfer.
struct VaultView: WatchView {
  private var files: [VaultFileStatus]?
  private var page = WatchPage(VaultApp.zone.text)
  /// Bytes per second, by file, and the values from which they were calculated.
  private var rates: [String: Rate] = [:]

  private struct Rate {
    var bytes: Int64
    var at: Int64
    var perSecond: Int64 = 0
  }

  /// Milliseconds over which a rate is calculated: about the last second.
  private static let rateMilliseconds: Int64 = 1_000

  mutating func handleLine(_ line: JSONValue, at wall: Int64) {
    if let status = line["status"] { page.handle(HomeStatus(json: status)) }
    guard let mirror = line["mirror"] else { return }
    let files = VaultFileStatus.all(mirror)
    self.files = files
    for file in files {
      guard file.state == .uploading || file.state == .downloading, file.bytesInAll > 0 else {
        rates[file.name] = nil
        continue
      }
      guard let last = rates[file.name], file.bytesDone >= last.bytes, wall >= last.at else {
        rates[file.name] = Rate(bytes: file.bytesDone, at: wall)
        continue
      }
      let passed = wall - last.at
      guard passed >= Self.rateMilliseconds else { continue }
      rates[file.name] = Rate(
        bytes: file.bytesDone, at: wall, perSecond: (file.bytesDone - last.bytes) * 1_000 / passed)
    }
  }

  mutating func handleKey(_ key: UInt8) -> WatchKeyAction {
    page.handleKey(key)
    return .nothing
  }

  mutating func layOut(columns: Int, height: Int, at wall: Int64) {
    page.setExtent(of: body(columns: columns).count, columns: columns, height: height, at: wall)
  }

  func rows(columns: Int, height: Int, at wall: Int64) -> [ScreenRow] {
    page.rows(body(columns: columns), columns: columns, height: height, at: wall)
  }

  private func body(columns: Int) -> [ScreenRow] {
    guard let files else { return [ScreenRow(" …")] }
    if files.isEmpty {
      let advice = localized("no file is synced here; add one: lockstep vault add FILE")
      return [ScreenRow(" " + advice)]
    }
    let width = min(40, files.map { RowText.width(of: RowText.line($0.name)) }.max() ?? 0)
    return files.flatMap { rows(of: $0, name: width, columns: columns) }
  }

  private func rows(of file: VaultFileStatus, name width: Int, columns: Int) -> [ScreenRow] {
    let name = ScreenRow(" " + RowText.line(file.name)).cut(to: width + 1).padded(to: width + 1)
    let state = ScreenRow(file.state.text, style(of: file.state)).padded(to: 11)
    var row = name + "  " + state + "  "
    let progress = file.progress
    if progress.isEmpty {
      row = row + (file.size.map(ByteCount.text) ?? "")
    } else {
      row = row + file.bar(min(20, max(4, columns / 6))) + " " + progress
      if let rate = rates[file.name], rate.perSecond > 0 {
        row = row + "  \(ByteCount.text(rate.perSecond))/s"
      }
    }
    return [row] + (file.reason.map { [ScreenRow("   " + RowText.line($0), .faint)] } ?? [])
  }
}

/// Returns a colour for the states that need a person and for the good ones.
private func style(of state: VaultTrack.State) -> TextStyle {
  switch state {
  case .error: .red
  case .synced: .green
  case .unknown, .syncing, .uploading, .downloading: .plain
  }
}

/// `lockstep vault watch`: shows the files live.
enum VaultWatch {
  @Sendable static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    guard TerminalOutput.standard.supportsFullScreen, isatty(STDIN_FILENO) == 1,
      !arguments[AgentCommand.json]
    else {
      return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        try printLines(session)
      }
    }
    // Before any thread starts: threads inherit the blocked signals.
    let signals = try Interruption.signals([SIGTERM, SIGINT, SIGHUP, SIGQUIT])
    let resizes = try Interruption.signals([SIGWINCH])
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      var watch = LiveWatch(
        session: session, app: VaultApp().name, request: .watchMirror, view: VaultView(),
        query: try DeviceProbe.query(HomeAccess(of: session)), ringsBell: false,
        notifies: false)
      return try watch.run(until: signals, resizes: resizes)
    }
  }

  private static func printLines(_ session: HomeSession) throws(CommandFailure) -> ExitCode {
    while true {
      guard session.connection.send(.watchMirror) else {
        try session.reopen()
        continue
      }
      lines: while true {
        // A process that only waits does not notice that its reader is gone, so the wait is
        // limited.
        switch session.connection.next(milliseconds: 1_000) {
        case .line(let line):
          if let mirror = line["mirror"] {
            _ = try TerminalOutput.printed(VaultFileStatus.withoutTranslations(mirror).text)
          }
        case .timeout: if TerminalOutput.standard.hasNoReader { return .success }
        case .closed: break lines
        case .other: break
        }
      }
      try session.reopen()
    }
  }
}

/// Live view of an app whose rows are a list.
struct ListView: WatchView {
  private var lines = ["…"]
  private var page: WatchPage
  private var hasNewConnection = true

  init(title: String) { page = WatchPage(title) }

  mutating func handleLine(_ line: JSONValue, at wall: Int64) {
    if line["view"] != nil { lines = HomeView(line).lines }
    if let reason = line["error"]?.string { lines = [RowText.line(reason)] }
    guard let status = line["status"].map(HomeStatus.init(json:)) else { return }
    if status.transport != nil, page.transport == nil { hasNewConnection = true }
    page.handle(status)
  }

  mutating func handleKey(_ key: UInt8) -> WatchKeyAction {
    page.handleKey(key)
    return .nothing
  }

  /// Requests the devices after each new connection, because rows contain their names.
  mutating func consumeDeviceRequest(at wall: Int64) -> Bool {
    defer { hasNewConnection = false }
    return hasNewConnection
  }

  mutating func layOut(columns: Int, height: Int, at wall: Int64) {
    page.setExtent(of: lines.count, columns: columns, height: height, at: wall)
  }

  func rows(columns: Int, height: Int, at wall: Int64) -> [ScreenRow] {
    page.rows(lines.map { ScreenRow($0) }, columns: columns, height: height, at: wall)
  }
}

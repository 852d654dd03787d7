import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// `lockstep top`: shows a relay's current activity to its owner.
package enum TopCommand {
  package static let admin = CommandOption.defaulted(
    "admin", ValueKind.admin, default: "http://127.0.0.1:\(usualPort)",
    "URL of the relay's admin listener.")
  static let isOnce = CommandOption.flag(
    "once", "Observe for a while, print the figures, and end.")
  package static let json = CommandOption.flag("json", "As --once, but print one JSON object.")
  package static let every = CommandOption.optional(
    "every", ValueKind.decimal(0.5...60, "SECONDS"),
    "Seconds between requests, 1 if not given; with --once or --json, seconds of observation, 10 "
      + "if not given.")

  /// Port in the examples of docs/relay/monitoring.md.
  package static let usualPort: UInt16 = 9_625

  /// Seconds to observe with --once. The loops of a relay exchange their figures every 5 s, so
  /// rates from a shorter time may be much too large or too small.
  private static let onceSeconds = 10.0
  /// Timeout of a request in milliseconds; a slower relay counts as not responding.
  private static let timeoutMilliseconds: Int64 = 3_000

  package static let command = Command(
    name: "top",
    summary: "Shows a relay's current activity: its status page in the terminal.",
    discussion: """
      Shows connections, saves and deliveries, the time of changes from commit to socket, the \
      store, queues, slow devices, rejected requests, and the process. The figures come from the \
      admin listener of a relay that was started with --admin-listen. They name no account and \
      no device.

      On a terminal it uses the whole screen until q or Ctrl-C. If the relay does not answer, it \
      shows this and since when, shows the figures of the last answer, and retries. If the output \
      is a pipe, it works as with --once.
      """,
    options: [admin.entry, isOnce.entry, json.entry, every.entry]
  ) { arguments throws(CommandFailure) in
    let relay = arguments[admin]
    let isLive =
      !arguments[isOnce] && !arguments[json] && TerminalOutput.standard.supportsFullScreen
      && isatty(STDIN_FILENO) == 1
    if isLive {
      // Before any thread starts: threads inherit the blocked signals.
      let signals = try Interruption.signals([SIGTERM, SIGINT, SIGHUP, SIGQUIT])
      let resizes = try Interruption.signals([SIGWINCH])
      let query = try BackgroundQuery("top") { answer(of: relay) }
      var screen = TopScreen(
        relay: relay, everyMilliseconds: Int64((arguments[every] ?? 1) * 1_000), query: query)
      return try screen.run(until: signals, resizes: resizes)
    }
    let board = try sampleTwice(relay, seconds: arguments[every] ?? onceSeconds)
    if arguments[json], let report = TopReport(board) {
      return try TerminalOutput.printed(report.json.text)
    }
    let page = TopPage(board, columns: 80, clock: CalendarTime.clockWithSeconds)
    return try TerminalOutput.printed(page.text)
  }

  /// Fetches a relay's figures twice, because a single sample gives no rate.
  private static func sampleTwice(
    _ relay: RelayAddress, seconds: Double
  ) throws(CommandFailure) -> TopBoard {
    let milliseconds = Int64(seconds * 1_000)
    var board = TopBoard(source: relay.url, everyMilliseconds: milliseconds)
    board.recordAnswer(answer(of: relay), at: SystemClock.moment())
    if board.availability.isSilent { throw failure(board.availability, relay) }
    let progress = Progress()
    progress.show("observing for \(TopWords.span(seconds: max(1, milliseconds / 1_000))) …")
    _ = poll(nil, 0, Int32(milliseconds))
    progress.clear()
    board.recordAnswer(answer(of: relay), at: SystemClock.moment())
    if board.availability.isSilent { throw failure(board.availability, relay) }
    return board
  }

  /// Sends one request and waits for the answer.
  package static func answer(of relay: RelayAddress) -> TopAnswer {
    var request = HTTPCallRequest("GET", path: ["metrics"])
    request.deadlineMilliseconds = timeoutMilliseconds
    do throws(CommandFailure) {
      let call = HTTPCall(request, to: relay, at: SystemClock.moment())
      return answer(from: try RelayCall.outcome(of: call))
    } catch {
      return .failed(error.message ?? "the request could not be sent")
    }
  }

  package static func answer(from report: HTTPCallReport) -> TopAnswer {
    switch report {
    case .answered(200, let body, let wall): .metrics(body, wall: wall)
    case .answered(let status, _, _):
      .failed("the server at this address has no metrics (\(status))")
    case .unreachable(let reason), .untrusted(let reason), .unanswered(let reason): .failed(reason)
    }
  }

  /// Returns an error that explains --admin-listen, because the relay has never answered.
  package static func failure(_ availability: RelayAvailability, _ relay: RelayAddress)
    -> CommandFailure
  {
    CommandFailure(
      "\(relay.url) serves no metrics of a relay: \(availability.reason ?? "it does not answer"). "
        + "A relay serves them at its --admin-listen address: start it with lockstep relay "
        + "--admin-listen \(relay.authority), or name another address with --admin")
  }
}

extension ValueKind where Value == RelayAddress {
  /// Address of a relay's admin listener; the form of `--admin-listen` is accepted too.
  package static var admin: ValueKind {
    ValueKind("URL") { text throws(ValueFault) in
      let url = text.contains("://") ? text : "http://" + text
      guard let address = RelayAddress(url: url, usualPort: TopCommand.usualPort) else {
        throw ValueFault(
          "\"\(text)\" is no address of an admin listener, such as http://127.0.0.1:9625")
      }
      return address
    }
  }
}

/// A relay's figures on the full screen of a terminal. Polls the relay, and waits for answers,
/// keys, and changes of the terminal's size.
struct TopScreen {
  private let relay: RelayAddress
  private let everyMilliseconds: Int64
  private let query: BackgroundQuery<TopAnswer>
  private var board: TopBoard
  private var nextRequestAt: Instant
  private var isRequesting = false

  init(relay: RelayAddress, everyMilliseconds: Int64, query: BackgroundQuery<TopAnswer>) {
    self.relay = relay
    self.everyMilliseconds = everyMilliseconds
    self.query = query
    board = TopBoard(source: relay.url, everyMilliseconds: everyMilliseconds)
    nextRequestAt = SystemClock.instant()
  }

  mutating func run(until signals: Signals, resizes: Signals) throws(CommandFailure) -> ExitCode {
    let keys = try RawKeys()
    defer { keys.restore() }
    var screen = try FullScreen(.standard)
    defer { screen.restore() }
    defer { query.stop() }
    while true {
      try show(on: &screen)
      try requestIfDue()
      let wanted = [signals.rawValue, resizes.rawValue, STDIN_FILENO, query.descriptor]
      switch nextReadable(of: wanted) {
      case signals.rawValue: return .success
      case resizes.rawValue: try clearSignal(resizes)
      case STDIN_FILENO:
        guard let key = keys.read(), !RawKeys.quits.contains(key) else { return .success }
      case query.descriptor: try handleAnswer()
      default: break
      }
    }
  }

  private func show(on screen: inout FullScreen) throws(CommandFailure) {
    let page = TopPage(board, columns: screen.columns, clock: CalendarTime.clockWithSeconds)
    do throws(CommandFailure) {
      try screen.draw(page.rows(height: screen.height))
    } catch {
      // The terminal is gone, so no error can be shown on it.
      throw error.exitCode == .failure ? .outputClosed : error
    }
  }

  private mutating func requestIfDue() throws(CommandFailure) {
    let now = SystemClock.instant()
    guard !isRequesting, nextRequestAt <= now else { return }
    isRequesting = true
    // Counted from now, so that a slow answer does not cause several requests.
    nextRequestAt = now.advanced(milliseconds: everyMilliseconds)
    try query.start()
  }

  private mutating func handleAnswer() throws(CommandFailure) {
    guard let answer = query.nextAnswer() else { return }
    isRequesting = false
    board.recordAnswer(answer, at: SystemClock.moment())
    // A relay that never answered may not exist, and there is nothing to show of it.
    if board.shown == nil { throw TopCommand.failure(board.availability, relay) }
  }

  /// Returns the first descriptor that is readable; nil once a request is due.
  private func nextReadable(of descriptors: [Int32]) -> Int32? {
    var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let left = nextRequestAt.milliseconds(since: SystemClock.instant())
    // While an answer is outstanding, no further request is due.
    let milliseconds = isRequesting ? -1 : max(0, min(60_000, left + 1))
    guard poll(&polled, nfds_t(polled.count), Int32(milliseconds)) > 0 else { return nil }
    return polled.first { $0.revents != 0 }?.fd
  }

  /// Clears the signal. The screen reads its size whenever it draws.
  private func clearSignal(_ resizes: Signals) throws(CommandFailure) {
    _ = try CommandFailure.wrap { () throws(SystemFault) in try resizes.receive() }
  }
}

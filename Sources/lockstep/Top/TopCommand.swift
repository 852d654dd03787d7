import Glibc
import LockstepClient
import LockstepEventLoop
import LockstepTools
import LockstepWire

/// `lockstep top`: shows a relay's current activity to its owner.
enum TopCommand {
  static let admin = CommandOption.defaulted(
    "admin", ValueKind.admin, default: "http://127.0.0.1:\(usualPort)",
    "Where the relay's admin listener is.")
  static let isOnce = CommandOption.flag(
    "once", "Look for a while, print what was seen, and end.")
  static let json = CommandOption.flag("json", "As --once, but print one JSON object.")
  static let every = CommandOption.optional(
    "every", ValueKind.decimal(0.5...60, "SECONDS"),
    "How often the relay is asked, each second if not given; with --once or --json, how long is "
      + "looked, 10 s if not given.")

  /// Port in the examples of docs/operations.md.
  static let usualPort: UInt16 = 9_625

  /// Seconds to observe with --once. The loops of a relay exchange their figures every 5 s, so
  /// rates from a shorter time may be much too large or too small.
  private static let onceSeconds = 10.0
  /// Timeout of a request in milliseconds; a slower relay counts as not responding.
  private static let patienceMilliseconds: Int64 = 3_000

  static let command = Command(
    name: "top",
    summary: "Shows what a relay does just now: its status page in the terminal.",
    discussion: """
      Connections, saves and deliveries, how long changes take from commit to socket, the store, \
      queues, slow devices, what was rejected, and the process: read from the admin listener of a \
      relay that was started with --admin-listen. No account and no device is named.

      On a terminal it takes the whole screen until q or Ctrl-C. While the relay does not answer, \
      it says so and since when, and goes on asking; what it shows then is of when it last \
      answered. In a pipe it does as with --once.
      """,
    options: [admin.entry, isOnce.entry, json.entry, every.entry]
  ) { arguments throws(CommandFailure) in
    let relay = arguments[admin]
    let isLive =
      !arguments[isOnce] && !arguments[json] && TerminalOutput.standard.takesScreens
      && isatty(STDIN_FILENO) == 1
    if isLive {
      // Before any thread starts: threads inherit the blocked signals.
      let signals = try AgentCommand.signals([SIGTERM, SIGINT, SIGHUP, SIGQUIT])
      let resizes = try AgentCommand.signals([SIGWINCH])
      let look = try Look("top") { answer(of: relay) }
      var screen = TopScreen(
        relay: relay, everyMilliseconds: Int64((arguments[every] ?? 1) * 1_000), look: look)
      return try screen.run(until: signals, resizes: resizes)
    }
    let board = try looked(at: relay, seconds: arguments[every] ?? onceSeconds)
    if arguments[json], let report = TopReport(board) {
      return try TerminalOutput.printed(report.json.text)
    }
    let page = TopPage(board, columns: 80, clock: CalendarTime.clockWithSeconds)
    return try TerminalOutput.printed(page.text)
  }

  /// Fetches a relay's figures twice, because a single sample gives no rate.
  private static func looked(
    at relay: RelayAddress, seconds: Double
  ) throws(CommandFailure) -> TopBoard {
    let milliseconds = Int64(seconds * 1_000)
    var board = TopBoard(source: relay.url, everyMilliseconds: milliseconds)
    board.take(answer(of: relay), at: SystemClock.moment())
    if board.standing.isSilent { throw failure(board.standing, relay) }
    let progress = Progress()
    progress.show("looking for \(TopWords.span(seconds: max(1, milliseconds / 1_000))) …")
    _ = poll(nil, 0, Int32(milliseconds))
    progress.clear()
    board.take(answer(of: relay), at: SystemClock.moment())
    if board.standing.isSilent { throw failure(board.standing, relay) }
    return board
  }

  /// Sends one request and waits for the answer.
  static func answer(of relay: RelayAddress) -> TopAnswer {
    var request = HTTPCallRequest("GET", path: ["metrics"])
    request.deadlineMilliseconds = patienceMilliseconds
    do throws(CommandFailure) {
      let call = HTTPCall(request, to: relay, at: SystemClock.moment())
      return told(by: try RelayCall.outcome(of: call))
    } catch {
      return .failed(error.message ?? "it could not be asked")
    }
  }

  static func told(by report: HTTPCallReport) -> TopAnswer {
    switch report {
    case .answered(200, let body, let wall): .metrics(body, wall: wall)
    case .answered(let status, _, _): .failed("what answers there has no metrics (\(status))")
    case .unreachable(let reason), .untrusted(let reason), .unanswered(let reason): .failed(reason)
    }
  }

  /// Returns an error that explains --admin-listen, because the relay has never answered.
  static func failure(_ standing: RelayAvailability, _ relay: RelayAddress) -> CommandFailure {
    CommandFailure(
      "\(relay.url) tells no figures of a relay: \(standing.reason ?? "it does not answer"). A "
        + "relay serves them where its --admin-listen says: start it with lockstep relay "
        + "--admin-listen \(relay.authority), or name another address with --admin")
  }
}

extension ValueKind where Value == RelayAddress {
  /// Address of a relay's admin listener; the form of `--admin-listen` is accepted too.
  static var admin: ValueKind {
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

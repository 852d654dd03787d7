import Glibc
import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepTools

/// A relay's figures on the full screen of a terminal. Polls the relay, and waits for answers,
/// keys, and changes of the terminal's size.
struct TopScreen {
  private let relay: RelayAddress
  private let everyMilliseconds: Int64
  private let look: Look<TopAnswer>
  private var board: TopBoard
  private var asksNextAt: Instant
  private var isAsking = false

  init(relay: RelayAddress, everyMilliseconds: Int64, look: Look<TopAnswer>) {
    self.relay = relay
    self.everyMilliseconds = everyMilliseconds
    self.look = look
    board = TopBoard(source: relay.url, everyMilliseconds: everyMilliseconds)
    asksNextAt = SystemClock.instant()
  }

  mutating func run(until signals: Signals, resizes: Signals) throws(CommandFailure) -> ExitCode {
    let keys = try RawKeys()
    defer { keys.restore() }
    var screen = try FullScreen(.standard)
    defer { screen.leave() }
    defer { look.end() }
    while true {
      try show(on: &screen)
      try askIfDue()
      let wanted = [signals.rawValue, resizes.rawValue, STDIN_FILENO, look.descriptor]
      switch nextReadable(of: wanted) {
      case signals.rawValue: return .success
      case resizes.rawValue: try take(resizes)
      case STDIN_FILENO:
        guard let key = keys.read(), !RawKeys.quits.contains(key) else { return .success }
      case look.descriptor: try takeAnswer()
      default: break
      }
    }
  }

  private func show(on screen: inout FullScreen) throws(CommandFailure) {
    let page = TopPage(board, columns: screen.columns, clock: CalendarTime.clockWithSeconds)
    do throws(CommandFailure) {
      try screen.show(page.rows(height: screen.height))
    } catch {
      // The terminal is gone, so no error can be shown on it.
      throw error.exitCode == .failure ? .nobodyReads : error
    }
  }

  private mutating func askIfDue() throws(CommandFailure) {
    let now = SystemClock.instant()
    guard !isAsking, asksNextAt <= now else { return }
    isAsking = true
    // Counted from now, so that a slow answer does not cause several requests.
    asksNextAt = now.advanced(milliseconds: everyMilliseconds)
    try look.ask()
  }

  private mutating func takeAnswer() throws(CommandFailure) {
    guard let answer = look.take() else { return }
    isAsking = false
    board.take(answer, at: SystemClock.moment())
    // A relay that never answered may not exist, and there is nothing to show of it.
    if board.shown == nil { throw TopCommand.failure(board.standing, relay) }
  }

  /// Returns the first descriptor that is readable; nil once it is time to ask.
  private func nextReadable(of descriptors: [Int32]) -> Int32? {
    var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let left = asksNextAt.milliseconds(since: SystemClock.instant())
    // While an answer is outstanding, no further request is due.
    let milliseconds = isAsking ? -1 : max(0, min(60_000, left + 1))
    guard poll(&polled, nfds_t(polled.count), Int32(milliseconds)) > 0 else { return nil }
    return polled.first { $0.revents != 0 }?.fd
  }

  /// Clears the signal. The screen reads its size whenever it draws.
  private func take(_ resizes: Signals) throws(CommandFailure) {
    do throws(SystemFault) { _ = try resizes.take() } catch { throw CommandFailure("\(error)") }
  }
}

import Glibc
import LockstepEventLoop
import LockstepModel

/// Waits of a bench: until a condition holds, a signal arrives, or a timeout expires.
struct BenchWait {
  private let signals: Signals

  /// Timeout in seconds; longer than anything that a bench waits for.
  private static let patienceSeconds: Int64 = 600
  private static let pauseMicroseconds: UInt32 = 2_000

  /// Must run on the main thread, before any other thread starts.
  init() throws(CommandFailure) {
    do throws(SystemFault) {
      signals = try Signals()
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// Calls `look` repeatedly until it returns a result. `what`: subject of the error text, such as
  /// "the upload".
  func wait<Result>(
    for what: String, _ look: () throws(CommandFailure) -> Result?
  ) throws(CommandFailure) -> Result {
    let end = SystemClock.instant().advanced(milliseconds: Self.patienceSeconds * 1_000)
    while true {
      if let result = try look() { return result }
      try checkSignals()
      guard SystemClock.instant() < end else {
        throw CommandFailure("\(what) did not end within \(Self.patienceSeconds) s")
      }
      usleep(Self.pauseMicroseconds)
    }
  }

  func pause(milliseconds: Int64) throws(CommandFailure) {
    let end = SystemClock.instant().advanced(milliseconds: milliseconds)
    try wait(for: "a pause") { SystemClock.instant() < end ? nil : () }
  }

  private func checkSignals() throws(CommandFailure) {
    do throws(SystemFault) {
      if try !signals.take().isEmpty { throw SystemFault(call: "the bench", code: EINTR) }
    } catch {
      throw CommandFailure(error.code == EINTR ? "the bench was interrupted" : "\(error)")
    }
  }
}

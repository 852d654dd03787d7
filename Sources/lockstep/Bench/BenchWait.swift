import Glibc
import LockstepEventLoop
import LockstepModel

/// How a bench waits for what it has set going: until it is there, a signal comes, or its patience
/// ends.
struct BenchWait {
  private let signals: Signals

  /// Nothing that a bench waits for takes as long as this.
  private static let patienceSeconds: Int64 = 600
  private static let pauseMicroseconds: UInt32 = 2_000

  /// On the main thread, before any other is started.
  init() throws(CommandFailure) {
    do throws(SystemFault) {
      signals = try Signals()
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// Asks `look` again and again until it gives something. `what`: for the complaint, such as
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

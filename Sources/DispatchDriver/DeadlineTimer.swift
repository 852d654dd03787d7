import Dispatch
import LockstepModel

/// The one timer of a driver, on its queue.
struct DeadlineTimer {
  /// Longest wait, in nanoseconds: Dispatch's clock stands still while the machine sleeps, and the
  /// node's does not.
  private static let longestWait: Int64 = 60_000_000_000

  private let source: any DispatchSourceTimer

  /// `expire` is called when a wait is over, also if the deadline is further away. It is kept until
  /// `cancel`.
  init(on queue: DispatchQueue, _ expire: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler(handler: expire)
    source.resume()
  }

  func set(_ deadline: Instant?, at now: Instant) {
    let wait = deadline.map { max(0, $0.nanoseconds - now.nanoseconds) } ?? Self.longestWait
    source.schedule(deadline: .now() + .nanoseconds(Int(min(wait, Self.longestWait))))
  }

  func cancel() { source.cancel() }
}

import CLinux
import Glibc
import LockstepEventLoop
import Synchronization

/// Runs a slow query on a separate thread, while the caller continues. A descriptor becomes
/// readable once there is an answer.
package final class BackgroundQuery<Answer: Sendable>: Sendable {
  private struct State: Sendable {
    var answer: Answer?
    var isRunning = false
    var thread: LoopThread?
  }

  private let name: String
  private let query: @Sendable () -> Answer
  private let state = Mutex(State())
  /// Readable once there is an answer.
  package let descriptor: Int32

  /// `name`: name of the thread, at most 15 bytes. `query` must return by itself.
  package init(_ name: String, _ query: @escaping @Sendable () -> Answer) throws(CommandFailure) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else {
      throw CommandFailure("eventfd: \(String(cString: strerror(errno)))")
    }
    self.name = name
    self.query = query
  }

  deinit { close(descriptor) }

  /// Starts the query. Does nothing if one is running.
  package func start() throws(CommandFailure) {
    let last = state.withLock { state -> (isFree: Bool, thread: LoopThread?) in
      guard !state.isRunning else { return (false, nil) }
      state.isRunning = true
      defer { state.thread = nil }
      return (true, state.thread)
    }
    guard last.isFree else { return }
    // That thread has stored its answer and is about to end.
    last.thread?.join()
    do throws(SystemFault) {
      let thread = try LoopThread(name) { [self] in runQuery() }
      state.withLock { $0.thread = thread }
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  private func runQuery() {
    let answer = query()
    state.withLock {
      $0.answer = answer
      $0.isRunning = false
    }
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Ends the use of this object. Does not wait for an outstanding answer.
  package func stop() {
    let (last, isRunning) = state.withLock { state in
      defer { state.thread = nil }
      return (state.thread, state.isRunning)
    }
    if isRunning { last?.detach() } else { last?.join() }
  }

  /// Returns the answer that arrived since the last call, if any.
  package func nextAnswer() -> Answer? {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
    return state.withLock { state in
      defer { state.answer = nil }
      return state.answer
    }
  }
}

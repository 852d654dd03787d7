import CLinux
import Glibc
import LockstepEventLoop
import Synchronization

/// Runs a slow query on a separate thread, while the caller continues. A descriptor becomes
/// readable once there is an answer.
final class Look<Found: Sendable>: Sendable {
  private struct State: Sendable {
    var found: Found?
    var isAsking = false
    var thread: LoopThread?
  }

  private let name: String
  private let find: @Sendable () -> Found
  private let state = Mutex(State())
  /// Readable once there is an answer to take.
  let descriptor: Int32

  /// `name`: name of the thread, at most 15 bytes. `find` must return by itself.
  init(_ name: String, _ find: @escaping @Sendable () -> Found) throws(CommandFailure) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else {
      throw CommandFailure("eventfd: \(String(cString: strerror(errno)))")
    }
    self.name = name
    self.find = find
  }

  deinit { close(descriptor) }

  /// Starts the query. Does nothing if one is running.
  func ask() throws(CommandFailure) {
    let last = state.withLock { state -> (isFree: Bool, thread: LoopThread?) in
      guard !state.isAsking else { return (false, nil) }
      state.isAsking = true
      defer { state.thread = nil }
      return (true, state.thread)
    }
    guard last.isFree else { return }
    // That thread has given its answer and has nothing more to do.
    last.thread?.join()
    do throws(SystemFault) {
      let thread = try LoopThread(name) { [self] in look() }
      state.withLock { $0.thread = thread }
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  private func look() {
    let found = find()
    state.withLock {
      $0.found = found
      $0.isAsking = false
    }
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Ends the use of this object. Does not wait for an outstanding answer.
  func end() {
    let (last, isAsking) = state.withLock { state in
      defer { state.thread = nil }
      return (state.thread, state.isAsking)
    }
    if isAsking { last?.detach() } else { last?.join() }
  }

  /// Returns the answer that arrived since the last call, if any.
  func take() -> Found? {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
    return state.withLock { state in
      defer { state.found = nil }
      return state.found
    }
  }
}

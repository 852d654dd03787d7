import CLinux
import Changes
import Glibc
import Link
import Loop
import Synchronization

/// Asks the relay for the account's devices on a thread of its own: whoever shows them goes on
/// meanwhile, and finds a descriptor readable once there is an answer.
final class DeviceLook: Sendable {
  enum Found: Sendable {
    case devices([Device])
    /// The relay could not be asked, for this reason.
    case unknown(String)
  }

  private struct State: Sendable {
    var found: Found?
    var isAsking = false
    var thread: LoopThread?
  }

  private let member: HomeMember
  private let state = Mutex(State())
  /// Can be read once there is something to take.
  let descriptor: Int32

  init(_ member: HomeMember) throws(CommandFailure) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else {
      throw CommandFailure("eventfd: \(String(cString: strerror(errno)))")
    }
    self.member = member
  }

  deinit { close(descriptor) }

  /// Nothing where the relay is being asked already.
  func ask() throws(CommandFailure) {
    let last = state.withLock { state -> (isFree: Bool, thread: LoopThread?) in
      guard !state.isAsking else { return (false, nil) }
      state.isAsking = true
      defer { state.thread = nil }
      return (true, state.thread)
    }
    guard last.isFree else { return }
    // It has given its answer, and has nothing more to do.
    last.thread?.join()
    do throws(SystemFault) {
      let thread = try LoopThread("devices") { [self] in look() }
      state.withLock { $0.thread = thread }
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  private func look() {
    var found: Found
    do throws(CommandFailure) {
      found = .devices(try member.call.devices(token: member.token).devices)
    } catch {
      found = .unknown(error.message ?? "the relay cannot be asked")
    }
    state.withLock {
      $0.found = found
      $0.isAsking = false
    }
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Nobody asks any more. An answer that is still on its way is waited for by nobody.
  func end() {
    let (last, isAsking) = state.withLock { state in
      defer { state.thread = nil }
      return (state.thread, state.isAsking)
    }
    if isAsking { last?.detach() } else { last?.join() }
  }

  /// What was found since the last time.
  func take() -> Found? {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
    return state.withLock { state in
      defer { state.found = nil }
      return state.found
    }
  }
}

import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import Synchronization

/// Measures a disk commit repeatedly during a bench: a write of a page and its fdatasync, on the
/// file system of the relay's store. This is the least that a durable save costs.
struct CommitProbe {
  private final class State: Sendable {
    let histogram = Mutex(LatencyHistogram())
    let isStopping = Atomic(false)
  }

  private let state = State()
  private let thread: LoopThread

  private static let pageBytes = 4_096
  /// Pause in microseconds, long enough that the probe is not a load of its own.
  private static let pauseMicroseconds: UInt32 = 20_000

  init(folder: String) throws(CommandFailure) {
    let path = folder + "/commit-probe"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure("cannot write in \(folder): \(String(cString: strerror(errno)))")
    }
    unlink(path)
    let state = state
    do throws(SystemFault) {
      thread = try LoopThread("commit probe") {
        Self.probe(descriptor, state)
        close(descriptor)
      }
    } catch {
      close(descriptor)
      throw CommandFailure("\(error)")
    }
  }

  /// Stops the probe and returns the measurements.
  func finish() -> LatencyHistogram {
    state.isStopping.store(true, ordering: .relaxed)
    thread.join()
    return state.histogram.withLock { $0 }
  }

  private static func probe(_ descriptor: Int32, _ state: State) {
    let page = [UInt8](repeating: 0x5A, count: pageBytes)
    while !state.isStopping.load(ordering: .relaxed) {
      let begun = SystemClock.instant()
      guard pwrite(descriptor, page, page.count, 0) == page.count, fdatasync(descriptor) == 0 else {
        return
      }
      let taken = SystemClock.instant().nanoseconds - begun.nanoseconds
      state.histogram.withLock { $0.record(nanoseconds: taken) }
      usleep(pauseMicroseconds)
    }
  }
}

import Glibc
public import LockstepModel
import Synchronization

/// The machine's clocks.
public enum SystemClock {
  /// The clock that only goes forward, and the wall clock.
  public static func moment() -> Moment {
    let ahead = wallAheadMilliseconds.load(ordering: .relaxed)
    return Moment(instant: instant(), wall: nanoseconds(CLOCK_REALTIME) / 1_000_000 + ahead)
  }

  /// From now on the wall clock of this process is ahead of the machine's by so much: a test's
  /// device with a wrong clock.
  public static func setWall(aheadMilliseconds: Int64) {
    wallAheadMilliseconds.store(aheadMilliseconds, ordering: .relaxed)
  }

  private static let wallAheadMilliseconds = Atomic<Int64>(0)

  /// Goes on while the machine sleeps: a laptop that wakes up must see that hours have passed.
  public static func instant() -> Instant {
    Instant(nanoseconds: nanoseconds(CLOCK_BOOTTIME))
  }

  /// Since the machine started, without its sleep: what a service manager reckons in.
  public static func monotonicNanoseconds() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

  /// What the calling thread has used of the processor, in nanoseconds.
  public static func threadProcessorNanoseconds() -> Int64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }

  /// What this process has used of the processor, all its threads together, in nanoseconds.
  public static func processorNanoseconds() -> Int64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

  /// What a process of the same user has used; nil when there is none of that number.
  public static func processorNanoseconds(ofProcess process: Int32) -> Int64? {
    // Linux has no greater numbers, and takes one that is for another clock.
    guard process > 0, process < 1 << 22 else { return nil }
    var clock = clockid_t()
    guard clock_getcpuclockid(process, &clock) == 0 else { return nil }
    var time = timespec()
    guard clock_gettime(clock, &time) == 0 else { return nil }
    return nanoseconds(time)
  }

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    let result = clock_gettime(clock, &time)
    precondition(result == 0)
    return nanoseconds(time)
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

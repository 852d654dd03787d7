import Glibc
import LockstepModel
import Synchronization

/// Clocks of the machine.
@usableFromInline
package enum SystemClock {
  /// Returns the monotonic time and the wall time.
  @usableFromInline
  package static func moment() -> Moment {
    let ahead = wallAheadMilliseconds.load(ordering: .relaxed)
    return Moment(instant: instant(), wall: nanoseconds(CLOCK_REALTIME) / 1_000_000 + ahead)
  }

  /// Sets the wall clock of this process ahead of the machine's: for a test's device with a wrong
  /// clock.
  @usableFromInline
  package static func setWall(aheadMilliseconds: Int64) {
    wallAheadMilliseconds.store(aheadMilliseconds, ordering: .relaxed)
  }

  private static let wallAheadMilliseconds = Atomic<Int64>(0)

  /// Returns the monotonic time including the machine's sleep: a laptop that wakes up must see that
  /// hours have passed.
  @usableFromInline
  package static func instant() -> Instant {
    Instant(nanoseconds: nanoseconds(CLOCK_BOOTTIME))
  }

  /// Returns the time since boot without the machine's sleep, as a service manager counts it.
  @usableFromInline
  package static func monotonicNanoseconds() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

  /// Returns the processor time of this process, all threads together, in nanoseconds.
  @usableFromInline
  package static func processorNanoseconds() -> Int64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

  /// Returns the processor time of a process of the same user, in nanoseconds; nil if it does not
  /// exist.
  @usableFromInline
  package static func processorNanoseconds(ofProcess process: Int32) -> Int64? {
    // Linux has no greater process ids, and would take such a number for another clock.
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

/// Unpredictable random bits from the kernel.
@usableFromInline
package enum Entropy {
  @usableFromInline
  package static var secrets: SecretSource {
    SecretSource { count in
      [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
        Syscall.getrandom(UnsafeMutableRawBufferPointer(buffer))
        initializedCount = count
      }
    }
  }

  /// Returns a generator with a secret seed: for jitter, batch ids and the like.
  @usableFromInline
  package static func seededRandom() -> SeededRandom { SeededRandom(seed: secrets.word()) }
}

#if canImport(Darwin)
  import Darwin
  import LockstepModel

  /// Clocks of a device.
  package enum DeviceClock {
    /// Returns the monotonic time, which goes on while the device sleeps, and the wall time.
    package static func moment() -> Moment {
      Moment(
        instant: Instant(nanoseconds: nanoseconds(CLOCK_MONOTONIC)),
        wall: nanoseconds(CLOCK_REALTIME) / 1_000_000)
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
      var time = timespec()
      let result = clock_gettime(clock, &time)
      precondition(result == 0, "the system has no such clock")
      return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
  }
#endif

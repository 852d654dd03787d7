#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Durable writes: what was flushed survives a power failure.
package enum FileSync {
  /// Flushes an open file or folder. Returns false if that failed; `errno` is the reason.
  package static func flush(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      // `fsync` leaves the data in the drive's cache. A file system that cannot flush the drive,
      // such as one on a network, has `fsync` alone.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }
}

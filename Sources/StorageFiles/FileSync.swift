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

  /// Flushes a file, or the names in a folder, by its path. Returns false if that failed; `errno`
  /// is the reason.
  package static func flush(path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    let isFlushed = flush(descriptor)
    let reason = errno
    close(descriptor)
    errno = reason
    return isFlushed
  }
}

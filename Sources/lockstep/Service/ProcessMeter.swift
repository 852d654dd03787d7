import Glibc
import LockstepEventLoop
import LockstepRelay

/// Resources that this process uses, as Linux reports them. Each figure is one call, however many
/// connections are open, because a loop waits for it.
enum ProcessMeter {
  static func read() -> ProcessMeasures {
    var measures = ProcessMeasures()
    measures.residentBytes = ProcessMemory.resident(getpid())
    measures.processorNanoseconds = SystemClock.processorNanoseconds()
    // Linux 6.2 and newer report their number as the folder's size; listing them would take long.
    if let count = fileBytes("/proc/self/fd"), count > 0 { measures.openDescriptors = count }
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      measures.mostDescriptors = Int64(clamping: limit.rlim_cur)
    }
    return measures
  }

  /// Returns the bytes of a file, or nil if it does not exist.
  static func fileBytes(_ path: String) -> Int64? {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : nil
  }

  /// Returns the bytes on a folder's disk that are free for non-root users, or nil if unknown.
  static func freeBytes(of folder: String) -> Int64? {
    var facts = statvfs()
    guard statvfs(folder, &facts) == 0 else { return nil }
    let (bytes, isTooMuch) = UInt64(facts.f_bavail).multipliedReportingOverflow(
      by: UInt64(facts.f_frsize))
    return isTooMuch ? .max : Int64(clamping: bytes)
  }
}

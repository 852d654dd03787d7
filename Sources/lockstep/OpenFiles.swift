import Glibc

/// Limit of open files of this process.
enum OpenFiles {
  /// Raises the soft limit to the hard limit: each connection is a descriptor, and the usual soft
  /// limit of 1,024 is meant for programs that use select. Returns the new limit.
  @discardableResult
  static func raiseLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_max)
  }
}

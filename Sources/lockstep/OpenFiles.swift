import Glibc

/// How many files the process may have open.
enum OpenFiles {
  /// A connection is a descriptor; the usual soft limit of 1,024 is for programs that use select.
  /// Returns how many there may be from here on.
  @discardableResult
  static func raiseLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_max)
  }
}

import Glibc
import Lockstep
import LockstepLanguage

/// An open file that a command reads or writes; closed when the last reference is released.
package final class PlainFile {
  private let path: String
  private let descriptor: Int32

  package init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Appends the bytes.
  package func write(_ bytes: [UInt8]) throws(CommandFailure) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw PlainFile.failure(path, "be written", errno)
      }
    }
  }

  /// Returns at most `count` bytes; none at the end of the file.
  package func read(_ count: Int) throws(CommandFailure) -> [UInt8] {
    while true {
      var reason: Int32 = 0
      var isRead = false
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        let result = Glibc.read(descriptor, buffer.baseAddress, count)
        reason = errno
        isRead = result >= 0
        filled = max(0, result)
      }
      if isRead { return bytes }
      if reason != EINTR { throw PlainFile.failure(path, "be read", reason) }
    }
  }

  /// Returns the whole content. Throws if it has more than `limit` bytes. `noun`: name of the
  /// content in the error.
  package func contents(atMost limit: Int, _ noun: String) throws(CommandFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let block = try read(64 << 10)
      if block.isEmpty { return bytes }
      bytes += block
      guard bytes.count <= limit else {
        throw CommandFailure(
          localized(
            "{name} has over {limit} bytes; nothing was changed",
            ["name": noun, "limit": "\(limit)"]))
      }
    }
  }

  /// Returns a descriptor of a new file at this path, to be written and then renamed. Removes the
  /// remains of an interruption, and does not follow a link. Returns -1 with `errno` on failure.
  package static func makeDraft(_ path: String) -> Int32 {
    guard unlink(path) == 0 || errno == ENOENT else { return -1 }
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
  }

  /// `what`: continues "PATH cannot", such as "be read".
  package static func failure(_ path: String, _ what: String, _ reason: Int32) -> CommandFailure {
    CommandFailure(HomeFault(path, what, reason).reason)
  }
}

/// Limit of open files of this process.
package enum OpenFiles {
  /// Raises the soft limit to the hard limit: each connection is a descriptor, and the usual soft
  /// limit of 1,024 is meant for programs that use select. Returns the new limit.
  @discardableResult
  package static func raiseLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_max)
  }
}

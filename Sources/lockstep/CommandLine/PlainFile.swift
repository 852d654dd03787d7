import Glibc

/// One open file that a command reads or writes; closed when nobody holds it any more.
final class PlainFile {
  private let path: String
  private let descriptor: Int32

  init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Adds to its end.
  func write(_ bytes: [UInt8]) throws(CommandFailure) {
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

  /// At most `count` bytes; none at the end.
  func read(_ count: Int) throws(CommandFailure) -> [UInt8] {
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

  /// All of it. Throws where it is more than `limit` bytes; `noun` says what it is.
  func contents(atMost limit: Int, _ noun: String) throws(CommandFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let block = try read(64 << 10)
      if block.isEmpty { return bytes }
      bytes += block
      guard bytes.count <= limit else {
        throw CommandFailure("\(noun) has over \(limit) bytes; nothing was changed")
      }
    }
  }

  /// A descriptor of a new file at this path, to be written and then renamed. What an interruption
  /// left there is removed, and a link is not followed. -1 with `errno` where there can be none.
  static func makeDraft(_ path: String) -> Int32 {
    guard unlink(path) == 0 || errno == ENOENT else { return -1 }
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
  }

  static func failure(_ path: String, _ what: String, _ reason: Int32) -> CommandFailure {
    CommandFailure("\(path) cannot \(what): \(String(cString: strerror(reason)))")
  }
}

import Glibc
import LockstepLanguage
import LockstepModel

/// Input from another program or from a person.
package enum StandardInput {
  /// Returns the whole input. Throws if it has more than `limit` bytes. `noun`: name of the input
  /// in the error.
  package static func read(atMost limit: Int, _ noun: String) throws(CommandFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = buffer.withUnsafeMutableBytes {
        Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count)
      }
      if count == 0 { return bytes }
      if count > 0 {
        bytes += buffer.prefix(count)
        guard bytes.count <= limit else {
          throw CommandFailure(
            localized(
              "{name} has over {limit} bytes; nothing was changed",
              ["name": noun, "limit": "\(limit)"]))
        }
      } else if errno == EAGAIN {
        var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = poll(&wanted, 1, -1)
      } else if errno != EINTR {
        throw CommandFailure(
          localized(
            "cannot read {name}: {reason}",
            ["name": noun, "reason": systemReason(String(cString: strerror(errno)))]))
      }
    }
  }

  /// Returns the bytes as text. Throws if they are not UTF-8. `noun`: name of the input in the
  /// error.
  package static func text(_ bytes: [UInt8], _ noun: String) throws(CommandFailure) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure(
        localized("{name} is not UTF-8 text; nothing was changed", ["name": noun]))
    }
    return text
  }
}

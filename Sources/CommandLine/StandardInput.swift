import Glibc
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
          throw CommandFailure("\(noun) has over \(limit) bytes; nothing was changed")
        }
      } else if errno == EAGAIN {
        var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = poll(&wanted, 1, -1)
      } else if errno != EINTR {
        throw CommandFailure("cannot read \(noun): \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Returns the bytes as text. Throws if they are not UTF-8. `noun`: name of the input in the
  /// error.
  package static func text(_ bytes: [UInt8], _ noun: String) throws(CommandFailure) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure("\(noun) is not UTF-8 text; nothing was changed")
    }
    return text
  }
}

/// Splits a stream of bytes into lines. Discards a line that is too long.
package struct LineReader {
  package enum Line: Hashable {
    case text([UInt8])
    case tooLong
  }

  private let bytesMax: Int
  private var buffer: [UInt8] = []
  /// Index at which the next line begins.
  private var head = 0
  /// Index up to which the buffer has been searched for a line feed.
  private var searched = 0
  private var isDiscarding = false

  package init(bytesMax: Int) { self.bytesMax = bytesMax }

  package mutating func receive(_ bytes: some Collection<UInt8>) {
    buffer.removeSubrange(..<head)
    searched -= head
    head = 0
    buffer += bytes
  }

  /// Returns the next complete line without its line feed, or nil if there is none yet.
  package mutating func next() -> Line? {
    guard let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = buffer.count
      if buffer.count - head > bytesMax { discardLine() }
      return nil
    }
    let line = Array(buffer[head..<end])
    head = end + 1
    searched = head
    return finished(line)
  }

  /// Returns the bytes after the last line feed, once the stream has ended.
  package mutating func rest() -> Line? {
    let line = Array(buffer[head...])
    guard isDiscarding || !line.isEmpty else { return nil }
    clear()
    return finished(line)
  }

  private mutating func finished(_ line: [UInt8]) -> Line {
    defer { isDiscarding = false }
    return isDiscarding || line.count > bytesMax ? .tooLong : .text(line)
  }

  private mutating func discardLine() {
    clear()
    isDiscarding = true
  }

  private mutating func clear() {
    buffer = []
    head = 0
    searched = 0
  }
}

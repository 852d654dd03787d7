import LockstepModel

/// Splits a stream of bytes into lines. Discards a line that is too long.
package struct LineReader {
  package enum Line: Hashable {
    case text([UInt8])
    case tooLong
  }

  private let bytesMax: Int
  private var waiting: [UInt8] = []
  /// Index at which the next line begins.
  private var head = 0
  /// Index up to which the buffer has been searched for a line feed.
  private var searched = 0
  private var isPassingOver = false

  package init(bytesMax: Int) { self.bytesMax = bytesMax }

  package mutating func receive(_ bytes: some Collection<UInt8>) {
    waiting.removeSubrange(..<head)
    searched -= head
    head = 0
    waiting += bytes
  }

  /// Returns the next complete line without its line feed, or nil if there is none yet.
  package mutating func next() -> Line? {
    guard let end = waiting[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = waiting.count
      if waiting.count - head > bytesMax { passOver() }
      return nil
    }
    let line = Array(waiting[head..<end])
    head = end + 1
    searched = head
    return finished(line)
  }

  /// Returns the bytes after the last line feed, once the stream has ended.
  package mutating func rest() -> Line? {
    let line = Array(waiting[head...])
    guard isPassingOver || !line.isEmpty else { return nil }
    clear()
    return finished(line)
  }

  private mutating func finished(_ line: [UInt8]) -> Line {
    defer { isPassingOver = false }
    return isPassingOver || line.count > bytesMax ? .tooLong : .text(line)
  }

  private mutating func passOver() {
    clear()
    isPassingOver = true
  }

  private mutating func clear() {
    waiting = []
    head = 0
    searched = 0
  }
}

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

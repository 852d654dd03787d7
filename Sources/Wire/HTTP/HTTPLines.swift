import LockstepModel

/// Received bytes of an HTTP connection, read line by line where lines are expected.
///
/// A line ends with CR LF. RFC 9112 section 2.2 allows a recipient to accept a bare LF as the end
/// of a line; it is refused here, because two programs that differ in this would see two different
/// requests.
struct HTTPLines: Sendable {
  private(set) var input = IncomingBytes()
  /// Bytes at the front that were already searched for the end of the line.
  private var searched = 0

  var count: Int { input.count }

  mutating func append(_ bytes: RawSpan) { input.append(bytes) }

  /// Returns the length of the first line in bytes, without CR LF; nil if its end has not arrived.
  /// `limit`: its maximum. `code`: the refusal for a longer line.
  mutating func lineCount(limit: Int, code: RefusalCode) throws(Refusal) -> Int? {
    // The end of a longer line need not be found.
    let end = Swift.min(input.count, limit + 2)
    guard let index = lineFeed(before: end) else {
      searched = end
      guard end < limit + 2 else {
        throw Refusal(code, "A line is longer than \(limit) bytes; send a shorter one.")
      }
      return nil
    }
    searched = 0
    guard index > 0, input[index - 1] == UInt8(ascii: "\r") else {
      throw Refusal(.badRequest, "A line ends with a bare line feed; end lines with CR LF.")
    }
    return index - 1
  }

  private func lineFeed(before end: Int) -> Int? {
    let bytes = input.bytes(0..<end)
    var index = searched
    // Eight bytes at a time: a byte of `word` is zero if it is a line feed.
    while index + 8 <= end {
      let eight = bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
      let word = eight ^ 0x0A0A_0A0A_0A0A_0A0A
      if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { break }
      index += 8
    }
    while index < end, bytes[index] != UInt8(ascii: "\n") { index += 1 }
    return index < end ? index : nil
  }

  @_lifetime(borrow self)
  func line(_ count: Int) -> Span<UInt8> { input.bytes(0..<count) }

  mutating func dropLine(_ count: Int) { input.drop(count + 2) }

  /// Removes at most `limit` bytes that are not a line; nil if there are none.
  mutating func take(atMost limit: Int) -> [UInt8]? {
    input.isEmpty ? nil : input.take(Swift.min(limit, input.count))
  }

  mutating func takeAll() -> [UInt8] {
    searched = 0
    return input.take(input.count)
  }

  mutating func removeAll() {
    searched = 0
    input.removeAll()
  }
}

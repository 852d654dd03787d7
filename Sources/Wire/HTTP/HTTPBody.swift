import LockstepModel

/// Body of an incoming message: returns it chunk by chunk, as it arrives, and finds its end. Holds
/// none of it.
///
///     chunked:  size in hexadecimal [; extension] CR LF   bytes CR LF   …   0 CR LF
///               [trailer fields, skipped] CR LF
struct HTTPBody: Sendable {
  private enum Stage {
    /// → end
    case length(remaining: Int)
    /// → chunk, trailers
    case chunkLine
    /// → chunkEnd
    case chunk(remaining: Int)
    /// → chunkLine
    case chunkEnd
    /// → end
    case trailers
    /// → end, when the connection ends
    case untilClose
    case end
  }

  enum Chunk {
    case bytes([UInt8])
    case end
  }

  private var stage: Stage
  private var received = 0
  /// Bytes of chunk extensions and trailers, which are skipped up to a limit.
  private var skipped = 0

  init(_ framing: HTTPFraming) {
    switch framing {
    case .none: stage = .end
    case .length(let count): stage = count == 0 ? .end : .length(remaining: count)
    case .chunked: stage = .chunkLine
    case .untilClose: stage = .untilClose
    }
  }

  /// Returns the next chunk; nil if more bytes are needed. `limit`: maximum bytes of the body; a
  /// longer one is refused as soon as its length is known.
  mutating func next(from lines: inout HTTPLines, limit: Int) throws(Refusal) -> Chunk? {
    while true {
      switch stage {
      case .end: return .end
      case .length(let remaining):
        try check(remaining, limit: limit)
        guard let bytes = takeBytes(from: &lines, atMost: remaining) else { return nil }
        let rest = remaining - bytes.count
        stage = rest == 0 ? .end : .length(remaining: rest)
        return .bytes(bytes)
      case .untilClose:
        guard let bytes = takeBytes(from: &lines, atMost: Int.max) else { return nil }
        try check(0, limit: limit)
        return .bytes(bytes)
      case .chunkLine:
        guard let size = try takeChunkLine(from: &lines) else { return nil }
        try check(size, limit: limit)
        stage = size == 0 ? .trailers : .chunk(remaining: size)
      case .chunk(let remaining):
        guard let bytes = takeBytes(from: &lines, atMost: remaining) else { return nil }
        let rest = remaining - bytes.count
        stage = rest == 0 ? .chunkEnd : .chunk(remaining: rest)
        return .bytes(bytes)
      case .chunkEnd:
        guard lines.count >= 2 else { return nil }
        guard lines.line(2)[0] == UInt8(ascii: "\r"), lines.line(2)[1] == UInt8(ascii: "\n") else {
          throw Refusal(.badRequest, "A chunk is longer than it says.")
        }
        lines.dropLine(0)
        stage = .chunkLine
      case .trailers:
        guard let isLast = try dropTrailer(from: &lines) else { return nil }
        if isLast { stage = .end }
      }
    }
  }

  /// Handles the end of the connection. Returns false if the body was not complete.
  mutating func endOfStream() -> Bool {
    switch stage {
    case .untilClose, .end:
      stage = .end
      return true
    case .length, .chunkLine, .chunk, .chunkEnd, .trailers: return false
    }
  }

  private func check(_ coming: Int, limit: Int) throws(Refusal) {
    guard coming > limit - received else { return }
    throw Refusal(.bodyTooLarge, "The body may have at most \(limit) bytes; send less at once.")
  }

  private mutating func takeBytes(from lines: inout HTTPLines, atMost count: Int) -> [UInt8]? {
    guard let bytes = lines.take(atMost: count) else { return nil }
    received += bytes.count
    return bytes
  }

  private mutating func takeChunkLine(from lines: inout HTTPLines) throws(Refusal) -> Int? {
    let limit = Limits.headerBytes - skipped + 16
    guard let count = try lines.lineCount(limit: limit, code: .headersTooLarge) else { return nil }
    let (size, digits) = try HTTPBody.chunkSize(lines.line(count))
    try skip(count - digits)
    lines.dropLine(count)
    return size
  }

  /// Returns the size and its number of digits.
  private static func chunkSize(
    _ line: Span<UInt8>
  ) throws(Refusal) -> (size: Int, digits: Int) {
    var size = 0
    var digits = 0
    while digits < line.count, let digit = HexText.digit(line[digits]) {
      size = size << 4 | Int(digit)
      digits += 1
      guard digits <= 15 else { throw Refusal(.badRequest, "The size of a chunk is too long.") }
    }
    guard digits > 0 else { throw Refusal(.badRequest, "A chunk does not begin with its size.") }
    var index = digits
    while index < line.count, line[index].isBlank { index += 1 }
    guard digits == line.count || (index < line.count && line[index] == UInt8(ascii: ";")) else {
      throw Refusal(.badRequest, "Something other than an extension follows a chunk's size.")
    }
    for index in digits..<line.count where !line[index].isFieldContent {
      throw Refusal(.badRequest, "The extension of a chunk has a control character.")
    }
    return (size, digits)
  }

  /// Returns true if this was the empty line after the last trailer; nil if no complete line is
  /// available.
  private mutating func dropTrailer(from lines: inout HTTPLines) throws(Refusal) -> Bool? {
    let limit = Limits.headerBytes - skipped
    guard let count = try lines.lineCount(limit: limit, code: .headersTooLarge) else { return nil }
    if count > 0 { _ = try HTTPFields.checkedColon(lines.line(count)) }
    try skip(count)
    lines.dropLine(count)
    return count == 0
  }

  private mutating func skip(_ count: Int) throws(Refusal) {
    skipped += count
    guard skipped <= Limits.headerBytes else {
      throw Refusal(.headersTooLarge, "The body has too many chunk extensions or trailers.")
    }
  }
}

import LockstepModel

/// Common part of requests and answers: fields and a body after a first line (RFC 9112 section
/// 2.1). The owner reads the first line from `lines`, and calls `beginFields`; after the fields it
/// calls `beginBody`.
struct HTTPMessageReader<FirstLine: Sendable>: Sendable {
  private enum Stage {
    /// → fields, over
    case firstLine
    /// → firstLine, over
    case fields(FirstLine)
    /// → firstLine, over
    case body(HTTPBody, keepsAlive: Bool)
    /// The connection carries no further message.
    case over
  }

  enum Part {
    /// The fields are complete. `beginBody` sets the body that follows; without it another first
    /// line follows.
    case fields(FirstLine, HTTPFields)
    case body([UInt8])
    /// `isLast`: no message follows on the connection.
    case end(isLast: Bool)
  }

  private var stage = Stage.firstLine
  /// Fields of an incomplete head.
  private var fields = HTTPFields()
  var lines = HTTPLines()

  /// Bytes held: those not yet returned, and the fields of an incomplete head.
  var bufferedBytes: Int { lines.count + fields.bufferedBytes }

  /// Memory of these.
  var heldBytes: Int { lines.input.heldBytes + fields.headers.lines.capacity }

  /// True if a first line is expected next.
  var isAtFirstLine: Bool { if case .firstLine = stage { true } else { false } }

  var isOver: Bool { if case .over = stage { true } else { false } }

  mutating func receive(_ bytes: RawSpan) {
    if case .over = stage { return }
    lines.append(bytes)
  }

  /// Continues after a first line that was read; its fields follow.
  mutating func beginFields(after line: FirstLine) { stage = .fields(line) }

  /// Continues after a head that was understood; its body follows.
  mutating func beginBody(_ framing: HTTPFraming, keepsAlive: Bool) {
    stage = .body(HTTPBody(framing), keepsAlive: keepsAlive)
  }

  /// Returns the next part; nil if it is not complete, and at a first line.
  mutating func next(bodyLimit: Int) throws(Refusal) -> Part? {
    while true {
      // The stage is moved out while it changes, so that none of it is copied.
      var current = Stage.over
      swap(&current, &stage)
      switch consume current {
      case .over: return nil
      case .firstLine:
        stage = .firstLine
        return nil
      case .fields(let line):
        var fields = HTTPFields()
        swap(&fields, &self.fields)
        var isWhole: Bool?
        repeat { isWhole = try readField(into: &fields) } while isWhole == false
        guard isWhole == true else {
          stage = .fields(line)
          self.fields = fields
          return nil
        }
        stage = .firstLine
        return .fields(line, fields)
      case .body(var body, let keepsAlive):
        let chunk = try body.next(from: &lines, limit: bodyLimit)
        stage = .body(body, keepsAlive: keepsAlive)
        switch chunk {
        case nil: return nil
        case .bytes(let bytes): return .body(bytes)
        case .end:
          // Bytes after the last message stay for `takeRest`.
          stage = keepsAlive ? .firstLine : .over
          return .end(isLast: !keepsAlive)
        }
      }
    }
  }

  /// Returns true if this was the empty line after the last field; nil if no complete line is
  /// available.
  private mutating func readField(into fields: inout HTTPFields) throws(Refusal) -> Bool? {
    let limit = fields.lineLimit
    guard let count = try lines.lineCount(limit: limit, code: .headersTooLarge) else { return nil }
    if count > 0 { try fields.add(lines.line(count)) }
    lines.dropLine(count)
    return count == 0
  }

  /// Handles the end of the peer's stream. True if that ends a body without another end; `next`
  /// then returns it.
  mutating func endOfStream() -> Bool {
    guard case .body(var body, _) = stage, body.endOfStream() else { return false }
    stage = .body(body, keepsAlive: false)
    return true
  }

  /// Removes and returns the bytes after the last message, or after the last head. The reader is
  /// over.
  mutating func takeRest() -> [UInt8] {
    let rest = lines.takeAll()
    end()
    return rest
  }

  mutating func end() {
    stage = .over
    fields = HTTPFields()
    lines.removeAll()
  }
}

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
        guard let bytes = readBytes(from: &lines, atMost: remaining) else { return nil }
        let rest = remaining - bytes.count
        stage = rest == 0 ? .end : .length(remaining: rest)
        return .bytes(bytes)
      case .untilClose:
        guard let bytes = readBytes(from: &lines, atMost: Int.max) else { return nil }
        try check(0, limit: limit)
        return .bytes(bytes)
      case .chunkLine:
        guard let size = try readChunkLine(from: &lines) else { return nil }
        try check(size, limit: limit)
        stage = size == 0 ? .trailers : .chunk(remaining: size)
      case .chunk(let remaining):
        guard let bytes = readBytes(from: &lines, atMost: remaining) else { return nil }
        let rest = remaining - bytes.count
        stage = rest == 0 ? .chunkEnd : .chunk(remaining: rest)
        return .bytes(bytes)
      case .chunkEnd:
        guard lines.count >= 2 else { return nil }
        guard lines.line(2)[0] == UInt8(ascii: "\r"), lines.line(2)[1] == UInt8(ascii: "\n") else {
          throw Refusal(.badRequest, "A chunk is longer than its size line says.")
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

  private mutating func readBytes(from lines: inout HTTPLines, atMost count: Int) -> [UInt8]? {
    guard let bytes = lines.removePrefix(atMost: count) else { return nil }
    received += bytes.count
    return bytes
  }

  private mutating func readChunkLine(from lines: inout HTTPLines) throws(Refusal) -> Int? {
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
  mutating func removePrefix(atMost limit: Int) -> [UInt8]? {
    input.isEmpty ? nil : input.removePrefix(Swift.min(limit, input.count))
  }

  mutating func takeAll() -> [UInt8] {
    searched = 0
    return input.removePrefix(input.count)
  }

  mutating func removeAll() {
    searched = 0
    input.removeAll()
  }
}

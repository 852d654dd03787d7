import LockstepModel

/// Reads the answers of one connection, one after another (RFC 9112, the client's side).
///
/// Call `expectAnswer` for every request before its answer comes, because an answer to HEAD has no
/// body. Interim answers (1xx) are skipped, except 101. Faults of the answer are thrown as
/// `internalError`, which advises a retry: they are the peer's, not ours.
package struct HTTPResponseParser: Sendable {
  private var reader = HTTPMessageReader<HTTPStatusLine>()
  /// For each request without an answer: true if it was HEAD.
  private var awaited: [Bool] = []

  /// Maximum bytes of a body.
  package var bodyLimit = Limits.batchBytes

  package init() {}

  /// Bytes held: those not yet returned, and the fields of an incomplete head.
  package var bufferedBytes: Int { reader.bufferedBytes }

  /// Records that a request with this method was sent. Call it once for each, in order.
  package mutating func expectAnswer(to method: String) { awaited.append(method == "HEAD") }

  package mutating func receive(_ bytes: RawSpan) { reader.receive(bytes) }

  /// Returns the next event; nil if it is not complete.
  package mutating func next() throws(Refusal) -> HTTPResponseEvent? {
    do {
      return try advance()
    } catch {
      end()
      throw HTTPResponseParser.reworded(error)
    }
  }

  /// Removes and returns the bytes after the head that came last, which belong to the other
  /// protocol after a 101. The parser is over.
  package mutating func takeRest() -> [UInt8] {
    defer { end() }
    return reader.takeRest()
  }

  /// Handles the end of the peer's stream, which ends a body without another end. Call `next`
  /// afterwards. Throws if an answer is incomplete or did not come.
  package mutating func endOfStream() throws(Refusal) {
    if reader.endOfStream() { return }
    let isIdle = reader.isAtFirstLine && reader.lines.count == 0 && awaited.isEmpty
    let isWhole = isIdle || reader.isOver
    end()
    guard isWhole else {
      throw Refusal(.internalError, "The connection ended before the relay's answer was complete.")
    }
  }

  private mutating func advance() throws(Refusal) -> HTTPResponseEvent? {
    while true {
      if reader.isAtFirstLine {
        guard try readStatusLine() else { return nil }
      }
      switch try reader.next(bodyLimit: bodyLimit) {
      case nil: return nil
      case .fields(let line, _) where line.isInterim: continue
      case .fields(let line, let fields):
        let head = try HTTPResponseHead(line, fields, answersHead: awaited.removeFirst())
        reader.beginBody(head.framing, keepsAlive: head.keepsAlive)
        return .head(head)
      case .body(let bytes): return .body(bytes)
      case .end: return .end
      }
    }
  }

  private mutating func readStatusLine() throws(Refusal) -> Bool {
    guard reader.lines.count > 0 else { return false }
    guard !awaited.isEmpty else {
      throw Refusal(.badRequest, "It does not answer a request.")
    }
    let limit = Limits.requestLineBytes
    guard let count = try reader.lines.lineCount(limit: limit, code: .headersTooLarge) else {
      return false
    }
    reader.beginFields(after: try HTTPStatusLine(parsing: reader.lines.line(count)))
    reader.lines.dropLine(count)
    return true
  }

  private mutating func end() {
    reader.end()
    awaited = []
  }

  /// Rewords a fault in the relay's answer for a client.
  private static func reworded(_ refusal: Refusal) -> Refusal {
    switch refusal.code {
    case .badRequest, .unsupportedTransferCoding, .unsupportedVersion:
      Refusal(.internalError, "The relay's answer is malformed. " + refusal.detail)
    default: refusal
    }
  }
}

/// First line of an answer: `HTTP/1.x SP 3 digits [SP reason]` (RFC 9112 section 4).
private struct HTTPStatusLine: Sendable {
  var status = 0
  var minorVersion: Int

  /// True if another answer follows this one.
  var isInterim: Bool { status < 200 && status != 101 }

  init(parsing line: Span<UInt8>) throws(Refusal) {
    let digits = HTTPVersion.count + 1..<HTTPVersion.count + 4
    guard line.count >= digits.upperBound, line[HTTPVersion.count] == UInt8(ascii: " ") else {
      throw Refusal(.badRequest, "The status line is too short.")
    }
    minorVersion = try HTTPVersion.minor(line.extracting(0..<HTTPVersion.count))
    for index in digits {
      guard line[index] >= UInt8(ascii: "0"), line[index] <= UInt8(ascii: "9") else {
        throw Refusal(.badRequest, "The status is not a number of three digits.")
      }
      status = status * 10 + Int(line[index] - UInt8(ascii: "0"))
    }
    guard status >= 100 else { throw Refusal(.badRequest, "The status is below 100.") }
    guard line.count == digits.upperBound || line[digits.upperBound] == UInt8(ascii: " ") else {
      throw Refusal(.badRequest, "The status is not followed by a space.")
    }
    for index in digits.upperBound..<line.count where !line[index].isFieldContent {
      throw Refusal(.badRequest, "The status line has a control character.")
    }
  }
}

extension HTTPResponseHead {
  fileprivate init(
    _ line: HTTPStatusLine, _ fields: HTTPFields, answersHead: Bool
  ) throws(Refusal) {
    status = line.status
    minorVersion = line.minorVersion
    headers = fields.headers
    // RFC 9112 section 6.3: these have no body, whatever their fields say.
    let hasNoBody = answersHead || [101, 204, 304].contains(line.status)
    let framing = hasNoBody ? HTTPFraming.none : try fields.framing(minorVersion: line.minorVersion)
    self.framing = framing ?? .untilClose
    keepsAlive =
      line.status != 101 && self.framing != .untilClose
      && fields.keepsAlive(minorVersion: line.minorVersion)
  }
}

import LockstepModel

/// Common part of requests and answers: fields and a body after a first line (RFC 9112 section
/// 2.1). The owner reads the first line from `lines`, and calls `begin` with the next part.
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
    /// The fields are complete. `begin` sets the body that follows; without it another first line
    /// follows.
    case fields(FirstLine, HTTPFields)
    case body([UInt8])
    /// `isLast`: no message follows on the connection.
    case end(isLast: Bool)
  }

  private var stage = Stage.firstLine
  /// Fields of an incomplete head.
  private var fields = HTTPFields()
  var lines = HTTPLines()

  /// Bytes held: those not yet asked for, and the fields of an incomplete head.
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
  mutating func begin(_ line: FirstLine) { stage = .fields(line) }

  /// Continues after a head that was understood; its body follows.
  mutating func begin(_ framing: HTTPFraming, keepsAlive: Bool) {
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
        repeat { isWhole = try takeField(into: &fields) } while isWhole == false
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
  private mutating func takeField(into fields: inout HTTPFields) throws(Refusal) -> Bool? {
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

import LockstepModel

/// What requests and answers have in common: fields and a body behind a first line (RFC 9112
/// section 2.1). Whoever owns it reads the first line from `lines`, and says with `begin` how it
/// goes on.
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
    /// The fields are whole. `begin` says what body follows; without it another first line does.
    case fields(FirstLine, HTTPFields)
    case body([UInt8])
    /// `isLast`: no message follows on the connection.
    case end(isLast: Bool)
  }

  private var stage = Stage.firstLine
  /// Of a head that is not whole.
  private var fields = HTTPFields()
  var lines = HTTPLines()

  /// Bytes held: those not yet asked for, and the fields of a head that is not whole.
  var bufferedBytes: Int { lines.count + fields.bufferedBytes }

  /// Memory that they take.
  var heldBytes: Int { lines.input.heldBytes + fields.headers.lines.capacity }

  /// The next thing to come is a first line.
  var isAtFirstLine: Bool { if case .firstLine = stage { true } else { false } }

  var isOver: Bool { if case .over = stage { true } else { false } }

  mutating func receive(_ bytes: RawSpan) {
    if case .over = stage { return }
    lines.append(bytes)
  }

  /// The first line was read; its fields follow.
  mutating func begin(_ line: FirstLine) { stage = .fields(line) }

  /// The head was understood; its body follows.
  mutating func begin(_ framing: HTTPFraming, keepsAlive: Bool) {
    stage = .body(HTTPBody(framing), keepsAlive: keepsAlive)
  }

  /// What came next; nil while it is not all there, and at a first line.
  mutating func next(bodyLimit: Int) throws(Refusal) -> Part? {
    while true {
      // The stage is given away while it changes, so that nothing of it is copied.
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
          // What follows the last message waits for `takeRest`.
          stage = keepsAlive ? .firstLine : .over
          return .end(isLast: !keepsAlive)
        }
      }
    }
  }

  /// Whether that was the empty line after the last field; nil while no whole line is there.
  private mutating func takeField(into fields: inout HTTPFields) throws(Refusal) -> Bool? {
    let limit = fields.lineLimit
    guard let count = try lines.lineCount(limit: limit, code: .headersTooLarge) else { return nil }
    if count > 0 { try fields.add(lines.line(count)) }
    lines.dropLine(count)
    return count == 0
  }

  /// The peer ends its stream. True where that is the end of a body that has no other, and `next`
  /// tells it.
  mutating func endOfStream() -> Bool {
    guard case .body(var body, _) = stage, body.endOfStream() else { return false }
    stage = .body(body, keepsAlive: false)
    return true
  }

  /// The bytes behind the last message, or behind the head that came last. The reader is over.
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

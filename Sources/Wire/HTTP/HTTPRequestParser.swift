import LockstepJSON
import LockstepModel

/// Reads the requests of one connection, one after another (RFC 9112, the server's side).
///
/// `receive` accepts bytes; `next` returns events until it returns nil. A head is followed by the
/// chunks of its body and `end`; only then does the next request begin. Bytes that are not asked
/// for are kept: a caller that stops asking lets `bufferedBytes` grow, and must pause the
/// connection. A thrown refusal ends the connection after its answer: no event follows.
package struct HTTPRequestParser: Sendable {
  private var reader = HTTPMessageReader<HTTPRequestLine>()
  private var skippedEmptyLine = false

  /// Maximum bytes of the body of the request whose head came last. Each head sets it to
  /// `Limits.smallBodyBytes`; a caller that accepts more sets it before the next `next`.
  package var bodyLimit = Limits.smallBodyBytes

  package init() {}

  /// Bytes held: those not yet returned, and the fields of an incomplete head.
  package var bufferedBytes: Int { reader.bufferedBytes }

  /// Memory of these.
  package var heldBytes: Int { reader.heldBytes }

  /// True if no part of a request has arrived: the connection may be closed without a loss.
  package var isIdle: Bool { reader.isAtFirstLine && reader.lines.count == 0 }

  package mutating func receive(_ bytes: RawSpan) { reader.receive(bytes) }

  /// Returns the next event; nil if it is not complete.
  package mutating func next() throws(Refusal) -> HTTPRequestEvent? {
    do {
      return try advance()
    } catch {
      reader.end()
      throw error
    }
  }

  /// Removes and returns the bytes after the request whose head came last: after an upgrade they
  /// belong to the other protocol. The parser is over.
  package mutating func takeRest() -> [UInt8] { reader.takeRest() }

  /// Handles the end of the peer's stream. Throws if it leaves a request incomplete.
  package mutating func endOfStream() throws(Refusal) {
    let isWhole = isIdle || reader.isOver
    reader.end()
    guard isWhole else {
      throw Refusal(.badRequest, "The connection ended in the middle of a request.")
    }
  }

  private mutating func advance() throws(Refusal) -> HTTPRequestEvent? {
    while reader.isAtFirstLine {
      guard try readRequestLine() else { return nil }
    }
    switch try reader.next(bodyLimit: bodyLimit) {
    case nil: return nil
    case .fields(let line, let fields):
      let head = try HTTPRequestHead(line, fields)
      reader.beginBody(head.framing, keepsAlive: head.keepsAlive)
      bodyLimit = Limits.smallBodyBytes
      return .head(head)
    case .body(let bytes): return .body(bytes)
    case .end(let isLast):
      if isLast { reader.end() }
      skippedEmptyLine = false
      return .end
    }
  }

  private mutating func readRequestLine() throws(Refusal) -> Bool {
    let count = try reader.lines.lineCount(limit: Limits.requestLineBytes, code: .uriTooLong)
    guard let count else {
      // Another protocol, such as TLS, is refused at once: it may never send a line feed.
      if reader.lines.count > 0, !ByteSet.token.contains(reader.lines.line(1)[0]),
        reader.lines.line(1)[0] != UInt8(ascii: "\r")
      {
        throw Refusal(.badRequest, "This is not an HTTP request; this port serves plain HTTP.")
      }
      return false
    }
    if count == 0 {
      // Clients that end a body with one line too many are tolerated once (RFC 9112 section 2.2).
      guard !skippedEmptyLine else {
        throw Refusal(.badRequest, "An empty line precedes the request line; remove it.")
      }
      skippedEmptyLine = true
    } else {
      reader.beginFields(after: try HTTPRequestLine(parsing: reader.lines.line(count)))
    }
    reader.lines.dropLine(count)
    return true
  }
}

extension HTTPRequestHead {
  /// Makes a complete head after checking that it has only one interpretation.
  fileprivate init(_ line: HTTPRequestLine, _ fields: HTTPFields) throws(Refusal) {
    let hosts = fields.headers.count(of: "Host")
    guard hosts <= 1, line.minorVersion == 0 || hosts == 1 else {
      throw Refusal(.badRequest, "Exactly one Host field is needed.")
    }
    guard fields.headers.bytes(of: "Host").map({ Authority.isWellFormed($0.span) }) ?? true else {
      throw Refusal(.badRequest, "The Host field is not a valid host.")
    }
    let framing = try fields.framing(minorVersion: line.minorVersion) ?? .none
    let expectations = line.minorVersion == 0 ? [] : fields.headers.list("Expect")
    let isContinue = { (text: String) in
      text.withUTF8Bytes { equalIgnoringCase($0, "100-continue") }
    }
    guard expectations.allSatisfy(isContinue) else {
      throw Refusal(.expectationFailed, "The only supported expectation is 100-continue.")
    }
    let hasBody = framing != .none && framing != .length(0)
    self.init(
      method: line.method, target: line.target, minorVersion: line.minorVersion,
      headers: fields.headers, framing: framing,
      keepsAlive: fields.keepsAlive(minorVersion: line.minorVersion),
      expectsContinue: hasBody && !expectations.isEmpty)
  }
}

/// The first line of a request: `METHOD SP target SP HTTP/1.x` (RFC 9112 section 3).
struct HTTPRequestLine: Sendable {
  var method: String
  var target: RequestTarget
  var minorVersion: Int

  init(parsing line: Span<UInt8>) throws(Refusal) {
    let token = ByteSet.token
    var methodEnd = 0
    while methodEnd < line.count, token.contains(line[methodEnd]) { methodEnd += 1 }
    guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == UInt8(ascii: " ") else {
      throw Refusal(.badRequest, "The request does not begin with a method and a space.")
    }
    var targetEnd = methodEnd + 1
    while targetEnd < line.count, line[targetEnd] != UInt8(ascii: " ") { targetEnd += 1 }
    guard targetEnd < line.count else {
      throw Refusal(.badRequest, "The request line has no target or no HTTP version.")
    }
    minorVersion = try HTTPVersion.minor(line.extracting(targetEnd + 1..<line.count))
    target = try RequestTarget(parsing: line.extracting(methodEnd + 1..<targetEnd))
    method = line.extracting(0..<methodEnd).withUnsafeBufferPointer {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

/// `HTTP/1.0` or `HTTP/1.1` (RFC 9112 section 2.3).
enum HTTPVersion {
  /// Length of the text.
  static let count = 8

  /// Returns 0 or 1; a later 1.x is treated as 1.1 (RFC 9110 section 2.5).
  static func minor(_ text: Span<UInt8>) throws(Refusal) -> Int {
    let pattern: StaticString = "HTTP/d.d"
    let isVersion =
      text.count == count
      && (0..<count).allSatisfy { index in
        let expected = pattern.utf8Start[index]
        return expected == UInt8(ascii: "d") ? digit(text[index]) != nil : text[index] == expected
      }
    guard isVersion, let major = digit(text[5]), let minor = digit(text[7]) else {
      throw Refusal(.badRequest, "The first line has no valid HTTP version.")
    }
    guard major == 1 else {
      throw Refusal(.unsupportedVersion, "Use HTTP/1.1 with this server.")
    }
    return min(minor, 1)
  }

  private static func digit(_ byte: UInt8) -> Int? {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int(byte - UInt8(ascii: "0")) : nil
  }
}

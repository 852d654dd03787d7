import LockstepModel
import LockstepRuntime
import LockstepWire

/// Connection of a device, a relay, or the owner's monitoring: HTTP/1.1, one request after another.
struct GatewayConnection {
  struct Request {
    var head: HTTPRequestHead
    var body: [UInt8]
  }

  enum Step {
    /// The client waits for `100 Continue` before it sends the body.
    case expectsContinue
    /// The request is complete; no further one is read until it is answered (`finish`).
    case request(Request)
  }

  /// Bytes of requests that are read ahead.
  private static let aheadBytes = 16 << 10

  let opening: Opening
  private var parser = HTTPRequestParser()
  /// The request whose body is incomplete.
  private var partial: Request?
  /// The request that waits for its answer.
  private var current: HTTPRequestHead?
  private var isPaused = false
  /// Time at which the connection is closed; nil while the gateway has to answer.
  private(set) var deadline: Instant?

  init(_ opening: Opening, at now: Instant) {
    self.opening = opening
    deadline = now.advanced(milliseconds: GatewayLimits.requestMilliseconds)
  }

  var listenerKind: Opening.ListenerKind { opening.listenerKind }

  /// True if no part of a request is there.
  var isIdle: Bool { current == nil && partial == nil && parser.isIdle }

  mutating func receive(_ bytes: RawSpan) { parser.receive(bytes) }

  /// Returns the next step; nil if more bytes, or the answer to a request, are needed.
  mutating func next(at now: Instant) throws(Refusal) -> Step? {
    guard current == nil else { return nil }
    if partial == nil, !parser.isIdle, hasIdleDeadline {
      hasIdleDeadline = false
      deadline = now.advanced(milliseconds: GatewayLimits.requestMilliseconds)
    }
    while let event = try parser.next() {
      switch event {
      case .head(let head):
        partial = Request(head: head, body: [])
        parser.bodyLimit = GatewayLimits.requestBytes
        if head.expectsContinue { return .expectsContinue }
      case .body(let bytes): partial?.body += bytes
      case .end:
        guard let request = partial.take() else { return nil }
        current = request.head
        deadline = nil
        return .request(request)
      }
    }
    return nil
  }

  /// True if the deadline is that of a connection without a request.
  private var hasIdleDeadline = false

  /// Returns true to stop reading, false to resume it, nil for no change.
  mutating func pauses() -> Bool? {
    let pauses = current != nil && parser.bufferedBytes > GatewayConnection.aheadBytes
    guard pauses != isPaused else { return nil }
    isPaused = pauses
    return pauses
  }

  /// Ends the request that waits. Returns the bytes of the answer, and true if the connection stays
  /// open; nil if no request waits. `closes`: the connection is to be closed in any case.
  mutating func finish(
    _ answer: GatewayAnswer, closes: Bool, at now: Instant
  ) -> (bytes: [UInt8], keepsAlive: Bool)? {
    guard let head = current.take() else { return nil }
    hasIdleDeadline = true
    deadline = now.advanced(milliseconds: GatewayLimits.idleMilliseconds)
    let keepsAlive = head.keepsAlive && !closes
    var headers = answer.headers
    if !keepsAlive {
      headers.append("Connection", "close")
    } else if head.minorVersion == 0 {
      headers.append("Connection", "keep-alive")
    }
    let bytes = HTTPWriter.response(
      status: answer.status, headers: headers, body: answer.body,
      omitsBody: head.method == "HEAD")
    return (bytes, keepsAlive)
  }

  static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// Answer to a request that did not arrive in time.
  static let late = GatewayAnswer(
    Refusal(.requestTimeout, "Send the whole request within ten seconds."))

  /// Returns the bytes of an answer after which the connection is closed.
  static func lastAnswer(_ answer: GatewayAnswer) -> [UInt8] {
    var headers = answer.headers
    headers.append("Connection", "close")
    return HTTPWriter.response(status: answer.status, headers: headers, body: answer.body)
  }
}

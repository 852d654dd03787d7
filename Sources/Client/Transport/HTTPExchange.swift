import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepWire

/// One connection that carries HTTP requests one after another, each with a deadline. Opens itself
/// for a request, and stays open for the next.
struct HTTPExchange {
  struct Request: Hashable, Sendable {
    var method: String
    var target: RequestTarget
    var token: String?
    var body: [UInt8]?
    /// Timeout from the call to the answer's last byte.
    var milliseconds: Int64
  }

  enum Result: Hashable, Sendable {
    /// `sent`: time at which the request was sent; for measuring time.
    case answered(status: Int, headers: HTTPHeaders, body: [UInt8], sent: Instant)
    case unreachable(String)
    /// The connection was established, and no answer came.
    case unanswered(String)
  }

  private enum Stage {
    /// → connecting
    case closed
    /// → waiting, closed
    case connecting(Request)
    /// An idle connection. → waiting, closed
    case ready
    /// → ready, connecting (once, if the connection was used before), closed
    case waiting(Waiting)
  }

  private struct Waiting {
    var request: Request
    var sent: Instant
    /// True if the connection has carried an answer before. It may have been closed just now, while
    /// the request was in transit: such a request is sent once more.
    var isReused: Bool
    var head: HTTPResponseHead?
    var body: [UInt8] = []
    var hasBytes = false
  }

  private let authority: String
  private var stage = Stage.closed
  private var parser = HTTPResponseParser()
  private(set) var id: ConnectionID?
  private(set) var deadline: Instant?

  init(to relay: RelayAddress) { self.init(authority: relay.authority) }

  /// `authority`: value of the `Host` field.
  init(authority: String) { self.authority = authority }

  var isBusy: Bool {
    switch stage {
    case .closed, .ready: false
    case .connecting, .waiting: true
    }
  }

  /// Sends a request; valid only if not busy.
  mutating func sendRequest(_ request: Request, at now: Instant, _ output: inout UplinkOutput) {
    precondition(!isBusy, "one request at a time: the connection is busy")
    output.countRequest()
    deadline = now.advanced(milliseconds: request.milliseconds)
    if case .ready = stage, let id {
      writeRequest(request, on: id, isReused: true, at: now, &output)
    } else {
      connect(for: request, &output)
    }
  }

  mutating func opened(at now: Instant, _ output: inout UplinkOutput) {
    guard case .connecting(let request) = stage, let id else { return }
    writeRequest(request, on: id, isReused: false, at: now, &output)
  }

  /// Returns nil until the answer is complete.
  mutating func received(_ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput)
    -> Result?
  {
    guard case .waiting(var waiting) = stage else {
      // Unsolicited data of the server (for example a 408) belongs to no request.
      if case .ready = stage { close(&output) }
      return nil
    }
    parser.receive(bytes)
    waiting.hasBytes = true
    stage = .waiting(waiting)
    return advance(&output)
  }

  /// Handles the end of the connection by the peer.
  mutating func closed(_ cause: CloseCause, at now: Instant, _ output: inout UplinkOutput)
    -> Result?
  {
    defer { if !isBusy { deadline = nil } }
    id = nil
    switch stage {
    case .closed, .ready:
      stage = .closed
      return nil
    case .connecting:
      stage = .closed
      return .unreachable(cause.reason)
    case .waiting(let waiting):
      if waiting.isReused && !waiting.hasBytes {
        connect(for: waiting.request, &output)
        return nil
      }
      do {
        try parser.endOfStream()
        if let result = advance(&output) { return result }
      } catch {
        stage = .closed
        return .unanswered(error.detail)
      }
      stage = .closed
      return .unanswered(cause.reason)
    }
  }

  /// Returns nil before the deadline.
  mutating func expired(at now: Instant, _ output: inout UplinkOutput) -> Result? {
    guard let deadline, deadline <= now else { return nil }
    let wasConnecting = if case .connecting = stage { true } else { false }
    close(&output)
    return wasConnecting
      ? .unreachable(localized("the relay could not be reached in time"))
      : .unanswered(localized("the relay did not answer in time"))
  }

  mutating func close(_ output: inout UplinkOutput) {
    if let id { output.close(id, .now) }
    id = nil
    stage = .closed
    deadline = nil
  }

  private mutating func connect(for request: Request, _ output: inout UplinkOutput) {
    parser = HTTPResponseParser()
    parser.bodyLimit = Limits.relayMessageBytes
    id = output.open()
    stage = .connecting(request)
  }

  private mutating func writeRequest(
    _ request: Request, on id: ConnectionID, isReused: Bool, at now: Instant,
    _ output: inout UplinkOutput
  ) {
    var headers: HTTPHeaders = ["Accept": "application/json"]
    if let token = request.token { headers.append("Authorization", "Bearer " + token) }
    if request.body != nil { headers.append("Content-Type", "application/json") }
    parser.expectAnswer(to: request.method)
    output.send(
      id,
      HTTPWriter.request(
        method: request.method, target: request.target, host: authority, headers: headers,
        body: request.body))
    stage = .waiting(Waiting(request: request, sent: now, isReused: isReused))
  }

  private mutating func advance(_ output: inout UplinkOutput) -> Result? {
    guard case .waiting(var waiting) = stage else { return nil }
    do {
      while let event = try parser.next() {
        switch event {
        case .head(let head): waiting.head = head
        case .body(let bytes): waiting.body += bytes
        case .end: return finish(waiting, &output)
        }
      }
    } catch {
      close(&output)
      return .unanswered(error.detail)
    }
    stage = .waiting(waiting)
    return nil
  }

  private mutating func finish(_ waiting: Waiting, _ output: inout UplinkOutput) -> Result? {
    guard let head = waiting.head else { return nil }
    if head.keepsAlive, parser.bufferedBytes == 0 {
      stage = .ready
      deadline = nil
    } else {
      close(&output)
    }
    return .answered(
      status: head.status, headers: head.headers, body: waiting.body, sent: waiting.sent)
  }
}

extension CloseCause {
  /// Reason, for users.
  var reason: String {
    switch self {
    case .endOfStream: localized("the relay closed the connection")
    case .connectFailed(let text), .failed(let text): text
    case .notTrusted(let fault): fault.explanation
    }
  }
}

extension SecurityFault {
  /// The fault, and a user's next step.
  package var explanation: String {
    switch self {
    case .unknownAuthority:
      localized(
        "no authority that is trusted here has signed the relay's certificate; "
          + "if it is an authority of your own, name its file with --ca when you join")
    case .otherName:
      localized(
        "the relay's certificate is for another name; use a name that the "
          + "certificate contains, or have the relay's owner obtain one for this name")
    case .expired: localized("the relay's certificate has expired; have the relay's owner renew it")
    case .notYetValid:
      localized("the relay's certificate is not valid yet; check this machine's clock")
    case .notSecure:
      localized(
        "the peer does not use TLS; check the port, and whether the address must "
          + "begin with http://")
    case .otherProtocol:
      localized(
        "the peer does not speak the protocol of this connection; check its "
          + "address and port")
    case .other(let text): localized("the TLS handshake failed: {reason}", ["reason": text])
    }
  }
}

import LockstepModel
import LockstepRuntime
import LockstepWebPush
import LockstepWire

/// Connection to an authority for one request after another, and the reading of the answers.
struct AuthorityConnection: Sendable {
  enum Action: Sendable {
    case open(ConnectionID, PeerAddress)
    case send(ConnectionID, [UInt8])
    case close(ConnectionID)
  }

  enum Outcome: Sendable {
    case answered(ACMEResponse)
    case failed(ACMEFault)
  }

  private enum Stage: Sendable {
    /// → connecting
    case closed
    /// → waiting, closed
    case connecting(ACMERequest)
    /// → idle, closed, connecting
    case waiting(ACMERequest, isReused: Bool)
    /// → waiting, closed
    case idle
  }

  private let userAgent: String
  private var id = ConnectionID.outgoing(0)
  private var nextNumber: UInt64 = 0
  private var stage = Stage.closed
  private var parser = HTTPResponseParser()
  private var head: HTTPResponseHead?
  private var body: [UInt8] = []
  /// True if a byte of the answer has come.
  private var hasBytes = false
  private(set) var deadline: Instant?
  private var actions = ActionQueue<Action>()

  init(version: String) { userAgent = "lockstep/" + version }

  mutating func nextAction() -> Action? { actions.popFirst() }

  func owns(_ other: ConnectionID) -> Bool {
    if case .closed = stage { return false }
    return other == id
  }

  /// Sends a request. There must be none without an outcome.
  mutating func send(_ request: ACMERequest, at moment: Moment) {
    deadline = moment.instant.advanced(milliseconds: ACMELimits.answerMilliseconds)
    switch stage {
    case .closed: open(for: request)
    case .idle: write(request, isReused: true)
    case .connecting, .waiting: preconditionFailure("a request has no outcome yet")
    }
  }

  /// Ends the connection, and the request that is under way.
  mutating func close() {
    if case .closed = stage { return }
    stage = .closed
    deadline = nil
    actions.append(.close(id))
  }

  mutating func opened(_ id: ConnectionID) {
    guard case .connecting(let request) = stage, id == self.id else { return }
    write(request, isReused: false)
  }

  mutating func received(_ bytes: RawSpan, at moment: Moment) -> Outcome? {
    switch stage {
    case .waiting: break
    case .closed: return nil
    case .connecting: return failed()
    case .idle:
      // It belongs to no request.
      close()
      return nil
    }
    hasBytes = true
    parser.receive(bytes)
    return read(at: moment)
  }

  mutating func closed(_ cause: CloseCause, at moment: Moment) -> Outcome? {
    let ended = stage
    stage = .closed
    deadline = nil
    switch ended {
    case .closed, .idle: return nil
    case .connecting: return .failed(AuthorityConnection.fault(of: cause))
    case .waiting(let request, let isReused):
      if isReused, !hasBytes {
        // It was closed while the request was on its way. Sent twice, a request is refused for its
        // nonce if the first one has arrived.
        send(request, at: moment)
        return nil
      }
      // An answer may end with the connection.
      if cause == .endOfStream, hasBytes { return finish(at: moment) }
      return .failed(AuthorityConnection.fault(of: cause))
    }
  }

  /// Returns an outcome if the time for an answer is over.
  mutating func expire(at moment: Moment) -> Outcome? {
    guard let deadline, deadline <= moment.instant else { return nil }
    close()
    return .failed(.timedOut)
  }

  private mutating func open(for request: ACMERequest) {
    nextNumber += 1
    id = ConnectionID.outgoing(nextNumber)
    stage = .connecting(request)
    actions.append(
      .open(id, .secure(request.url.hostWithoutBrackets, port: request.url.port)))
  }

  private mutating func write(_ request: ACMERequest, isReused: Bool) {
    if !isReused {
      parser = HTTPResponseParser()
      parser.bodyLimit = ACMELimits.bodyBytes
    }
    (head, body, hasBytes) = (nil, [], false)
    stage = .waiting(request, isReused: isReused)
    parser.expectAnswer(to: request.method.rawValue)
    var headers = HTTPHeaders()
    headers.append("User-Agent", userAgent)
    headers.append("Accept-Language", "en")
    let isPost = request.method == .post
    if isPost { headers.append("Content-Type", "application/jose+json") }
    actions.append(
      .send(
        id,
        HTTPWriter.request(
          method: request.method.rawValue, rawTarget: request.url.target,
          host: request.url.authority, headers: headers, body: isPost ? request.body : nil)))
  }

  private mutating func read(at moment: Moment) -> Outcome? {
    do throws(Refusal) {
      while let event = try parser.next() {
        switch event {
        case .head(let complete): head = complete
        case .body(let bytes):
          guard body.count + bytes.count <= ACMELimits.bodyBytes else { return failed() }
          body += bytes
        case .end: return complete(at: moment)
        }
      }
      return nil
    } catch {
      return failed()
    }
  }

  private mutating func finish(at moment: Moment) -> Outcome? {
    do throws(Refusal) {
      try parser.endOfStream()
    } catch {
      return .failed(.unreachable("the connection ended in the middle of an answer"))
    }
    let outcome = read(at: moment)
    stage = .closed
    return outcome ?? .failed(.unreachable("the connection ended in the middle of an answer"))
  }

  private mutating func failed() -> Outcome {
    close()
    return .failed(.malformed("HTTP"))
  }

  private mutating func complete(at moment: Moment) -> Outcome {
    guard let head else { return failed() }
    deadline = nil
    if case .closed = stage {
    } else if head.keepsAlive, parser.bufferedBytes == 0 {
      stage = .idle
    } else {
      close()
    }
    var response = ACMEResponse(status: head.status)
    response.body = body
    response.nonce = head.headers["Replay-Nonce"]
    response.location = head.headers["Location"]
    response.retryAfter = head.headers["Retry-After"].flatMap {
      AuthorityConnection.pause($0, at: moment.wall)
    }
    (self.head, body) = (nil, [])
    return .answered(response)
  }

  /// Returns the time that a `Retry-After` names, in milliseconds (RFC 9110 section 10.2.3), at
  /// most `ACMELimits.pauseMilliseconds`.
  static func pause(_ text: String, at wall: Int64) -> Int64? {
    let most = ACMELimits.pauseMilliseconds
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      guard let seconds = Int64(text), seconds <= most / 1_000 else { return most }
      return seconds * 1_000
    }
    guard let date = HTTPDate.milliseconds(text) else { return nil }
    return min(max(date - max(wall, 0), 0), most)
  }

  private static func fault(of cause: CloseCause) -> ACMEFault {
    switch cause {
    case .endOfStream: .unreachable("the connection was closed before the answer")
    case .connectFailed(let reason), .failed(let reason): .unreachable(reason)
    case .notTrusted(let fault): .notTrusted(fault)
    }
  }
}

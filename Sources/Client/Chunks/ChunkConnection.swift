import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepWire

/// One connection that carries chunks of files, one request after another. Bodies are sent and
/// received unencoded, in portions, so that none is in memory as a whole. Opens itself for a
/// request, and stays open for the next.
///
/// Handles HTTP only, not the meaning of the bytes.
struct ChunkConnection {
  struct Request: Hashable, Sendable {
    var method: String
    var hash: ChunkHash
    var token: String
    /// Length of the body in bytes; nil: no body.
    var bodyBytes: Int?
    /// Offset of the first byte of the answer; 0: the whole chunk.
    var first = 0
  }

  enum Event: Hashable, Sendable {
    /// The connection accepts more of the body: call `supplyBody`.
    case wantsBody
    /// Head of the answer. Its body follows in portions, and then `end`.
    case head(HTTPResponseHead)
    case body([UInt8])
    case end
    /// The request has failed; no further events follow. `wasReached`: the connection was
    /// established.
    case broken(String, wasReached: Bool)
  }

  private enum Stage {
    /// → connecting
    case closed
    /// → active, closed
    case connecting(Request)
    /// An idle connection. → active, closed
    case ready
    /// The body is being sent; the answer is awaited or being received. → ready, closed
    case active(RequestState)
  }

  private struct RequestState {
    /// Bytes of the body that were not handed over yet.
    var bytesLeft: Int
    /// True if more of the body was requested, and has not been supplied.
    var awaitsBody = false
    var keepsAlive = false
  }

  private let authority: String
  private var stage = Stage.closed
  private var parser = HTTPResponseParser()
  private(set) var id: ConnectionID?
  private(set) var deadline: Instant?
  /// Unsent bytes in the connection's buffer, as last reported.
  private(set) var unsent = 0
  private var isPaused = false

  init(to relay: RelayAddress) { authority = relay.authority }

  var isBusy: Bool {
    switch stage {
    case .closed, .ready: false
    case .connecting, .active: true
    }
  }

  // MARK: requests of the agent

  /// Sends a request; valid only if not busy.
  mutating func sendRequest(_ request: Request, at now: Instant, _ output: inout UplinkOutput)
    -> [Event]
  {
    precondition(!isBusy, "one request at a time: the connection is busy")
    output.countRequest()
    if case .ready = stage, let id { return writeRequest(request, on: id, at: now, &output) }
    parser = HTTPResponseParser()
    parser.bodyLimit = Limits.chunkBytes
    unsent = 0
    isPaused = false
    id = output.open()
    stage = .connecting(request)
    deadline = now.advanced(milliseconds: Limits.connectMilliseconds)
    return []
  }

  /// Sends the next bytes of the body, after `wantsBody`.
  mutating func supplyBody(_ bytes: [UInt8], at now: Instant, _ output: inout UplinkOutput)
    -> [Event]
  {
    guard case .active(var active) = stage, let id, active.awaitsBody else { return [] }
    active.awaitsBody = false
    active.bytesLeft -= bytes.count
    stage = .active(active)
    output.send(id, bytes)
    extendDeadline(at: now)
    return requestBody()
  }

  /// Pauses reading of the answer. The pause does not count towards the relay's timeout.
  mutating func pause(_ output: inout UplinkOutput) {
    guard !isPaused, let id else { return }
    isPaused = true
    deadline = nil
    output.pauseReading(id)
  }

  mutating func resume(at now: Instant, _ output: inout UplinkOutput) {
    guard isPaused, let id else { return }
    isPaused = false
    if isBusy { extendDeadline(at: now) }
    output.resumeReading(id)
  }

  mutating func close(_ output: inout UplinkOutput) {
    if let id { output.close(id, .now) }
    id = nil
    stage = .closed
    deadline = nil
  }

  // MARK: driver events

  mutating func opened(at now: Instant, _ output: inout UplinkOutput) -> [Event] {
    guard case .connecting(let request) = stage, let id else { return [] }
    return writeRequest(request, on: id, at: now, &output)
  }

  mutating func drained(_ unsent: Int, at now: Instant) -> [Event] {
    let hasMoved = unsent < self.unsent
    self.unsent = unsent
    guard case .active = stage else { return [] }
    if hasMoved { extendDeadline(at: now) }
    return requestBody()
  }

  mutating func received(_ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput) -> [Event]
  {
    guard case .active(var active) = stage else {
      // Unsolicited data of the server (for example a 408) belongs to no request.
      if case .ready = stage { close(&output) }
      return []
    }
    output.countReceived(bytes.byteCount)
    parser.receive(bytes)
    extendDeadline(at: now)
    var events: [Event] = []
    do {
      while let event = try parser.next() {
        switch event {
        case .head(let head):
          active.keepsAlive = head.keepsAlive
          stage = .active(active)
          events.append(.head(head))
        case .body(let bytes): events.append(.body(bytes))
        case .end:
          endRequest(active, &output)
          return events + [.end]
        }
      }
    } catch {
      close(&output)
      return events + [.broken(error.detail, wasReached: true)]
    }
    return events
  }

  mutating func closed(_ cause: CloseCause) -> [Event] {
    let ended = stage
    id = nil
    stage = .closed
    deadline = nil
    switch ended {
    case .closed, .ready: return []
    case .connecting: return [.broken(cause.reason, wasReached: false)]
    case .active: return [.broken(cause.reason, wasReached: true)]
    }
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) -> [Event] {
    guard let deadline, deadline <= now else { return [] }
    let wasReached = if case .connecting = stage { false } else { true }
    close(&output)
    return [.broken(localized("the relay did not answer in time"), wasReached: wasReached)]
  }

  // MARK: the request

  private mutating func writeRequest(
    _ request: Request, on id: ConnectionID, at now: Instant, _ output: inout UplinkOutput
  ) -> [Event] {
    var headers: HTTPHeaders = ["Accept": "application/octet-stream"]
    headers.append("Authorization", "Bearer " + request.token)
    if request.bodyBytes != nil { headers.append("Content-Type", "application/octet-stream") }
    if request.first > 0 { headers.append("Range", "bytes=\(request.first)-") }
    parser.expectAnswer(to: request.method)
    output.send(
      id,
      HTTPWriter.request(
        method: request.method,
        target: RequestTarget(path: ["v1", "chunks", request.hash.text]), host: authority,
        headers: headers, body: request.bodyBytes == nil ? nil : [],
        bodyCount: request.bodyBytes))
    stage = .active(RequestState(bytesLeft: request.bodyBytes ?? 0))
    extendDeadline(at: now)
    return requestBody()
  }

  /// Requests more of the body if the connection has room for it.
  private mutating func requestBody() -> [Event] {
    guard case .active(var active) = stage, active.bytesLeft > 0, !active.awaitsBody,
      unsent < Limits.chunkWaitingBytes
    else { return [] }
    active.awaitsBody = true
    stage = .active(active)
    return [.wantsBody]
  }

  /// Extends the deadline after progress. Data in the system's send buffer shows no progress, so
  /// the timeout for the answer to a body that was handed over is longer.
  private mutating func extendDeadline(at now: Instant) {
    guard case .active(let active) = stage, !isPaused else { return }
    let isHandedOver = active.bytesLeft == 0
    deadline = now.advanced(
      milliseconds: isHandedOver
        ? Limits.chunkAnswerMilliseconds : Limits.chunkSilenceMilliseconds)
  }

  /// Ends the request. A connection whose answer came before the whole body was sent cannot be
  /// reused.
  private mutating func endRequest(_ active: RequestState, _ output: inout UplinkOutput) {
    if active.keepsAlive, active.bytesLeft == 0, parser.bufferedBytes == 0 {
      stage = .ready
      deadline = nil
    } else {
      close(&output)
    }
  }
}

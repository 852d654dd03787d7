import LockstepModel
import LockstepWire

/// One connection that carries chunks of files, one request after another: bodies go out and come
/// in as they are, a portion at a time, so that none lies in memory as a whole. Opens itself when
/// there is something to ask, and stays for the next.
///
/// Knows HTTP, and not what the bytes are.
struct ChunkConnection {
  struct Request: Hashable, Sendable {
    var method: String
    var hash: ChunkHash
    var token: String
    /// How many bytes go out; nil: no body.
    var bodyBytes: Int?
    /// Where the answer is to begin; 0: the whole chunk.
    var first = 0
  }

  enum Event: Hashable, Sendable {
    /// The connection takes more of the body: `supply` it.
    case wants
    /// The answer's beginning. Its body comes portion by portion, and then `end`.
    case head(HTTPResponseHead)
    case body([UInt8])
    case end
    /// Nothing more comes of this request. `wasReached`: the connection stood.
    case broken(String, wasReached: Bool)
  }

  private enum Stage {
    /// → connecting
    case closed
    /// → asking, closed
    case connecting(Request)
    /// A connection with nothing to do. → asking, closed
    case ready
    /// The body goes out, the answer is awaited or comes in. → ready, closed
    case asking(Asking)
  }

  private struct Asking {
    /// Of the body, not handed over yet.
    var bytesLeft: Int
    /// The driver was asked for more of the body, which has not come.
    var isSupplied = false
    var keepsAlive = false
  }

  private let authority: String
  private var stage = Stage.closed
  private var parser = HTTPResponseParser()
  private(set) var id: ConnectionID?
  private(set) var deadline: Instant?
  /// Bytes that the connection has not taken, as it last said.
  private(set) var unsent = 0
  private var isPaused = false

  init(to relay: RelayAddress) { authority = relay.authority }

  var isBusy: Bool {
    switch stage {
    case .closed, .ready: false
    case .connecting, .asking: true
    }
  }

  // MARK: what the agent asks

  /// Only where it is not busy.
  mutating func ask(_ request: Request, at now: Instant, _ output: inout UplinkOutput) -> [Event] {
    precondition(!isBusy, "one request at a time")
    output.countRequest()
    if case .ready = stage, let id { return send(request, on: id, at: now, &output) }
    parser = HTTPResponseParser()
    parser.bodyLimit = Limits.chunkBytes
    unsent = 0
    isPaused = false
    id = output.open()
    stage = .connecting(request)
    deadline = now.advanced(milliseconds: Limits.connectMilliseconds)
    return []
  }

  /// The next bytes of the body, after `wants`.
  mutating func supply(_ bytes: [UInt8], at now: Instant, _ output: inout UplinkOutput) -> [Event] {
    guard case .asking(var asking) = stage, let id, asking.isSupplied else { return [] }
    asking.isSupplied = false
    asking.bytesLeft -= bytes.count
    stage = .asking(asking)
    output.send(id, bytes)
    stir(at: now)
    return wanted()
  }

  /// Take no more of the answer for now; how long that lasts is no fault of the relay's.
  mutating func pause(_ output: inout UplinkOutput) {
    guard !isPaused, let id else { return }
    isPaused = true
    deadline = nil
    output.pauseReading(id)
  }

  mutating func resume(at now: Instant, _ output: inout UplinkOutput) {
    guard isPaused, let id else { return }
    isPaused = false
    if isBusy { stir(at: now) }
    output.resumeReading(id)
  }

  mutating func close(_ output: inout UplinkOutput) {
    if let id { output.close(id, .now) }
    id = nil
    stage = .closed
    deadline = nil
  }

  // MARK: what the driver tells

  mutating func opened(at now: Instant, _ output: inout UplinkOutput) -> [Event] {
    guard case .connecting(let request) = stage, let id else { return [] }
    return send(request, on: id, at: now, &output)
  }

  mutating func drained(_ unsent: Int, at now: Instant) -> [Event] {
    let hasMoved = unsent < self.unsent
    self.unsent = unsent
    guard case .asking = stage else { return [] }
    if hasMoved { stir(at: now) }
    return wanted()
  }

  mutating func received(_ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput) -> [Event]
  {
    guard case .asking(var asking) = stage else {
      // Nothing was asked: what a server says on its own (408, for one) is for nobody.
      if case .ready = stage { close(&output) }
      return []
    }
    output.countReceived(bytes.byteCount)
    parser.receive(bytes)
    stir(at: now)
    var events: [Event] = []
    do {
      while let event = try parser.next() {
        switch event {
        case .head(let head):
          asking.keepsAlive = head.keepsAlive
          stage = .asking(asking)
          events.append(.head(head))
        case .body(let bytes): events.append(.body(bytes))
        case .end:
          end(asking, &output)
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
    case .asking: return [.broken(cause.reason, wasReached: true)]
    }
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) -> [Event] {
    guard let deadline, deadline <= now else { return [] }
    let wasReached = if case .connecting = stage { false } else { true }
    close(&output)
    return [.broken("the relay did not answer in time", wasReached: wasReached)]
  }

  // MARK: the request

  private mutating func send(
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
    stage = .asking(Asking(bytesLeft: request.bodyBytes ?? 0))
    stir(at: now)
    return wanted()
  }

  /// Asks for more of the body where the connection takes it.
  private mutating func wanted() -> [Event] {
    guard case .asking(var asking) = stage, asking.bytesLeft > 0, !asking.isSupplied,
      unsent < Limits.chunkWaitingBytes
    else { return [] }
    asking.isSupplied = true
    stage = .asking(asking)
    return [.wants]
  }

  /// Something has moved. What lies with the system on its way out gives no sign, so the answer to
  /// a body that was handed over may take longer.
  private mutating func stir(at now: Instant) {
    guard case .asking(let asking) = stage, !isPaused else { return }
    let isHandedOver = asking.bytesLeft == 0
    deadline = now.advanced(
      milliseconds: isHandedOver
        ? Limits.chunkAnswerMilliseconds : Limits.chunkSilenceMilliseconds)
  }

  /// An answer that came before the whole body leaves a connection that nothing can follow on.
  private mutating func end(_ asking: Asking, _ output: inout UplinkOutput) {
    if asking.keepsAlive, asking.bytesLeft == 0, parser.bufferedBytes == 0 {
      stage = .ready
      deadline = nil
    } else {
      close(&output)
    }
  }
}

import LockstepModel
import LockstepWire

/// One WebSocket to the relay, from connecting to its end. Handles messages, not their meaning for
/// the replica.
struct SocketUplink {
  enum Stage {
    /// → handshaking, over
    case connecting
    /// → greeting, over
    case handshaking(HTTPResponseParser, key: String)
    /// The socket is open; `hello` was sent at this instant, or is about to be. → online, over
    case greeting(WebSocketReader, helloSent: Instant?)
    /// → over
    case online(WebSocketReader)
    case over
  }

  let id: ConnectionID
  let home: HomeCredentials
  var stage = Stage.connecting
  var random: SeededRandom
  /// Deadline for connecting, handshake and welcome; afterwards, for receiving any data.
  var stageDeadline: Instant?
  var keepAliveMilliseconds = Limits.keepAliveMilliseconds
  var unansweredSave: BatchID?
  var unansweredFetch: String?
  var unansweredTime: (id: String, sent: Instant)?
  var answerDeadline: Instant?
  /// Compression of large messages; nil if the relay accepts none.
  var deflate: DeflateTerms.Sending?
  private var nextRequest: UInt64 = 0
  /// Last error that the relay reported, for the close that may follow.
  var blame: Refusal?

  init(
    _ home: HomeCredentials, random: SeededRandom, at now: Instant, _ output: inout UplinkOutput
  ) {
    self.home = home
    self.random = random
    id = output.open()
    stageDeadline = now.advanced(milliseconds: Limits.connectMilliseconds)
  }

  var deadline: Instant? { [stageDeadline, answerDeadline].compactMap { $0 }.min() }

  // MARK: driver events

  mutating func opened(at now: Instant, _ output: inout UplinkOutput) {
    guard case .connecting = stage else { return }
    var nonce: [UInt8] = []
    for _ in 0..<16 { nonce.append(UInt8.random(in: 0...255, using: &random)) }
    let key = WebSocketHandshake.key(nonce: nonce)
    var headers = WebSocketHandshake.offer(key: key, deflate: .withoutContext)
    headers.append("Authorization", "Bearer " + home.token)
    var parser = HTTPResponseParser()
    parser.expectAnswer(to: "GET")
    output.countRequest()
    output.send(
      id,
      HTTPWriter.request(
        method: "GET", target: RequestTarget(path: ["v1", "socket"]), host: home.relay.authority,
        headers: headers))
    stage = .handshaking(parser, key: key)
    stageDeadline = now.advanced(milliseconds: Limits.helloMilliseconds)
  }

  mutating func received(_ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput) {
    switch stage {
    case .connecting, .over: return
    case .handshaking(var parser, let key):
      stage = .over
      parser.receive(bytes)
      stage = .handshaking(parser, key: key)
      readHandshake(at: now, &output)
    case .greeting(var reader, let helloSent):
      stage = .over
      reader.receive(bytes)
      stage = .greeting(reader, helloSent: helloSent)
      readFrames(at: now, &output)
    case .online(var reader):
      stage = .over
      reader.receive(bytes)
      stage = .online(reader)
      stageDeadline = now.advanced(milliseconds: 2 * keepAliveMilliseconds)
      readFrames(at: now, &output)
    }
  }

  mutating func closed(_ cause: CloseCause, _ output: inout UplinkOutput) {
    switch stage {
    case .over: return
    case .connecting: end(.unreachable, cause.reason, isClosed: true, &output)
    case .handshaking, .greeting: end(.rung, cause.reason, isClosed: true, &output)
    case .online: end(.lost, cause.reason, isClosed: true, &output)
    }
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) {
    guard let deadline, deadline <= now else { return }
    switch stage {
    case .over: return
    case .connecting: end(.unreachable, "the relay could not be reached in time", &output)
    case .handshaking, .greeting:
      end(.rung, "the relay did not answer the WebSocket's opening in time", &output)
    case .online:
      let isSilence = stageDeadline == deadline
      end(
        .lost, isSilence ? "nothing was heard of the relay" : "the relay did not answer in time",
        &output)
    }
  }

  // MARK: requests of the agent

  /// Sends the first message. `since`: the device's position; the relay then pushes what was
  /// missed.
  mutating func greet(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
    guard case .greeting(let reader, nil) = stage else { return }
    stage = .greeting(reader, helloSent: now)
    send(.hello(token: nil, since: since), &output)
  }

  mutating func save(_ request: SaveRequest, at now: Instant, _ output: inout UplinkOutput) {
    unansweredSave = request.id
    awaitAnswer(at: now)
    send(.save(request), &output)
  }

  mutating func fetch(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
    let request = takeRequestID()
    unansweredFetch = request
    awaitAnswer(at: now)
    send(.fetch(id: request, FetchQuery(since: since)), &output)
  }

  mutating func measureTime(at now: Instant, _ output: inout UplinkOutput) {
    guard unansweredTime == nil, case .online = stage else { return }
    let request = takeRequestID()
    unansweredTime = (request, now)
    awaitAnswer(at: now)
    send(.time(id: request, t0: JSONNumber(now.nanoseconds / 1_000_000)), &output)
  }

  mutating func close(_ output: inout UplinkOutput) {
    guard stage.isStanding else { return leave(&output) }
    output.send(
      id, WebSocketFrame.close(code: 1001, reason: "", mask: random.mask()))
    output.close(id, .afterSending)
    stage = .over
  }

  // MARK: closing

  mutating func closedByRelay(
    _ code: UInt16?, _ reason: String, _ output: inout UplinkOutput
  ) {
    var refusal: Refusal?
    if let code {
      refusal = RefusalCode.allCases.first { $0.closeCode == code }.map { Refusal($0, reason) }
      if let blame, blame.code.closeCode == code { refusal = blame }
    }
    let isStanding = if case .online = stage { true } else { false }
    let batch = unansweredSave
    // RFC 6455 section 5.5.1: the frame is answered with the same code.
    output.send(id, WebSocketFrame.close(code: code, reason: "", mask: random.mask()))
    output.close(id, .afterSending)
    guard var refusal else {
      let words = "the relay closed the socket (\(code ?? 1005) \(reason))"
      if let code, 4500..<5000 ~= code { return end(.barred, words, isClosed: true, &output) }
      let kind = isStanding || code == 1001 ? UplinkFailure.Kind.lost : .rung
      return end(kind, words, isClosed: true, &output)
    }
    // A message that the relay cannot accept: the batch is the only large or unusual one.
    if let batch, refusal.blamesContent { output.tell(.saveRefused(batch, refusal)) }
    if refusal.detail.isEmpty { refusal.detail = refusal.code.title }
    end(.refused(refusal), refusal.detail, isClosed: true, &output)
  }

  mutating func fail(closeCode: UInt16, _ reason: String, _ output: inout UplinkOutput) {
    let isStanding = if case .online = stage { true } else { false }
    output.send(
      id,
      WebSocketFrame.close(code: closeCode, reason: reason, mask: random.mask()))
    stage = .over
    output.close(id, .afterSending)
    output.tell(
      .failed(
        UplinkFailure(
          kind: isStanding ? .lost : .rung,
          reason: "the relay's words are malformed: \(reason)")))
  }

  mutating func end(
    _ kind: UplinkFailure.Kind, _ reason: String, isClosed: Bool = false,
    _ output: inout UplinkOutput
  ) {
    if isClosed { stage = .over } else { leave(&output) }
    stageDeadline = nil
    answerDeadline = nil
    output.tell(.failed(UplinkFailure(kind: kind, reason: reason)))
  }

  private mutating func leave(_ output: inout UplinkOutput) {
    if case .over = stage { return }
    stage = .over
    output.close(id, .now)
  }

  private mutating func send(_ message: DeviceMessage, _ output: inout UplinkOutput) {
    output.countMessage()
    output.send(
      id, WebSocketFrame.text(message.encoded(), mask: random.mask(), deflate: deflate))
  }

  private mutating func takeRequestID() -> String {
    nextRequest += 1
    return "r\(nextRequest)"
  }

  private mutating func awaitAnswer(at now: Instant) {
    answerDeadline = now.advanced(milliseconds: Limits.answerMilliseconds)
  }

  mutating func settleAnswers() {
    if unansweredSave == nil, unansweredFetch == nil, unansweredTime == nil {
      answerDeadline = nil
    }
  }
}

extension SocketUplink.Stage {
  /// True if frames may be sent.
  var isStanding: Bool {
    switch self {
    case .greeting, .online: true
    case .connecting, .handshaking, .over: false
    }
  }
}

extension RandomNumberGenerator {
  /// Returns a masking key for a client's frame (RFC 6455 section 5.3).
  mutating func mask() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
}

import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime
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
  private var stageDeadline: Instant?
  var keepAliveMilliseconds = Limits.keepAliveMilliseconds
  private var unansweredSave: BatchID?
  private var unansweredFetch: String?
  private var unansweredTime: (id: String, sent: Instant)?
  private var answerDeadline: Instant?
  /// Compression of large messages; nil if the relay accepts none.
  var deflate: DeflateTerms.Sending?
  private var nextRequest: UInt64 = 0
  /// Answer to the handshake that names another relay, until it is complete.
  private var movedAnswer: (head: HTTPResponseHead, body: [UInt8])?
  /// Last error that the relay reported, for the close that may follow.
  private var reportedError: Refusal?

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
    case .handshaking, .greeting: end(.transportFailed, cause.reason, isClosed: true, &output)
    case .online: end(.lost, cause.reason, isClosed: true, &output)
    }
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) {
    guard let deadline, deadline <= now else { return }
    switch stage {
    case .over: return
    case .connecting:
      end(.unreachable, localized("the relay could not be reached in time"), &output)
    case .handshaking, .greeting:
      end(
        .transportFailed, localized("the relay did not answer the WebSocket handshake in time"),
        &output)
    case .online:
      let isSilence = stageDeadline == deadline
      end(
        .lost,
        isSilence
          ? localized("the relay sent no data in time")
          : localized("the relay did not answer in time"),
        &output)
    }
  }

  // MARK: requests of the agent

  /// Sends the first message. `since`: the device's position; the relay then pushes what was
  /// missed.
  mutating func sendHello(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
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
    let request = allocateRequestID()
    unansweredFetch = request
    awaitAnswer(at: now)
    send(.fetch(id: request, FetchQuery(since: since)), &output)
  }

  mutating func measureTime(at now: Instant, _ output: inout UplinkOutput) {
    guard unansweredTime == nil, case .online = stage else { return }
    let request = allocateRequestID()
    unansweredTime = (request, now)
    awaitAnswer(at: now)
    send(.time(id: request, t0: JSONNumber(now.nanoseconds / 1_000_000)), &output)
  }

  /// `position`: up to which the device has everything, for the relay (docs/protocol.md, "Wakes").
  mutating func close(at position: ChangeToken?, _ output: inout UplinkOutput) {
    guard stage.canSendFrames else { return closeNow(&output) }
    output.send(
      id,
      WebSocketFrame.close(code: 1001, reason: position?.text ?? "", mask: random.mask()))
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
      if let reportedError, reportedError.code.closeCode == code { refusal = reportedError }
    }
    let wasOnline = if case .online = stage { true } else { false }
    let batch = unansweredSave
    // RFC 6455 section 5.5.1: the frame is answered with the same code.
    output.send(id, WebSocketFrame.close(code: code, reason: "", mask: random.mask()))
    output.close(id, .afterSending)
    guard var refusal else {
      let text = localized(
        "the relay closed the socket ({code} {reason})",
        ["code": "\(code ?? 1005)", "reason": reason])
      if let code, 4500..<5000 ~= code { return end(.barred, text, isClosed: true, &output) }
      let kind = wasOnline || code == 1001 ? UplinkFailure.Kind.lost : .transportFailed
      return end(kind, text, isClosed: true, &output)
    }
    // A message that the relay cannot accept: the batch is the only large or unusual one.
    if let batch, refusal.blamesContent { output.emit(.saveRefused(batch, refusal)) }
    if refusal.detail.isEmpty { refusal.detail = refusal.code.title }
    end(.refused(refusal), refusal.detail, isClosed: true, &output)
  }

  mutating func fail(closeCode: UInt16, _ reason: String, _ output: inout UplinkOutput) {
    let wasOnline = if case .online = stage { true } else { false }
    output.send(
      id,
      WebSocketFrame.close(code: closeCode, reason: reason, mask: random.mask()))
    stage = .over
    output.close(id, .afterSending)
    output.emit(
      .failed(
        UplinkFailure(
          kind: wasOnline ? .lost : .transportFailed,
          reason: localized("the relay sent a malformed message: {reason}", ["reason": reason]))))
  }

  mutating func end(
    _ kind: UplinkFailure.Kind, _ reason: String, isClosed: Bool = false,
    _ output: inout UplinkOutput
  ) {
    if isClosed { stage = .over } else { closeNow(&output) }
    stageDeadline = nil
    answerDeadline = nil
    output.emit(.failed(UplinkFailure(kind: kind, reason: reason)))
  }

  private mutating func closeNow(_ output: inout UplinkOutput) {
    if case .over = stage { return }
    stage = .over
    output.close(id, .now)
  }

  private mutating func send(_ message: DeviceMessage, _ output: inout UplinkOutput) {
    output.countMessage()
    output.send(
      id, WebSocketFrame.text(message.encoded(), mask: random.mask(), deflate: deflate))
  }

  private mutating func allocateRequestID() -> String {
    nextRequest += 1
    return "r\(nextRequest)"
  }

  private mutating func awaitAnswer(at now: Instant) {
    answerDeadline = now.advanced(milliseconds: Limits.answerMilliseconds)
  }

  mutating func clearAnswerDeadlineIfIdle() {
    if unansweredSave == nil, unansweredFetch == nil, unansweredTime == nil {
      answerDeadline = nil
    }
  }
}

extension SocketUplink.Stage {
  /// True if frames may be sent.
  var canSendFrames: Bool {
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

/// Messages of the relay on the socket, from the answer to the handshake to the closing frame.
extension SocketUplink {
  mutating func readHandshake(at now: Instant, _ output: inout UplinkOutput) {
    guard case .handshaking(var parser, let key) = stage else { return }
    var head = movedAnswer?.head
    var body = movedAnswer?.body ?? []
    var isComplete = false
    do {
      while let event = try parser.next() {
        switch event {
        case .head(let found):
          head = found
          if found.status == 101 {
            let agreed = try WebSocketHandshake.check(found, key: key, deflate: .withoutContext)
            return completeHandshake(agreed, rest: parser.takeRest(), at: now, &output)
          }
        case .body(let bytes): body += bytes.prefix(max(0, Limits.smallBodyBytes - body.count))
        case .end: isComplete = true
        }
      }
    } catch {
      return end(.transportFailed, error.detail, &output)
    }
    stage = .handshaking(parser, key: key)
    guard let head else { return }
    if head.status == RefusalCode.accountMoved.status, !isComplete {
      // Without its body, it would count as an intermediary's answer.
      movedAnswer = (head, body)
      return
    }
    handleHandshakeRefusal(head, body, &output)
  }

  /// Handles a refused handshake. The relay itself refuses with these codes; any other answer comes
  /// from an intermediary that does not support WebSocket.
  private mutating func handleHandshakeRefusal(
    _ head: HTTPResponseHead, _ body: [UInt8], _ output: inout UplinkOutput
  ) {
    let relayRefusal = Refusal.fromRelay(status: head.status, headers: head.headers, body: body)
    if let relayRefusal, relayRefusal.code.status == head.status,
      [401, 402, 429, 500, 503].contains(head.status) || relayRefusal.code == .accountMoved
    {
      end(.refused(relayRefusal), relayRefusal.detail, &output)
    } else if relayRefusal == nil, [429, 500, 503].contains(head.status) {
      // A proxy reports this about the relay behind it, for any transport.
      let refusal = Refusal.intercepted(status: head.status, headers: head.headers)
      end(.refused(refusal), refusal.detail, &output)
    } else {
      end(
        .transportFailed,
        localized(
          "the WebSocket handshake was answered with status {status}", ["status": "\(head.status)"]),
        &output
      )
    }
  }

  private mutating func completeHandshake(
    _ agreed: DeflateTerms?, rest: [UInt8], at now: Instant, _ output: inout UplinkOutput
  ) {
    deflate = agreed?.sending
    var reader = WebSocketReader(
      role: .client, maximumMessageBytes: Limits.relayMessageBytes, deflate: agreed)
    if !rest.isEmpty { reader.receive(rest.span.bytes) }
    stage = .greeting(reader, helloSent: nil)
    stageDeadline = now.advanced(milliseconds: Limits.helloMilliseconds)
    output.emit(.readyForHello)
    readFrames(at: now, &output)
  }

  mutating func readFrames(at now: Instant, _ output: inout UplinkOutput) {
    do {
      while let event = try nextEvent() {
        switch event {
        case .text(let bytes): handleMessage(bytes, at: now, &output)
        case .binary:
          return fail(closeCode: 1003, "text was expected", &output)
        case .ping(let payload):
          output.send(id, WebSocketFrame.pong(payload, mask: random.mask()))
        case .pong: break
        case .close(let code, let reason): return closedByRelay(code, reason, &output)
        }
      }
    } catch {
      fail(closeCode: error.closeCode, error.reason, &output)
    }
  }

  private mutating func nextEvent() throws(WebSocketFault) -> WebSocketEvent? {
    switch stage {
    case .connecting, .handshaking, .over: return nil
    case .greeting(var reader, let helloSent):
      stage = .over
      defer { stage = .greeting(reader, helloSent: helloSent) }
      return try reader.next()
    case .online(var reader):
      stage = .over
      defer { stage = .online(reader) }
      return try reader.next()
    }
  }

  private mutating func handleMessage(
    _ bytes: [UInt8], at now: Instant, _ output: inout UplinkOutput
  ) {
    let message: RelayMessage
    do {
      message = try RelayMessage.decode(bytes)
    } catch {
      return fail(closeCode: 4400, error.detail, &output)
    }
    if case .greeting(let reader, let helloSent) = stage {
      return readWelcome(message, reader, helloSent, at: now, &output)
    }
    switch message {
    case .welcome, .unknown: break
    case .saved(let batch, let answer):
      if unansweredSave == batch { unansweredSave = nil }
      clearAnswerDeadlineIfIdle()
      output.emit(.saved(batch, answer))
    case .changes(let request, let page):
      guard let request else { return output.emit(.page(page, .push)) }
      guard request == unansweredFetch else { return }
      unansweredFetch = nil
      clearAnswerDeadlineIfIdle()
      output.emit(.page(page, .fetch))
    case .changed(let token): output.emit(.hint(token))
    case .time(let request, _, let relayReceived, let relaySent):
      guard let asked = unansweredTime, asked.id == request else { return }
      guard RelayClock.isPlausible(relayReceived), RelayClock.isPlausible(relaySent) else {
        return fail(closeCode: 4400, "the time is out of range", &output)
      }
      unansweredTime = nil
      clearAnswerDeadlineIfIdle()
      output.emit(
        .clock(
          RelayClock.Sample(
            sent: asked.sent, received: now,
            relayTime: relayReceived + (relaySent - relayReceived) / 2,
            heldMilliseconds: relaySent - relayReceived)))
    case .reconnect(let within): output.emit(.reconnectWithin(within))
    case .error(let request, let refusal): readError(request, refusal, &output)
    }
  }

  private mutating func readWelcome(
    _ message: RelayMessage, _ reader: WebSocketReader, _ helloSent: Instant?, at now: Instant,
    _ output: inout UplinkOutput
  ) {
    switch message {
    case .welcome(let account, let device, let token, let time, let keepAlive):
      guard account == home.account, device == home.device else {
        let detail = "The relay identifies this device as another one; join again in a new home."
        return end(.refused(Refusal(.badToken, detail)), detail, &output)
      }
      guard RelayClock.isPlausible(time) else {
        return fail(closeCode: 4400, "the time is out of range", &output)
      }
      stage = .online(reader)
      keepAliveMilliseconds = max(1_000, min(keepAlive, Limits.keepAliveCeilingMilliseconds))
      stageDeadline = now.advanced(milliseconds: 2 * keepAliveMilliseconds)
      if let helloSent {
        output.emit(.clock(RelayClock.Sample(sent: helloSent, received: now, relayTime: time)))
      }
      output.emit(.online(newest: token))
    case .error(_, let refusal):
      guard refusal.code.advice == .fetchFirst else {
        return end(.refused(refusal), refusal.detail, &output)
      }
      output.emit(.fetchRefused(refusal, .push))
    case .saved, .changes, .changed, .time, .reconnect, .unknown: break
    }
  }

  private mutating func readError(
    _ request: String?, _ refusal: Refusal, _ output: inout UplinkOutput
  ) {
    if let batch = unansweredSave, request == batch.text {
      unansweredSave = nil
      clearAnswerDeadlineIfIdle()
      return output.emit(.saveRefused(batch, refusal))
    }
    if let fetch = unansweredFetch, request == fetch {
      unansweredFetch = nil
      clearAnswerDeadlineIfIdle()
      return output.emit(.fetchRefused(refusal, .fetch))
    }
    if let asked = unansweredTime, request == asked.id {
      unansweredTime = nil
      return clearAnswerDeadlineIfIdle()
    }
    if request == nil, refusal.code.advice == .fetchFirst {
      return output.emit(.fetchRefused(refusal, .push))
    }
    // The close that follows reports other errors; a missing answer is detected by its deadline.
    if request == nil { reportedError = refusal }
  }
}

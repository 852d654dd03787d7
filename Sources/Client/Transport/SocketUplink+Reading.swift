import LockstepModel
import LockstepWire

/// Messages of the relay on the socket, from the answer to the handshake to the closing frame.
extension SocketUplink {
  mutating func readHandshake(at now: Instant, _ output: inout UplinkOutput) {
    guard case .handshaking(var parser, let key) = stage else { return }
    var head: HTTPResponseHead?
    var body: [UInt8] = []
    do {
      while let event = try parser.next() {
        switch event {
        case .head(let found):
          head = found
          if found.status == 101 {
            let agreed = try WebSocketHandshake.check(found, key: key, deflate: .withoutContext)
            return upgrade(agreed, rest: parser.takeRest(), at: now, &output)
          }
        case .body(let bytes): body += bytes
        case .end: break
        }
      }
    } catch {
      return end(.rung, error.detail, &output)
    }
    stage = .handshaking(parser, key: key)
    guard let head else { return }
    refuseHandshake(head, body, &output)
  }

  /// Handles a refused handshake. The relay itself refuses with these codes; any other answer comes
  /// from an intermediary that does not support WebSocket.
  private mutating func refuseHandshake(
    _ head: HTTPResponseHead, _ body: [UInt8], _ output: inout UplinkOutput
  ) {
    let told = Refusal.told(status: head.status, headers: head.headers, body: body)
    if let told, told.code.status == head.status, [401, 402, 429, 500, 503].contains(head.status) {
      end(.refused(told), told.detail, &output)
    } else if told == nil, [429, 500, 503].contains(head.status) {
      // A proxy reports this about the relay behind it, for any transport.
      let refusal = Refusal.intercepted(status: head.status, headers: head.headers)
      end(.refused(refusal), refusal.detail, &output)
    } else {
      end(.rung, "the WebSocket's opening was answered with status \(head.status)", &output)
    }
  }

  private mutating func upgrade(
    _ agreed: DeflateTerms?, rest: [UInt8], at now: Instant, _ output: inout UplinkOutput
  ) {
    deflate = agreed?.sending
    var reader = WebSocketReader(
      role: .client, maximumMessageBytes: Limits.relayMessageBytes, deflate: agreed)
    if !rest.isEmpty { reader.receive(rest.span.bytes) }
    stage = .greeting(reader, helloSent: nil)
    stageDeadline = now.advanced(milliseconds: Limits.helloMilliseconds)
    output.tell(.readyToGreet)
    readFrames(at: now, &output)
  }

  mutating func readFrames(at now: Instant, _ output: inout UplinkOutput) {
    do {
      while let event = try nextEvent() {
        switch event {
        case .text(let bytes): read(bytes, at: now, &output)
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

  private mutating func read(_ bytes: [UInt8], at now: Instant, _ output: inout UplinkOutput) {
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
      settleAnswers()
      output.tell(.saved(batch, answer))
    case .changes(let request, let page):
      guard let request else { return output.tell(.page(page, .push)) }
      guard request == unansweredFetch else { return }
      unansweredFetch = nil
      settleAnswers()
      output.tell(.page(page, .fetch))
    case .changed(let token): output.tell(.hint(token))
    case .time(let request, _, let relayReceived, let relaySent):
      guard let asked = unansweredTime, asked.id == request else { return }
      guard RelayClock.isPlausible(relayReceived), RelayClock.isPlausible(relaySent) else {
        return fail(closeCode: 4400, "the time is out of range", &output)
      }
      unansweredTime = nil
      settleAnswers()
      output.tell(
        .clock(
          RelayClock.Sample(
            sent: asked.sent, received: now,
            relayTime: relayReceived + (relaySent - relayReceived) / 2,
            heldMilliseconds: relaySent - relayReceived)))
    case .reconnect(let within): output.tell(.reconnectWithin(within))
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
        let detail = "The relay takes this device for another one; join again in a new home."
        return end(.refused(Refusal(.badToken, detail)), detail, &output)
      }
      guard RelayClock.isPlausible(time) else {
        return fail(closeCode: 4400, "the time is out of range", &output)
      }
      stage = .online(reader)
      keepAliveMilliseconds = max(1_000, min(keepAlive, Limits.keepAliveCeilingMilliseconds))
      stageDeadline = now.advanced(milliseconds: 2 * keepAliveMilliseconds)
      if let helloSent {
        output.tell(.clock(RelayClock.Sample(sent: helloSent, received: now, relayTime: time)))
      }
      output.tell(.online(newest: token))
    case .error(_, let refusal):
      guard refusal.code.advice == .fetchFirst else {
        return end(.refused(refusal), refusal.detail, &output)
      }
      output.tell(.fetchRefused(refusal, .push))
    case .saved, .changes, .changed, .time, .reconnect, .unknown: break
    }
  }

  private mutating func readError(
    _ request: String?, _ refusal: Refusal, _ output: inout UplinkOutput
  ) {
    if let batch = unansweredSave, request == batch.text {
      unansweredSave = nil
      settleAnswers()
      return output.tell(.saveRefused(batch, refusal))
    }
    if let fetch = unansweredFetch, request == fetch {
      unansweredFetch = nil
      settleAnswers()
      return output.tell(.fetchRefused(refusal, .fetch))
    }
    if let asked = unansweredTime, request == asked.id {
      unansweredTime = nil
      return settleAnswers()
    }
    if request == nil, refusal.code.advice == .fetchFirst {
      return output.tell(.fetchRefused(refusal, .push))
    }
    // The close that follows reports other errors; a missing answer is detected by its deadline.
    blame = request == nil ? refusal : blame
  }
}

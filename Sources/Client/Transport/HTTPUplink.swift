import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Uplink to the relay by HTTP: one connection for requests that are answered at once, one on which
/// a long-poll may wait, and one that may hold a stream of events.
struct HTTPUplink {
  /// Requests on the first connection, one at a time.
  private enum Call: Hashable {
    case time
    case save(SaveRequest)
    case fetch(since: ChangeToken?)
  }

  private let home: HomeCredentials
  private var calls: HTTPExchange
  private var pending: [Call] = []
  private var current: Call?
  private var waiting: HTTPExchange
  /// Start of the long-poll, and the time for which it asks to be held.
  private var held: (since: Instant, milliseconds: Int64)?
  var stream: StreamExchange
  private var isOnline = false
  /// The last reported value.
  private var reconnectWithin: Int64 = 0
  private(set) var isOver = false

  /// Asks for the relay's time, which shows that the relay is reachable.
  init(_ home: HomeCredentials, at now: Instant, _ output: inout UplinkOutput) {
    self.home = home
    calls = HTTPExchange(to: home.relay)
    waiting = HTTPExchange(to: home.relay)
    stream = StreamExchange(home)
    measureTime(at: now, &output)
  }

  var deadline: Instant? {
    [calls.deadline, waiting.deadline, stream.deadline].compactMap { $0 }.min()
  }

  func owns(_ id: ConnectionID) -> Bool {
    calls.id == id || waiting.id == id || stream.id == id
  }

  // MARK: requests of the agent

  mutating func measureTime(at now: Instant, _ output: inout UplinkOutput) {
    guard current != .time, !pending.contains(.time) else { return }
    enqueueCall(.time, at: now, &output)
  }

  mutating func save(_ request: SaveRequest, at now: Instant, _ output: inout UplinkOutput) {
    enqueueCall(.save(request), at: now, &output)
  }

  mutating func fetch(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
    enqueueCall(.fetch(since: since), at: now, &output)
  }

  mutating func wait(
    since: ChangeToken, milliseconds: Int64, at now: Instant, _ output: inout UplinkOutput
  ) {
    guard !isOver else { return }
    // The protocol uses whole seconds.
    let seconds = max(1, milliseconds / 1_000)
    held = (now, seconds * 1_000)
    waiting.sendRequest(
      HTTPExchange.Request(
        method: "GET", target: HTTPUplink.changes(since: since, seconds: seconds),
        token: home.token, milliseconds: seconds * 1_000 + Limits.longPollMarginMilliseconds),
      at: now, &output)
  }

  mutating func close(_ output: inout UplinkOutput) {
    isOver = true
    calls.close(&output)
    waiting.close(&output)
    stream.close(&output)
  }

  // MARK: driver events

  mutating func opened(_ id: ConnectionID, at now: Instant, _ output: inout UplinkOutput) {
    if calls.id == id { calls.opened(at: now, &output) }
    if waiting.id == id { waiting.opened(at: now, &output) }
    if stream.id == id { stream.opened(&output) }
  }

  mutating func received(
    _ id: ConnectionID, _ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput
  ) {
    if calls.id == id {
      if let result = calls.received(bytes, at: now, &output) {
        handleCallResult(result, at: now, &output)
      }
    } else if waiting.id == id {
      if let result = waiting.received(bytes, at: now, &output) {
        handleLongPollResult(result, at: now, &output)
      }
    } else if stream.id == id {
      handleStreamOutcomes(stream.received(bytes, at: now, &output), &output)
    }
  }

  mutating func closed(
    _ id: ConnectionID, _ cause: CloseCause, at now: Instant, _ output: inout UplinkOutput
  ) {
    if calls.id == id {
      if let result = calls.closed(cause, at: now, &output) {
        handleCallResult(result, at: now, &output)
      }
    } else if waiting.id == id {
      if let result = waiting.closed(cause, at: now, &output) {
        handleLongPollResult(result, at: now, &output)
      }
    } else if stream.id == id {
      handleStreamOutcomes(stream.closed(cause, &output), &output)
    }
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) {
    if let result = calls.expired(at: now, &output) { handleCallResult(result, at: now, &output) }
    guard !isOver else { return }
    if let result = waiting.expired(at: now, &output) {
      handleLongPollResult(result, at: now, &output)
    }
    handleStreamOutcomes(stream.expired(at: now, &output), &output)
  }

  // MARK: calls

  private mutating func enqueueCall(_ call: Call, at now: Instant, _ output: inout UplinkOutput) {
    guard !isOver else { return }
    pending.append(call)
    sendNextCall(at: now, &output)
  }

  private mutating func sendNextCall(at now: Instant, _ output: inout UplinkOutput) {
    guard current == nil, !isOver, !pending.isEmpty else { return }
    let call = pending.removeFirst()
    current = call
    calls.sendRequest(request(call), at: now, &output)
  }

  private func request(_ call: Call) -> HTTPExchange.Request {
    let milliseconds = Limits.answerMilliseconds
    return switch call {
    case .time:
      HTTPExchange.Request(
        method: "GET", target: RequestTarget(path: ["v1", "time"]), token: nil,
        milliseconds: isOnline ? milliseconds : Limits.connectMilliseconds)
    case .save(let save):
      HTTPExchange.Request(
        method: "POST", target: RequestTarget(path: ["v1", "zones", save.zone.text, "records"]),
        token: home.token, body: save.encodedBody(), milliseconds: milliseconds)
    case .fetch(let since):
      HTTPExchange.Request(
        method: "GET", target: HTTPUplink.changes(since: since, seconds: nil), token: home.token,
        milliseconds: milliseconds)
    }
  }

  private static func changes(since: ChangeToken?, seconds: Int64?) -> RequestTarget {
    var query: [RequestTarget.QueryItem] = []
    if let since { query.append(RequestTarget.QueryItem(name: "since", value: since.text)) }
    if let seconds { query.append(RequestTarget.QueryItem(name: "wait", value: String(seconds))) }
    return RequestTarget(path: ["v1", "changes"], query: query)
  }

  private mutating func handleCallResult(
    _ result: HTTPExchange.Result, at now: Instant, _ output: inout UplinkOutput
  ) {
    guard let call = current else { return }
    current = nil
    switch result {
    case .unreachable(let reason): return fail(.unreachable, reason, &output)
    case .unanswered(let reason):
      // No other HTTP transport would do better.
      return fail(isOnline ? .lost : .unreachable, reason, &output)
    case .answered(let status, let headers, let body, let sent):
      if let refusal = Refusal.fromRelay(status: status, headers: headers, body: body) {
        handleRefusal(call, refusal, &output)
      } else if !handleAnswer(call, status, body, sent: sent, at: now, &output) {
        handleInterception(call, status, headers, &output)
      } else if call == .time {
        readReconnectWithin(headers, &output)
      }
    }
    sendNextCall(at: now, &output)
  }

  /// Returns true if it was a valid answer to the call.
  private mutating func handleAnswer(
    _ call: Call, _ status: Int, _ body: [UInt8], sent: Instant, at now: Instant,
    _ output: inout UplinkOutput
  ) -> Bool {
    // An atomic batch that failed is answered with 409, with the results in the body.
    guard status == 200 || status == 409 else { return false }
    do {
      switch call {
      case .time:
        let time = try TimeAnswer.decoded(body: body).time
        guard RelayClock.isPlausible(time) else { return false }
        output.emit(.clock(RelayClock.Sample(sent: sent, received: now, relayTime: time)))
        if !isOnline { output.emit(.online(newest: nil)) }
        isOnline = true
      case .save(let request):
        output.emit(.saved(request.id, try SaveAnswer.decoded(body: body)))
      case .fetch:
        output.emit(.page(try ChangePage.decoded(body: body), .fetch))
      }
      return true
    } catch {
      return false
    }
  }

  private mutating func handleRefusal(
    _ call: Call, _ refusal: Refusal, _ output: inout UplinkOutput
  ) {
    switch call {
    case .time: fail(.refused(refusal), refusal.detail, &output)
    case .save(let request): output.emit(.saveRefused(request.id, refusal))
    case .fetch: output.emit(.fetchRefused(refusal, .fetch))
    }
  }

  /// Handles an answer of an intermediary (a portal's page, a proxy): an outage, which may be
  /// temporary.
  private mutating func handleInterception(
    _ call: Call, _ status: Int, _ headers: HTTPHeaders, _ output: inout UplinkOutput
  ) {
    let refusal = Refusal.intercepted(status: status, headers: headers)
    switch call {
    case .time: fail(isOnline ? .lost : .unreachable, refusal.detail, &output)
    case .save(let request):
      output.emit(
        status == 413 ? .saveTooLarge(request.id, refusal) : .saveRefused(request.id, refusal))
    case .fetch: output.emit(.fetchRefused(refusal, .fetch))
    }
  }

  private mutating func handleLongPollResult(
    _ result: HTTPExchange.Result, at now: Instant, _ output: inout UplinkOutput
  ) {
    guard let held else { return }
    self.held = nil
    let milliseconds = now.milliseconds(since: held.since)
    let isSilent = milliseconds >= held.milliseconds
    guard case .answered(let status, let headers, let body, _) = result else {
      return output.emit(.longPollCut(heldMilliseconds: isSilent ? nil : milliseconds))
    }
    if let refusal = Refusal.fromRelay(status: status, headers: headers, body: body) {
      return output.emit(.fetchRefused(refusal, .longPoll))
    }
    do {
      guard status == 200 else { throw Refusal.intercepted(status: status, headers: headers) }
      let page = try ChangePage.decoded(body: body)
      readReconnectWithin(headers, &output)
      if 2 * milliseconds >= held.milliseconds { output.emit(.longPollServed) }
      output.emit(.page(page, .longPoll))
    } catch {
      // The next request shows if the relay is reachable, whatever cut the long-poll.
      output.emit(.longPollCut(heldMilliseconds: milliseconds))
    }
  }

  /// A relay with few devices sends no such header.
  private mutating func readReconnectWithin(_ headers: HTTPHeaders, _ output: inout UplinkOutput) {
    let within = headers["Lockstep-Reconnect-Within"].flatMap { Int64($0) } ?? 0
    guard within != reconnectWithin else { return }
    reconnectWithin = within
    output.emit(.reconnectWithin(within))
  }

  mutating func fail(
    _ kind: UplinkFailure.Kind, _ reason: String, _ output: inout UplinkOutput
  ) {
    guard !isOver else { return }
    close(&output)
    output.emit(.failed(UplinkFailure(kind: kind, reason: reason)))
  }
}

extension Refusal {
  /// Returns the relay's own refusal, with the header's data; nil if an intermediary has answered.
  static func fromRelay(status: Int, headers: HTTPHeaders, body: [UInt8]) -> Refusal? {
    let type = headers["Content-Type"]?.split(separator: ";").first
    guard type?.lowercased() == "application/problem+json",
      var refusal = Refusal.problem(body, status: status)
    else { return nil }
    refusal.retryAfterMilliseconds = refusal.retryAfterMilliseconds ?? headers.retryAfter
    return refusal
  }

  /// Returns the refusal for an intermediary's answer: the outcome of the request is unknown, and
  /// it is retried later, unless it is too large for the path.
  static func intercepted(status: Int, headers: HTTPHeaders) -> Refusal {
    status == 413
      ? Refusal(
        .bodyTooLarge,
        localized(
          "something between this device and the relay refuses large requests (status 413)"),
        retryAfterMilliseconds: headers.retryAfter)
      : Refusal(
        .internalError,
        localized(
          "something between this device and the relay answered in its place, with status {status}",
          ["status": "\(status)"]),
        retryAfterMilliseconds: headers.retryAfter)
  }

  /// True if an earlier version of the program took an intermediary's answer for the relay's, and
  /// gave up a change because of it. The text is that of version 0.1, as homes have stored it.
  var wasIntercepted: Bool { detail.hasSuffix(" and no problem of ours.") }
}

extension HTTPHeaders {
  /// Value in milliseconds; nil if it is not in seconds.
  fileprivate var retryAfter: Int64? {
    guard let text = self["Retry-After"], let seconds = Int64(text), seconds >= 0,
      seconds < 1_000_000
    else { return nil }
    return seconds * 1_000
  }
}

/// Events of the stream that an uplink holds besides its calls.
extension HTTPUplink {
  /// Opens a stream that begins at `since`; valid only without a stream.
  mutating func listen(since: ChangeToken, at now: Instant, _ output: inout UplinkOutput) {
    guard !isOver else { return }
    stream.listen(since: since, at: now, &output)
  }

  mutating func handleStreamOutcomes(
    _ outcomes: [StreamExchange.Outcome], _ output: inout UplinkOutput
  ) {
    for outcome in outcomes where !isOver {
      switch outcome {
      case .event(.changes(let page)): output.emit(.page(page, .stream))
      case .event(.changed(let token)): output.emit(.hint(token))
      case .event(.unknown): break
      case .event(.error(let refusal)): endStream(refusal, &output)
      case .refused(let refusal): output.emit(.fetchRefused(refusal, .stream))
      case .unreachable(let reason): fail(.unreachable, reason, &output)
      case .unanswered(let reason): fail(.transportFailed, reason, &output)
      case .ended(let reason): fail(.lost, reason, &output)
      }
    }
  }

  /// Handles the relay's reason for ending the stream. If only the cursor is at fault, the other
  /// requests continue.
  private mutating func endStream(_ refusal: Refusal, _ output: inout UplinkOutput) {
    stream.close(&output)
    if refusal.code.advice == .fetchFirst {
      output.emit(.fetchRefused(refusal, .stream))
    } else {
      fail(.refused(refusal), refusal.detail, &output)
    }
  }
}

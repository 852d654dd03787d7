import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepWire

/// One connection that holds a stream of events, from the request to the stream's end. Handles the
/// format of the stream, not the meaning of the events for the device.
struct StreamExchange {
  enum Outcome: Hashable, Sendable {
    case event(RelayEvent)
    /// An answer that is not a stream.
    case refused(Refusal)
    case unreachable(String)
    /// The connection was established, and the answer was not a stream.
    case unanswered(String)
    /// The stream was open, and has ended.
    case ended(String)
  }

  private enum Stage {
    /// → connecting
    case closed
    /// → requesting, closed
    case connecting(since: ChangeToken)
    /// → streaming, refused, closed
    case requesting
    /// The body of another answer is being received. → closed
    case refused(HTTPResponseHead, body: [UInt8])
    /// → closed
    case streaming(EventStreamReader)
  }

  private let home: HomeCredentials
  private var stage = Stage.closed
  private var parser = HTTPResponseParser()
  private(set) var id: ConnectionID?
  /// Deadline for the head of the answer; afterwards, for receiving any data.
  private(set) var deadline: Instant?
  private var silenceMilliseconds = Limits.streamSilenceMilliseconds

  init(_ home: HomeCredentials) { self.home = home }

  // MARK: requests of the uplink

  /// Opens a stream that begins at the device's position.
  mutating func listen(since: ChangeToken, at now: Instant, _ output: inout UplinkOutput) {
    close(&output)
    id = output.open()
    stage = .connecting(since: since)
    deadline = now.advanced(milliseconds: Limits.answerMilliseconds)
  }

  mutating func close(_ output: inout UplinkOutput) {
    if let id { output.close(id, .now) }
    id = nil
    stage = .closed
    deadline = nil
  }

  // MARK: driver events

  mutating func opened(_ output: inout UplinkOutput) {
    guard case .connecting(let since) = stage, let id else { return }
    var headers: HTTPHeaders = ["Accept": "text/event-stream"]
    headers.append("Authorization", "Bearer " + home.token)
    let target = RequestTarget(
      path: ["v1", "events"], query: [RequestTarget.QueryItem(name: "since", value: since.text)])
    parser = HTTPResponseParser()
    parser.bodyLimit = Limits.relayMessageBytes
    parser.expectAnswer(to: "GET")
    stage = .requesting
    output.countRequest()
    output.send(
      id,
      HTTPWriter.request(
        method: "GET", target: target, host: home.relay.authority, headers: headers))
  }

  mutating func received(_ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput)
    -> [Outcome]
  {
    if case .closed = stage { return [] }
    parser.receive(bytes)
    var outcomes: [Outcome] = []
    do {
      while let event = try parser.next() {
        switch event {
        case .head(let head): receiveHead(head)
        case .body(let chunk):
          if try receiveBody(chunk, &outcomes) {
            close(&output)
            return outcomes
          }
        case .end: outcomes.append(end(localized("the relay ended the stream"), &output))
        }
        if case .closed = stage { return outcomes }
      }
    } catch {
      return outcomes + [end(error.detail, &output)]
    }
    // Any data, also a heartbeat, shows that the stream is alive.
    if case .streaming = stage { deadline = now.advanced(milliseconds: silenceMilliseconds) }
    return outcomes
  }

  mutating func closed(_ cause: CloseCause, _ output: inout UplinkOutput) -> [Outcome] {
    id = nil
    return [end(cause.reason, &output)]
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) -> [Outcome] {
    guard let deadline, deadline <= now else { return [] }
    if case .streaming = stage {
      return [end(localized("the relay sent no data in time"), &output)]
    }
    return [end(localized("the relay did not answer in time"), &output)]
  }

  // MARK: the answer

  private mutating func receiveHead(_ head: HTTPResponseHead) {
    guard head.status == 200, StreamExchange.isStream(head.headers["Content-Type"]) else {
      stage = .refused(head, body: [])
      return
    }
    // A stream has no length; its lines and events are bounded.
    parser.bodyLimit = .max
    if let text = head.headers["Lockstep-Keep-Alive"], let keepAlive = Int64(text) {
      let bounded = max(1_000, min(keepAlive, Limits.keepAliveCeilingMilliseconds))
      silenceMilliseconds = 2 * bounded
    }
    stage = .streaming(EventStreamReader(limit: Limits.relayMessageBytes))
  }

  private static func isStream(_ type: String?) -> Bool {
    guard let type else { return false }
    return type.prefix { $0 != ";" && $0 != " " }.lowercased() == "text/event-stream"
  }

  /// Returns true after an error event, which is the relay's last message.
  private mutating func receiveBody(
    _ chunk: [UInt8], _ outcomes: inout [Outcome]
  ) throws(Refusal) -> Bool {
    switch stage {
    case .closed, .connecting, .requesting: break
    case .refused(let head, var body):
      stage = .closed
      body += chunk
      stage = .refused(head, body: body)
    case .streaming(var reader):
      stage = .closed
      defer { stage = .streaming(reader) }
      reader.receive(chunk.span.bytes)
      while let event = try reader.next() {
        let decoded = try RelayEvent.decode(event)
        outcomes.append(.event(decoded))
        if case .error = decoded { return true }
      }
    }
    return false
  }

  /// Ends the connection. The outcome depends on the stage that it had reached.
  private mutating func end(_ reason: String, _ output: inout UplinkOutput) -> Outcome {
    let ended = stage
    close(&output)
    switch ended {
    case .closed, .connecting: return .unreachable(reason)
    case .requesting: return .unanswered(reason)
    case .streaming: return .ended(reason)
    case .refused(let head, _) where head.status == 200:
      return .unanswered(localized("the answer is not an event stream"))
    case .refused(let head, let body):
      let refusal = Refusal.fromRelay(status: head.status, headers: head.headers, body: body)
      return refusal.map { .refused($0) }
        ?? .unanswered(
          localized(
            "the answer with status {status} is not from the relay", ["status": "\(head.status)"]))
    }
  }
}

import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// A connection that holds a stream, byte by byte.
struct StreamExchangeTests {
  private let start = Instant(nanoseconds: 0)
  private let token = ChangeToken(generation: 1, sequence: 4)
  private let next = ChangeToken(generation: 1, sequence: 5)

  private struct Harness {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = StreamExchange(
      HomeCredentials(
        relay: RelayAddress(host: "relay", port: 80), account: AccountID(rawValue: 7),
        device: DeviceID(rawValue: 1), token: "secret"))
    var sent: [String] = []
    var isOpen = false
    var opened = 0

    mutating func play() {
      while let action = output.nextAction() {
        switch action {
        case .open:
          isOpen = true
          opened += 1
          exchange.opened(&output)
        case .send(_, let bytes): sent.append(String(decoding: bytes, as: UTF8.self))
        case .close: isOpen = false
        case .pauseReading, .resumeReading: break
        }
      }
    }

    mutating func receive(_ bytes: [UInt8], at now: Instant) -> [StreamExchange.Outcome] {
      exchange.received(bytes.span.bytes, at: now, &output)
    }
  }

  private func harness() -> Harness {
    var harness = Harness()
    harness.exchange.listen(since: token, at: start, &harness.output)
    harness.play()
    return harness
  }

  private func head(_ headers: HTTPHeaders = [:], isChunked: Bool = true) -> [UInt8] {
    var headers = headers
    headers.append("Content-Type", "text/event-stream;charset=utf-8")
    return HTTPWriter.responseHead(status: 200, headers: headers, isChunked: isChunked)
  }

  private var page: ChangePage {
    ChangePage(since: token, token: next, more: false, changes: [])
  }

  private var event: [UInt8] {
    EncodedChanges([]).event(since: token, token: next, more: false)
  }

  @Test func itAsksFromWhereTheDeviceStands() {
    let harness = harness()
    #expect(harness.sent.count == 1)
    #expect(harness.sent[0].hasPrefix("GET /v1/events?since=1.4 HTTP/1.1\r\nHost: relay:80\r\n"))
    #expect(harness.sent[0].contains("\r\nAuthorization: Bearer secret\r\n"))
    #expect(harness.sent[0].contains("\r\nAccept: text/event-stream\r\n"))
  }

  @Test func eventsComeHoweverTheBytesAreCut() {
    let hint = RelayEvent.encodedHint(next)
    let unknown = EventStreamWriter.event("news", json: [49])
    let bytes =
      head() + HTTPWriter.chunk(event + EventStreamWriter.heartbeat) + HTTPWriter.chunk(hint)
      + HTTPWriter.chunk(unknown)
    let expected: [StreamExchange.Outcome] = [
      .event(.changes(page)), .event(.changed(token: next)), .event(.unknown(name: "news")),
    ]
    for step in [bytes.count, 1, 7] {
      var harness = harness()
      var outcomes: [StreamExchange.Outcome] = []
      for index in stride(from: 0, to: bytes.count, by: step) {
        outcomes += harness.receive(Array(bytes[index..<min(index + step, bytes.count)]), at: start)
      }
      #expect(outcomes == expected)
      #expect(harness.isOpen)
    }
  }

  @Test func silenceEndsItAndAHeartbeatDoesNot() {
    for (reported, silence) in [
      (nil, Limits.streamSilenceMilliseconds), ("2000", 4_000), ("1", 2_000),
      ("999999999999", 2 * Limits.keepAliveCeilingMilliseconds),
      ("soon", Limits.streamSilenceMilliseconds),
    ] {
      var headers = HTTPHeaders()
      if let reported { headers.append("Lockstep-Keep-Alive", reported) }
      var harness = harness()
      #expect(harness.exchange.deadline == start.advanced(milliseconds: Limits.answerMilliseconds))
      _ = harness.receive(head(headers), at: start)
      let late = start.advanced(milliseconds: silence - 1)
      #expect(harness.exchange.expired(at: late, &harness.output).isEmpty)
      #expect(harness.receive(HTTPWriter.chunk(EventStreamWriter.heartbeat), at: late).isEmpty)
      let end = late.advanced(milliseconds: silence)
      #expect(harness.exchange.deadline == end)
      guard case .ended? = harness.exchange.expired(at: end, &harness.output).first else {
        Issue.record("it listens for ever")
        continue
      }
      harness.play()
      #expect(!harness.isOpen && harness.exchange.deadline == nil)
    }
  }

  @Test func theRelaysLastWordIsTheLast() {
    let refusal = Refusal(.stopping, "soon", retryAfterMilliseconds: 1_000)
    let error = RelayEvent.encodedError(refusal, retryMilliseconds: 1_500)
    var harness = harness()
    let outcomes = harness.receive(
      head() + HTTPWriter.chunk(event + error + event) + HTTPWriter.lastChunk, at: start)
    #expect(outcomes == [.event(.changes(page)), .event(.error(refusal))])
    harness.play()
    #expect(!harness.isOpen)
  }

  @Test func aStreamThatEndsWithoutAWordHasEnded() {
    var harness = harness()
    #expect(
      harness.receive(head() + HTTPWriter.lastChunk, at: start) == [
        .ended("the relay ended the stream")
      ])
    var old = self.harness()
    #expect(old.receive(head(isChunked: false) + event, at: start) == [.event(.changes(page))])
    #expect(
      old.exchange.closed(.endOfStream, &old.output) == [.ended("the relay closed the connection")])
  }

  @Test func anotherAnswerIsARefusal() {
    let refusal = Refusal(.overloaded, "later", retryAfterMilliseconds: 3_000)
    let answer = HTTPWriter.response(
      status: 503, headers: ["Content-Type": "application/problem+json", "Retry-After": "3"],
      body: refusal.encodedProblem())
    for step in [answer.count, 1] {
      var harness = harness()
      var outcomes: [StreamExchange.Outcome] = []
      for index in stride(from: 0, to: answer.count, by: step) {
        outcomes += harness.receive(
          Array(answer[index..<min(index + step, answer.count)]), at: start)
      }
      #expect(outcomes == [.refused(refusal)])
      harness.play()
      #expect(!harness.isOpen)
    }
  }

  @Test func whatIsNoStreamSpeaksAgainstTheRung() {
    var portal = harness()
    let page = HTTPWriter.response(
      status: 200, headers: ["Content-Type": "text/html"], body: Array("<html>".utf8))
    #expect(portal.receive(page, at: start) == [.unanswered("the answer is not an event stream")])
    var noise = harness()
    guard case .unanswered? = noise.receive(Array("SSH-2.0\r\n".utf8), at: start).first else {
      Issue.record("noise was taken for a stream")
      return
    }
    var silent = harness()
    let end = start.advanced(milliseconds: Limits.answerMilliseconds)
    #expect(
      silent.exchange.expired(at: end, &silent.output)
        == [.unanswered("the relay did not answer in time")])
    var broken = harness()
    let bad = EventStreamWriter.event("changes", json: Array("{}".utf8))
    guard case .ended? = broken.receive(head() + HTTPWriter.chunk(bad), at: start).first else {
      Issue.record("a broken event was taken")
      return
    }
  }

  @Test func aConnectionThatIsNotMadeIsUnreachable() {
    var harness = Harness()
    harness.exchange.listen(since: token, at: start, &harness.output)
    #expect(
      harness.exchange.closed(.connectFailed("refused"), &harness.output) == [
        .unreachable("refused")
      ])
    harness.exchange.listen(since: token, at: start, &harness.output)
    let end = start.advanced(milliseconds: Limits.answerMilliseconds)
    guard case .unreachable? = harness.exchange.expired(at: end, &harness.output).first else {
      Issue.record("it waits for ever")
      return
    }
  }
}

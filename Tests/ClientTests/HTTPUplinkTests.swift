import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepClient

/// The HTTP uplink, used through `Uplink`.
struct HTTPUplinkTests {
  private let start = Instant(nanoseconds: 0)
  private let token = ChangeToken(generation: 1, sequence: 4)

  private struct Harness {
    var output = UplinkOutput(firstNumber: 0)
    var uplink: Uplink
    var open: [ConnectionID] = []

    /// Opens the requested connections, and returns the first lines of what was sent since.
    mutating func play(at now: Instant) -> [String] {
      var lines: [String] = []
      while let action = output.nextAction() {
        switch action {
        case .open(let id):
          open.append(id)
          uplink.opened(id, at: now, &output)
        case .send(_, let bytes):
          lines.append(String(decoding: bytes.prefix { $0 != 13 }, as: UTF8.self))
        case .close(let id, _): open.removeAll { $0 == id }
        case .pauseReading, .resumeReading: break
        }
      }
      return lines
    }

    mutating func answer(
      _ index: Int, _ status: Int, headers: HTTPHeaders = [:], _ body: [UInt8], at now: Instant
    ) {
      let bytes = HTTPWriter.response(status: status, headers: headers, body: body)
      uplink.received(open[index], bytes.span.bytes, at: now, &output)
    }

    /// Receives bytes on the second connection.
    mutating func stream(_ bytes: [UInt8], at now: Instant) {
      uplink.received(open[1], bytes.span.bytes, at: now, &output)
    }

    mutating func events() -> [UplinkEvent] {
      var all: [UplinkEvent] = []
      while let event = output.nextEvent() { all.append(event) }
      return all
    }
  }

  private func harness() -> Harness {
    var output = UplinkOutput(firstNumber: 0)
    let http = HTTPUplink(
      HomeCredentials(
        relay: RelayAddress(host: "relay", port: 80), account: AccountID(rawValue: 7),
        device: DeviceID(rawValue: 1), token: "secret"), at: start, &output)
    return Harness(output: output, uplink: Uplink(http))
  }

  private func onlineHarness() -> Harness {
    var harness = harness()
    #expect(harness.play(at: start) == ["GET /v1/time HTTP/1.1"])
    harness.answer(0, 200, TimeAnswer(time: 9_000).encodedBody(), at: start)
    #expect(
      harness.events() == [
        .clock(RelayClock.Sample(sent: start, received: start, relayTime: 9_000)),
        .online(newest: nil),
      ])
    return harness
  }

  @Test func aHeldRequestDoesNotHoldUpTheOthers() {
    var harness = onlineHarness()
    harness.uplink.wait(since: token, milliseconds: 50_000, at: start, &harness.output)
    harness.uplink.fetch(since: nil, at: start, &harness.output)
    harness.uplink.measureTime(at: start, &harness.output)
    #expect(
      Set(harness.play(at: start)) == [
        "GET /v1/changes?since=1.4&wait=50 HTTP/1.1", "GET /v1/changes HTTP/1.1",
      ])
    let page = ChangePage(since: nil, token: token, more: false, changes: [])
    harness.answer(0, 200, page.encodedBody(), at: start)
    #expect(harness.events() == [.page(page, .fetch)])
    // One after the other on the same connection.
    #expect(harness.play(at: start) == ["GET /v1/time HTTP/1.1"])
    let held = ChangePage(since: token, token: token, more: false, changes: [])
    harness.answer(1, 200, held.encodedBody(), at: start)
    #expect(harness.events() == [.page(held, .longPoll)])
  }

  @Test func aHeldRequestHasItsOwnDeadline() {
    var harness = onlineHarness()
    harness.uplink.wait(since: token, milliseconds: 50_000, at: start, &harness.output)
    _ = harness.play(at: start)
    let end = start.advanced(milliseconds: 50_000 + Limits.longPollMarginMilliseconds)
    #expect(harness.uplink.deadline == end)
    harness.uplink.expired(at: end, &harness.output)
    #expect(harness.events() == [.longPollCut(heldMilliseconds: nil)])
    #expect(harness.uplink.deadline == nil)
  }

  @Test func aHeldRequestThatIsCutTellsForHowLongItWasHeld() {
    let cut = start.advanced(milliseconds: 10_000)
    var closed = onlineHarness()
    closed.uplink.wait(since: token, milliseconds: 50_000, at: start, &closed.output)
    _ = closed.play(at: start)
    closed.uplink.closed(closed.open[1], .endOfStream, at: cut, &closed.output)
    #expect(closed.events() == [.longPollCut(heldMilliseconds: 10_000)])
    // Other requests continue.
    closed.uplink.fetch(since: token, at: cut, &closed.output)
    #expect(closed.play(at: cut) == ["GET /v1/changes?since=1.4 HTTP/1.1"])
    for status in [504, 403, 200] {
      var harness = onlineHarness()
      harness.uplink.wait(since: token, milliseconds: 50_000, at: start, &harness.output)
      _ = harness.play(at: start)
      harness.answer(1, status, Array("<html>".utf8), at: cut)
      #expect(harness.events() == [.longPollCut(heldMilliseconds: 10_000)])
    }
  }

  @Test func onlyAHeldRequestShowsThatTheWayCarriesOne() {
    for (milliseconds, isServed) in [(0, false), (24_999, false), (25_000, true), (50_000, true)] {
      var harness = onlineHarness()
      harness.uplink.wait(since: token, milliseconds: 50_000, at: start, &harness.output)
      _ = harness.play(at: start)
      let page = ChangePage(since: token, token: token, more: false, changes: [])
      harness.answer(
        1, 200, page.encodedBody(), at: start.advanced(milliseconds: Int64(milliseconds)))
      #expect(harness.events().contains(.longPollServed) == isServed)
    }
  }

  /// Opens a stream besides the calls.
  private func listeningHarness() -> Harness {
    var harness = onlineHarness()
    harness.uplink.listen(since: token, at: start, &harness.output)
    #expect(harness.play(at: start) == ["GET /v1/events?since=1.4 HTTP/1.1"])
    harness.stream(
      HTTPWriter.responseHead(
        status: 200, headers: ["Content-Type": "text/event-stream"], isChunked: false), at: start)
    return harness
  }

  @Test func aStreamIsHeldBesideTheCalls() {
    var harness = listeningHarness()
    let page = ChangePage(since: token, token: token, more: false, changes: [])
    harness.stream(EncodedChanges([]).event(since: token, token: token, more: false), at: start)
    harness.stream(RelayEvent.encodedHint(token), at: start)
    #expect(harness.events() == [.page(page, .stream), .hint(token)])
    harness.uplink.fetch(since: token, at: start, &harness.output)
    #expect(harness.play(at: start) == ["GET /v1/changes?since=1.4 HTTP/1.1"])
    harness.answer(0, 200, page.encodedBody(), at: start)
    #expect(harness.events() == [.page(page, .fetch)])
    #expect(harness.open.count == 2)
    let end = start.advanced(milliseconds: Limits.streamSilenceMilliseconds)
    #expect(harness.uplink.deadline == end)
    harness.uplink.expired(at: end, &harness.output)
    guard case .failed(let failure)? = harness.events().last else {
      Issue.record("it listens for ever")
      return
    }
    #expect(failure.kind == .lost)
    _ = harness.play(at: end)
    #expect(harness.open.isEmpty)
  }

  @Test func whatTheRelaySaysAtTheEndOfAStreamIsObeyed() {
    for code in [RefusalCode.stopping, .badToken, .planRequired] {
      var harness = listeningHarness()
      let refusal = Refusal(code, "the end")
      harness.stream(RelayEvent.encodedError(refusal, retryMilliseconds: nil), at: start)
      #expect(
        harness.events() == [.failed(UplinkFailure(kind: .refused(refusal), reason: "the end"))])
      _ = harness.play(at: start)
      #expect(harness.open.isEmpty)
    }
    // If the cursor is at fault, only the stream ends.
    var harness = listeningHarness()
    let refusal = Refusal(.storeRestored, "older", restoredThrough: 3)
    harness.stream(RelayEvent.encodedError(refusal, retryMilliseconds: nil), at: start)
    #expect(harness.events() == [.fetchRefused(refusal, .stream)])
    _ = harness.play(at: start)
    #expect(harness.open.count == 1)
    harness.uplink.listen(since: token, at: start, &harness.output)
    #expect(harness.play(at: start) == ["GET /v1/events?since=1.4 HTTP/1.1"])
  }

  @Test func aStreamThatIsRefusedIsTold() {
    var harness = onlineHarness()
    harness.uplink.listen(since: token, at: start, &harness.output)
    _ = harness.play(at: start)
    let refusal = Refusal(.badToken, "who?")
    harness.answer(
      1, 401, headers: ["Content-Type": "application/problem+json"], refusal.encodedProblem(),
      at: start)
    #expect(harness.events() == [.fetchRefused(refusal, .stream)])
  }

  @Test func aPortalInTheRelaysPlaceSpeaksAgainstNoWayByHTTP() {
    var harness = harness()
    _ = harness.play(at: start)
    harness.answer(0, 200, Array("<html>".utf8), at: start)
    guard case .failed(let failure)? = harness.events().last else {
      Issue.record("a portal was taken for a relay")
      return
    }
    #expect(failure.kind == .unreachable)
  }

  /// An intermediary between a device and its relay may send any answer, in any form.
  @Test(
    arguments: [200, 204, 302, 400, 401, 403, 404, 405, 407, 410, 411, 451, 500, 502, 511],
    [
      ("text/html", "<html>Please log in to the Wi-Fi</html>"), ("text/html", ""),
      ("application/json", #"{"code":"badRequest","detail":"no"}"#),
      ("application/problem+json", #"{"type":"about:blank","title":"no"}"#),
      ("application/problem+json", #"{"code":"tooLoud","detail":"no","status":400}"#),
    ])
  func onlyTheRelayItselfTurnsABatchDown(_ status: Int, _ answer: (type: String, body: String))
    throws
  {
    var harness = onlineHarness()
    let id = BatchID(high: 1, low: 2)
    harness.uplink.save(
      SaveRequest(id: id, zone: TestApp.zone, atomic: false, mutations: []), at: start,
      &harness.output)
    _ = harness.play(at: start)
    let body = status == 204 ? [] : Array(answer.body.utf8)
    harness.answer(0, status, headers: ["Content-Type": answer.type], body, at: start)
    guard case .saveRefused(id, let refusal)? = harness.events().last else {
      Issue.record("it was not reported as an outage")
      return
    }
    // For an unknown code of a newer relay, the status shows its general meaning.
    let isUnknownCode = answer.body.contains("tooLoud")
    #expect(!refusal.blamesContent)
    if !isUnknownCode { #expect(refusal.code == .internalError) }
  }

  @Test func aFailedAtomicBatchIsAnAnswer() {
    var harness = onlineHarness()
    let id = BatchID(high: 1, low: 2)
    let name = Name(trusted: "a")
    harness.uplink.save(
      SaveRequest(
        id: id, zone: TestApp.zone, atomic: true,
        mutations: [
          Mutation(name: name, type: TestApp.note, fields: [123, 125], modifiedAt: 1, baseTag: 0)
        ]), at: start, &harness.output)
    #expect(harness.play(at: start) == ["POST /v1/zones/Desk/records HTTP/1.1"])
    let answer = SaveAnswer(
      since: token, token: token,
      results: [.refused(name: name, Refusal(.batchAborted, "another failed"))])
    harness.answer(0, 409, answer.encodedBody(), at: start)
    guard case .saved(id, let reported)? = harness.events().last else {
      Issue.record("not reported as an answer")
      return
    }
    #expect(reported.results.count == 1)
  }
}

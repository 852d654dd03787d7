import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// The HTTP uplink, used through `Uplink`.
struct HTTPUplinkTests {
  private let start = Instant(nanoseconds: 0)
  private let token = ChangeToken(generation: 1, sequence: 4)

  private struct Desk {
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

  private func desk() -> Desk {
    var output = UplinkOutput(firstNumber: 0)
    let http = HTTPUplink(
      HomeCredentials(
        relay: RelayAddress(host: "relay", port: 80), account: AccountID(rawValue: 7),
        device: DeviceID(rawValue: 1), token: "secret"), at: start, &output)
    return Desk(output: output, uplink: Uplink(http))
  }

  private func onlineDesk() -> Desk {
    var desk = desk()
    #expect(desk.play(at: start) == ["GET /v1/time HTTP/1.1"])
    desk.answer(0, 200, TimeAnswer(time: 9_000).encodedBody(), at: start)
    #expect(
      desk.events() == [
        .clock(RelayClock.Sample(sent: start, received: start, relayTime: 9_000)),
        .online(newest: nil),
      ])
    return desk
  }

  @Test func aHeldRequestDoesNotHoldUpTheOthers() {
    var desk = onlineDesk()
    desk.uplink.wait(since: token, milliseconds: 50_000, at: start, &desk.output)
    desk.uplink.fetch(since: nil, at: start, &desk.output)
    desk.uplink.measureTime(at: start, &desk.output)
    #expect(
      Set(desk.play(at: start)) == [
        "GET /v1/changes?since=1.4&wait=50 HTTP/1.1", "GET /v1/changes HTTP/1.1",
      ])
    let page = ChangePage(since: nil, token: token, more: false, changes: [])
    desk.answer(0, 200, page.encodedBody(), at: start)
    #expect(desk.events() == [.page(page, .fetch)])
    // One after the other on the same connection.
    #expect(desk.play(at: start) == ["GET /v1/time HTTP/1.1"])
    let held = ChangePage(since: token, token: token, more: false, changes: [])
    desk.answer(1, 200, held.encodedBody(), at: start)
    #expect(desk.events() == [.page(held, .longPoll)])
  }

  @Test func aHeldRequestHasItsOwnDeadline() {
    var desk = onlineDesk()
    desk.uplink.wait(since: token, milliseconds: 50_000, at: start, &desk.output)
    _ = desk.play(at: start)
    let end = start.advanced(milliseconds: 50_000 + Limits.longPollMarginMilliseconds)
    #expect(desk.uplink.deadline == end)
    desk.uplink.expired(at: end, &desk.output)
    #expect(desk.events() == [.longPollCut(heldMilliseconds: nil)])
    #expect(desk.uplink.deadline == nil)
  }

  @Test func aHeldRequestThatIsCutTellsForHowLongItWasHeld() {
    let cut = start.advanced(milliseconds: 10_000)
    var closed = onlineDesk()
    closed.uplink.wait(since: token, milliseconds: 50_000, at: start, &closed.output)
    _ = closed.play(at: start)
    closed.uplink.closed(closed.open[1], .endOfStream, at: cut, &closed.output)
    #expect(closed.events() == [.longPollCut(heldMilliseconds: 10_000)])
    // Other requests continue.
    closed.uplink.fetch(since: token, at: cut, &closed.output)
    #expect(closed.play(at: cut) == ["GET /v1/changes?since=1.4 HTTP/1.1"])
    for status in [504, 403, 200] {
      var desk = onlineDesk()
      desk.uplink.wait(since: token, milliseconds: 50_000, at: start, &desk.output)
      _ = desk.play(at: start)
      desk.answer(1, status, Array("<html>".utf8), at: cut)
      #expect(desk.events() == [.longPollCut(heldMilliseconds: 10_000)])
    }
  }

  @Test func onlyAHeldRequestShowsThatTheWayCarriesOne() {
    for (milliseconds, isServed) in [(0, false), (24_999, false), (25_000, true), (50_000, true)] {
      var desk = onlineDesk()
      desk.uplink.wait(since: token, milliseconds: 50_000, at: start, &desk.output)
      _ = desk.play(at: start)
      let page = ChangePage(since: token, token: token, more: false, changes: [])
      desk.answer(
        1, 200, page.encodedBody(), at: start.advanced(milliseconds: Int64(milliseconds)))
      #expect(desk.events().contains(.longPollServed) == isServed)
    }
  }

  /// Opens a stream besides the calls.
  private func listeningDesk() -> Desk {
    var desk = onlineDesk()
    desk.uplink.listen(since: token, at: start, &desk.output)
    #expect(desk.play(at: start) == ["GET /v1/events?since=1.4 HTTP/1.1"])
    desk.stream(
      HTTPWriter.responseHead(
        status: 200, headers: ["Content-Type": "text/event-stream"], isChunked: false), at: start)
    return desk
  }

  @Test func aStreamIsHeldBesideTheCalls() {
    var desk = listeningDesk()
    let page = ChangePage(since: token, token: token, more: false, changes: [])
    desk.stream(EncodedChanges([]).event(since: token, token: token, more: false), at: start)
    desk.stream(RelayEvent.encodedHint(token), at: start)
    #expect(desk.events() == [.page(page, .stream), .hint(token)])
    desk.uplink.fetch(since: token, at: start, &desk.output)
    #expect(desk.play(at: start) == ["GET /v1/changes?since=1.4 HTTP/1.1"])
    desk.answer(0, 200, page.encodedBody(), at: start)
    #expect(desk.events() == [.page(page, .fetch)])
    #expect(desk.open.count == 2)
    let end = start.advanced(milliseconds: Limits.streamSilenceMilliseconds)
    #expect(desk.uplink.deadline == end)
    desk.uplink.expired(at: end, &desk.output)
    guard case .failed(let failure)? = desk.events().last else {
      Issue.record("it listens for ever")
      return
    }
    #expect(failure.kind == .lost)
    _ = desk.play(at: end)
    #expect(desk.open.isEmpty)
  }

  @Test func whatTheRelaySaysAtTheEndOfAStreamIsObeyed() {
    for code in [RefusalCode.stopping, .badToken, .planRequired] {
      var desk = listeningDesk()
      let refusal = Refusal(code, "the end")
      desk.stream(RelayEvent.encodedError(refusal, retryMilliseconds: nil), at: start)
      #expect(
        desk.events() == [.failed(UplinkFailure(kind: .refused(refusal), reason: "the end"))])
      _ = desk.play(at: start)
      #expect(desk.open.isEmpty)
    }
    // If the cursor is at fault, only the stream ends.
    var desk = listeningDesk()
    let refusal = Refusal(.storeRestored, "older", restoredThrough: 3)
    desk.stream(RelayEvent.encodedError(refusal, retryMilliseconds: nil), at: start)
    #expect(desk.events() == [.fetchRefused(refusal, .stream)])
    _ = desk.play(at: start)
    #expect(desk.open.count == 1)
    desk.uplink.listen(since: token, at: start, &desk.output)
    #expect(desk.play(at: start) == ["GET /v1/events?since=1.4 HTTP/1.1"])
  }

  @Test func aStreamThatIsRefusedIsTold() {
    var desk = onlineDesk()
    desk.uplink.listen(since: token, at: start, &desk.output)
    _ = desk.play(at: start)
    let refusal = Refusal(.badToken, "who?")
    desk.answer(
      1, 401, headers: ["Content-Type": "application/problem+json"], refusal.encodedProblem(),
      at: start)
    #expect(desk.events() == [.fetchRefused(refusal, .stream)])
  }

  @Test func aPortalInTheRelaysPlaceSpeaksAgainstNoWayByHTTP() {
    var desk = desk()
    _ = desk.play(at: start)
    desk.answer(0, 200, Array("<html>".utf8), at: start)
    guard case .failed(let failure)? = desk.events().last else {
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
    var desk = onlineDesk()
    let id = BatchID(high: 1, low: 2)
    desk.uplink.save(
      SaveRequest(id: id, zone: TestApp.zone, atomic: false, mutations: []), at: start,
      &desk.output)
    _ = desk.play(at: start)
    let body = status == 204 ? [] : Array(answer.body.utf8)
    desk.answer(0, status, headers: ["Content-Type": answer.type], body, at: start)
    guard case .saveRefused(id, let refusal)? = desk.events().last else {
      Issue.record("it was not told as an outage")
      return
    }
    // For an unknown code of a newer relay, the status shows its general meaning.
    let isUnknownCode = answer.body.contains("tooLoud")
    #expect(!refusal.blamesContent)
    if !isUnknownCode { #expect(refusal.code == .internalError) }
  }

  @Test func aFailedAtomicBatchIsAnAnswer() {
    var desk = onlineDesk()
    let id = BatchID(high: 1, low: 2)
    let name = Name(trusted: "a")
    desk.uplink.save(
      SaveRequest(
        id: id, zone: TestApp.zone, atomic: true,
        mutations: [
          Mutation(name: name, type: TestApp.note, fields: [123, 125], modifiedAt: 1, baseTag: 0)
        ]), at: start, &desk.output)
    #expect(desk.play(at: start) == ["POST /v1/zones/Desk/records HTTP/1.1"])
    let answer = SaveAnswer(
      since: token, token: token,
      results: [.refused(name: name, Refusal(.batchAborted, "another failed"))])
    desk.answer(0, 409, answer.encodedBody(), at: start)
    guard case .saved(id, let told)? = desk.events().last else {
      Issue.record("not told as an answer")
      return
    }
    #expect(told.results.count == 1)
  }
}

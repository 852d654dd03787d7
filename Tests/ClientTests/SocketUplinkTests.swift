import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// The states of the socket, with bytes in and events out.
struct SocketUplinkTests {
  private let start = Instant(nanoseconds: 0)
  private let account = AccountID(rawValue: 7)
  private let token = ChangeToken(generation: 1, sequence: 4)

  private func uplink(_ output: inout UplinkOutput) -> SocketUplink {
    SocketUplink(
      HomeCredentials(
        relay: RelayAddress(host: "relay", port: 80), account: account,
        device: DeviceID(rawValue: 1), token: "secret"),
      random: SeededRandom(seed: 1), at: start, &output)
  }

  private func sent(_ output: inout UplinkOutput) -> [[UInt8]] {
    var all: [[UInt8]] = []
    while let action = output.nextAction() {
      if case .send(_, let bytes) = action { all.append(bytes) }
    }
    return all
  }

  private func events(_ output: inout UplinkOutput) -> [UplinkEvent] {
    var all: [UplinkEvent] = []
    while let event = output.nextEvent() { all.append(event) }
    return all
  }

  /// Returns the relay's answer to the handshake that was just sent.
  private func handshake(_ output: inout UplinkOutput) throws -> [UInt8] {
    var parser = HTTPRequestParser()
    guard let bytes = sent(&output).last else { throw TestFault("no handshake") }
    parser.receive(bytes.span.bytes)
    guard case .head(let head)? = try parser.next() else { throw TestFault("no head") }
    #expect(head.target.path == ["v1", "socket"])
    #expect(head.headers["Authorization"] == "Bearer secret")
    return HTTPWriter.response(status: 101, headers: try WebSocketHandshake.answer(to: head))
  }

  private func welcome() -> [UInt8] {
    WebSocketFrame.text(
      RelayMessage.welcome(
        account: account, device: DeviceID(rawValue: 1), token: token, time: 5_000,
        keepAliveMilliseconds: 10_000
      ).encoded())
  }

  @Test func theHandshakeMayComeByteByByteWithTheFirstFramesBehindIt() throws {
    var output = UplinkOutput(firstNumber: 0)
    var uplink = uplink(&output)
    uplink.opened(at: start, &output)
    for byte in try handshake(&output) {
      uplink.received([byte].span.bytes, at: start, &output)
    }
    #expect(events(&output) == [.readyForHello])
    uplink.sendHello(since: token, at: start, &output)
    let later = start.advanced(milliseconds: 20)
    let page = ChangePage(since: token, token: token, more: false, changes: [])
    let frames =
      welcome() + WebSocketFrame.ping([1])
      + WebSocketFrame.text(RelayMessage.changes(id: nil, page).encoded())
    for byte in frames { uplink.received([byte].span.bytes, at: later, &output) }
    #expect(
      events(&output) == [
        .clock(RelayClock.Sample(sent: start, received: later, relayTime: 5_000)),
        .online(newest: token), .page(page, .push),
      ])
    #expect(uplink.deadline == later.advanced(milliseconds: 20_000))
  }

  @Test func whatIsLargeIsCompressedWhereTheRelayAgrees() throws {
    for agrees in [true, false] {
      var output = UplinkOutput(firstNumber: 0)
      var uplink = uplink(&output)
      uplink.opened(at: start, &output)
      var parser = HTTPRequestParser()
      for bytes in sent(&output) { parser.receive(bytes.span.bytes) }
      guard case .head(let head)? = try parser.next() else { throw TestFault("no head") }
      var headers = try WebSocketHandshake.answer(to: head)
      let agreed = try DeflateNegotiation.answer(to: head.headers, .shared)
      if agrees { headers.append("Sec-WebSocket-Extensions", try #require(agreed).field) }
      uplink.received(
        HTTPWriter.response(status: 101, headers: headers).span.bytes, at: start, &output)
      uplink.sendHello(since: nil, at: start, &output)
      uplink.received(welcome().span.bytes, at: start, &output)
      _ = sent(&output)
      _ = events(&output)

      let mutations = (0..<100).map {
        Mutation(
          name: Name(trusted: "record \($0)"), type: Name(trusted: "t"), fields: Array("{}".utf8),
          modifiedAt: 5, baseTag: 0)
      }
      var random = SeededRandom(seed: 3)
      let request = SaveRequest(
        id: BatchID(random: &random), zone: Name(trusted: "z"), atomic: false,
        mutations: mutations)
      uplink.save(request, at: start, &output)
      let said = sent(&output).flatMap(\.self)
      let plain = DeviceMessage.save(request).encoded()
      #expect(agrees ? said.count < plain.count / 5 : said.count > plain.count)
      var reader = WebSocketReader(
        role: .server, maximumMessageBytes: 1 << 20, deflate: agrees ? agreed?.terms : nil)
      reader.receive(said.span.bytes)
      #expect(try reader.next() == .text(plain))

      guard agrees else { continue }
      let record = Record(
        zone: Name(trusted: "z"), name: Name(trusted: "n"), type: Name(trusted: "t"), fields: nil,
        modifiedAt: 5, device: DeviceID(rawValue: 2), tag: 5)
      let page = ChangePage(
        since: token, token: token, more: false, changes: Array(repeating: record, count: 50))
      let push = WebSocketFrame.text(
        RelayMessage.changes(id: nil, page).encoded(), deflate: agreed?.terms.sending)
      #expect(push[0] == 0xC1)
      uplink.received(push.span.bytes, at: start, &output)
      #expect(events(&output) == [.page(page, .push)])
    }
  }

  @Test func everyStageHasADeadline() throws {
    var output = UplinkOutput(firstNumber: 0)
    var connecting = uplink(&output)
    #expect(connecting.deadline == start.advanced(milliseconds: Limits.connectMilliseconds))
    connecting.expired(at: start.advanced(milliseconds: Limits.connectMilliseconds), &output)
    guard case .failed(let failure)? = events(&output).last else {
      Issue.record("connecting has no deadline")
      return
    }
    #expect(failure.kind == .unreachable)
    var handshaking = uplink(&output)
    handshaking.opened(at: start, &output)
    handshaking.expired(at: start.advanced(milliseconds: Limits.helloMilliseconds), &output)
    guard case .failed(let rung)? = events(&output).last else {
      Issue.record("the handshake has no deadline")
      return
    }
    #expect(rung.kind == .transportFailed)
  }

  @Test(arguments: [
    (401, RefusalCode.badToken), (429, .tooManyRequests), (503, .storeUnavailable),
  ])
  func theRelaysOwnRefusalIsTold(_ status: Int, _ code: RefusalCode) {
    var output = UplinkOutput(firstNumber: 0)
    var uplink = uplink(&output)
    uplink.opened(at: start, &output)
    let answer = HTTPWriter.response(
      status: status, headers: ["Content-Type": "application/problem+json", "Retry-After": "7"],
      body: Refusal(code, "because").encodedProblem())
    uplink.received(answer.span.bytes, at: start, &output)
    guard case .failed(let failure)? = events(&output).last,
      case .refused(let refusal) = failure.kind
    else {
      Issue.record("not reported")
      return
    }
    #expect(refusal.code == code)
    #expect(refusal.retryAfterMilliseconds == 7_000)
  }

  @Test(arguments: [200, 400, 401, 402, 403, 404, 407, 426, 502])
  func anybodyElsesRefusalSpeaksAgainstTheRung(_ status: Int) {
    var output = UplinkOutput(firstNumber: 0)
    var uplink = uplink(&output)
    uplink.opened(at: start, &output)
    let answer = HTTPWriter.response(status: status, body: Array("<html>".utf8))
    uplink.received(answer.span.bytes, at: start, &output)
    guard case .failed(let failure)? = events(&output).last else {
      Issue.record("not reported")
      return
    }
    #expect(failure.kind == .transportFailed)
  }

  @Test func aFaultOfTheRelayIsAnsweredWithItsCloseCode() throws {
    var output = UplinkOutput(firstNumber: 0)
    var uplink = uplink(&output)
    uplink.opened(at: start, &output)
    let answer = try handshake(&output)
    uplink.received(answer.span.bytes, at: start, &output)
    uplink.sendHello(since: nil, at: start, &output)
    _ = sent(&output)
    let frames = welcome() + WebSocketFrame.binary([1, 2, 3])
    uplink.received(frames.span.bytes, at: start, &output)
    guard case .failed(let failure)? = events(&output).last else {
      Issue.record("binary was taken")
      return
    }
    #expect(failure.kind == .lost)
    var reader = WebSocketReader(role: .server, maximumMessageBytes: 100)
    for bytes in sent(&output) { reader.receive(bytes.span.bytes) }
    guard case .close(let code, _)? = try reader.next() else {
      Issue.record("no close frame")
      return
    }
    #expect(code == 1003)
  }

  @Test(arguments: [nil, UInt16(1000), 1001, 3000, 4499, 4500, 4999])
  func aCloseWithoutARefusalIsALossOrBarsAndIsAnswered(_ code: UInt16?) throws {
    var output = UplinkOutput(firstNumber: 0)
    var uplink = uplink(&output)
    uplink.opened(at: start, &output)
    let answer = try handshake(&output)
    uplink.received(answer.span.bytes, at: start, &output)
    uplink.sendHello(since: nil, at: start, &output)
    _ = sent(&output)
    let frames = welcome() + WebSocketFrame.close(code: code, reason: "")
    uplink.received(frames.span.bytes, at: start, &output)
    guard case .failed(let failure)? = events(&output).last else {
      Issue.record("the close was not noticed")
      return
    }
    #expect(failure.kind == (4500..<5000 ~= code ?? 0 ? .barred : .lost))
    var reader = WebSocketReader(role: .server, maximumMessageBytes: 100)
    for bytes in sent(&output) { reader.receive(bytes.span.bytes) }
    #expect(try reader.next() == .close(code: code, reason: ""))
    #expect(uplink.deadline == nil)
  }

  @Test func aBareCloseIsNoRefusal() throws {
    for isOnline in [false, true] {
      var output = UplinkOutput(firstNumber: 0)
      var uplink = uplink(&output)
      uplink.opened(at: start, &output)
      var frames = try handshake(&output)
      uplink.received(frames.span.bytes, at: start, &output)
      uplink.sendHello(since: nil, at: start, &output)
      // FIN and opcode 8, without a payload.
      frames = (isOnline ? welcome() : []) + [0x88, 0]
      uplink.received(frames.span.bytes, at: start, &output)
      guard case .failed(let failure)? = events(&output).last else {
        Issue.record("the close was not reported")
        return
      }
      #expect(failure.kind == (isOnline ? .lost : .transportFailed))
    }
  }

  @Test func theCloseAfterAnErrorKeepsWhenToComeBack() throws {
    var output = UplinkOutput(firstNumber: 0)
    var uplink = uplink(&output)
    uplink.opened(at: start, &output)
    let answer = try handshake(&output)
    uplink.received(answer.span.bytes, at: start, &output)
    uplink.sendHello(since: nil, at: start, &output)
    let reported = Refusal(.tooManyRequests, "", retryAfterMilliseconds: 20_000)
    let frames =
      welcome() + WebSocketFrame.text(RelayMessage.error(id: nil, reported).encoded())
      + WebSocketFrame.close(code: 4429, reason: "")
    uplink.received(frames.span.bytes, at: start, &output)
    guard case .failed(let failure)? = events(&output).last,
      case .refused(let refusal) = failure.kind
    else {
      Issue.record("not reported")
      return
    }
    #expect(refusal.retryAfterMilliseconds == 20_000)
    #expect(refusal.detail == RefusalCode.tooManyRequests.title)
  }
}

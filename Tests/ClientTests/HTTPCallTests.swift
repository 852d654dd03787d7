import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepClient

struct HTTPCallTests {
  private func moment(_ milliseconds: Int64) -> Moment {
    Moment(instant: Instant(nanoseconds: milliseconds * 1_000_000), wall: 0)
  }

  private func call() -> HTTPCall {
    HTTPCall(
      HTTPCallRequest("POST", path: ["v1", "zones", "a/b"], token: "secret", body: [123, 125]),
      to: RelayAddress(host: "relay", port: 80), at: moment(0))
  }

  /// Runs until the call has sent its request. Returns its connection and the request's text.
  private func sendRequest(_ call: inout HTTPCall) throws -> (ConnectionID, String) {
    guard case .open(let id, .host("relay", port: 80))? = call.nextAction() else {
      throw TestFault("it does not connect")
    }
    call.handle(
      .opened(id, Opening(listenerKind: .outgoing, peer: .host("relay", port: 80))), at: moment(1))
    guard case .send(id, let bytes)? = call.nextAction() else { throw TestFault("it is silent") }
    return (id, String(decoding: bytes, as: UTF8.self))
  }

  private func reports(_ call: inout HTTPCall) -> [HTTPCallReport] {
    var reports: [HTTPCallReport] = []
    while let action = call.nextAction() {
      if case .report(let report) = action { reports.append(report) }
    }
    return reports
  }

  @Test func aCallAsksOnceAndTellsItsAnswerOnce() throws {
    var call = call()
    let (id, words) = try sendRequest(&call)
    #expect(words.hasPrefix("POST /v1/zones/a%2Fb HTTP/1.1\r\nHost: relay:80\r\n"))
    #expect(words.contains("Authorization: Bearer secret\r\n"))
    #expect(words.hasSuffix("\r\n\r\n{}"))
    let date = "Date: Thu, 01 Jan 1970 00:00:07 GMT\r\n"
    let answer = Array("HTTP/1.1 201 Created\r\n\(date)Content-Length: 2\r\n\r\nok".utf8)
    call.received(id, answer.span.bytes, at: moment(2))
    #expect(reports(&call) == [.answered(status: 201, body: Array("ok".utf8), wall: 7_000)])
    call.handle(.closed(id, .endOfStream), at: moment(3))
    call.handle(.deadlineReached, at: moment(99_999))
    #expect(reports(&call).isEmpty)
    #expect(call.nextDeadline == nil)
  }

  @Test func failuresTellWhetherAnythingWasAsked() throws {
    var refused = call()
    guard case .open(let id, _)? = refused.nextAction() else { throw TestFault("silent") }
    refused.handle(.closed(id, .connectFailed("connection refused")), at: moment(1))
    #expect(reports(&refused) == [.unreachable(reason: "connection refused")])
    for fault: SecurityFault in [.unknownAuthority, .otherName, .expired, .notSecure, .other("x")] {
      var doubted = call()
      guard case .open(let id, _)? = doubted.nextAction() else { throw TestFault("silent") }
      doubted.handle(.closed(id, .notTrusted(fault)), at: moment(1))
      #expect(reports(&doubted) == [.untrusted(reason: fault.explanation)])
    }
    var late = call()
    _ = try sendRequest(&late)
    #expect(late.nextDeadline == moment(Limits.answerMilliseconds).instant)
    late.handle(.deadlineReached, at: moment(Limits.answerMilliseconds))
    #expect(reports(&late) == [.unanswered(reason: "the relay did not answer in time")])
    var stopped = call()
    _ = try sendRequest(&stopped)
    stopped.handle(.stopping, at: moment(2))
    #expect(reports(&stopped).count == 1)
  }
}

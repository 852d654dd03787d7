import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

struct HTTPExchangeTests {
  private let relay = RelayAddress(host: "relay", port: 5625)
  private let start = Instant(nanoseconds: 0)

  private func request(_ method: String = "GET") -> HTTPExchange.Request {
    HTTPExchange.Request(
      method: method, target: RequestTarget(path: ["v1", "time"]), token: "secret",
      milliseconds: 1_000)
  }

  private func text(_ output: inout UplinkOutput) -> [String] {
    var words: [String] = []
    while let action = output.nextAction() {
      switch action {
      case .open: words.append("open")
      case .send(_, let bytes):
        words.append(String(decoding: bytes.prefix { $0 != 13 }, as: UTF8.self))
      case .close: words.append("close")
      case .pauseReading, .resumeReading: break
      }
    }
    return words
  }

  private func answered(_ result: HTTPExchange.Result?) -> String? {
    guard case .answered(_, _, let body, _)? = result else { return nil }
    return String(decoding: body, as: UTF8.self)
  }

  private func receive(
    _ exchange: inout HTTPExchange, _ text: String, _ output: inout UplinkOutput
  ) -> HTTPExchange.Result? {
    let bytes = Array(text.utf8)
    return exchange.received(bytes.span.bytes, at: start, &output)
  }

  @Test func aConnectionIsOpenedUsedAndUsedAgain() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    exchange.sendRequest(request(), at: start, &output)
    #expect(text(&output) == ["open"])
    exchange.opened(at: start, &output)
    #expect(text(&output) == ["GET /v1/time HTTP/1.1"])
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    for (index, byte) in answer.utf8.enumerated() {
      let result = exchange.received([byte].span.bytes, at: start, &output)
      #expect(answered(result) == (index == answer.utf8.count - 1 ? "hi" : nil))
    }
    #expect(!exchange.isBusy)
    #expect(exchange.deadline == nil)
    exchange.sendRequest(request(), at: start, &output)
    #expect(text(&output) == ["GET /v1/time HTTP/1.1"])
  }

  @Test func aConnectionClosedMeanwhileIsReplacedOnce() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    exchange.sendRequest(request(), at: start, &output)
    exchange.opened(at: start, &output)
    _ = receive(&exchange, "HTTP/1.1 204 No Content\r\n\r\n", &output)
    exchange.sendRequest(request(), at: start, &output)
    _ = text(&output)
    #expect(exchange.closed(.endOfStream, at: start, &output) == nil)
    #expect(text(&output) == ["open"])
    exchange.opened(at: start, &output)
    #expect(text(&output) == ["GET /v1/time HTTP/1.1"])
    let result = exchange.closed(.endOfStream, at: start, &output)
    guard case .unanswered? = result else {
      Issue.record("\(String(describing: result))")
      return
    }
  }

  @Test func anIdleConnectionMayGo() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    exchange.sendRequest(request(), at: start, &output)
    exchange.opened(at: start, &output)
    _ = receive(&exchange, "HTTP/1.1 204 No Content\r\n\r\n", &output)
    #expect(exchange.closed(.endOfStream, at: start, &output) == nil)
    _ = text(&output)
    exchange.sendRequest(request(), at: start, &output)
    #expect(text(&output) == ["open"])
  }

  @Test func aBodyWithoutALengthEndsWithTheConnection() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    exchange.sendRequest(request(), at: start, &output)
    exchange.opened(at: start, &output)
    #expect(receive(&exchange, "HTTP/1.1 200 OK\r\n\r\nall of it", &output) == nil)
    #expect(answered(exchange.closed(.endOfStream, at: start, &output)) == "all of it")
  }

  @Test func halfAnAnswerIsNone() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    exchange.sendRequest(request(), at: start, &output)
    exchange.opened(at: start, &output)
    #expect(receive(&exchange, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", &output) == nil)
    guard case .unanswered? = exchange.closed(.endOfStream, at: start, &output) else {
      Issue.record("half an answer was taken")
      return
    }
  }

  @Test func everyWaitHasADeadline() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    exchange.sendRequest(request(), at: start, &output)
    #expect(exchange.expired(at: start.advanced(milliseconds: 999), &output) == nil)
    guard case .unreachable? = exchange.expired(at: start.advanced(milliseconds: 1_000), &output)
    else {
      Issue.record("connecting has no deadline")
      return
    }
    exchange.sendRequest(request(), at: start, &output)
    exchange.opened(at: start, &output)
    guard case .unanswered? = exchange.expired(at: start.advanced(milliseconds: 1_000), &output)
    else {
      Issue.record("the answer has no deadline")
      return
    }
    #expect(text(&output).last == "close")
  }

  @Test func aMalformedAnswerEndsTheConnection() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    exchange.sendRequest(request(), at: start, &output)
    exchange.opened(at: start, &output)
    guard case .unanswered? = receive(&exchange, "SSH-2.0-OpenSSH\r\n", &output) else {
      Issue.record("taken for HTTP")
      return
    }
    #expect(text(&output).last == "close")
  }

  @Test func wordsThatNobodyAskedForEndTheConnection() {
    var output = UplinkOutput(firstNumber: 0)
    var exchange = HTTPExchange(to: relay)
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    for isTogether in [false, true] {
      exchange.sendRequest(request(), at: start, &output)
      exchange.opened(at: start, &output)
      #expect(text(&output) == ["open", "GET /v1/time HTTP/1.1"])
      let stray = "HTTP/1.1 408 Request Timeout\r\n"
      let result = receive(&exchange, answer + (isTogether ? stray : ""), &output)
      #expect(answered(result) == "hi")
      if !isTogether { #expect(receive(&exchange, stray, &output) == nil) }
      #expect(text(&output) == ["close"])
    }
  }
}

import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct RefusalTests {
  @Test(arguments: RefusalCode.allCases) func problemSurvivesTheRoundTrip(_ code: RefusalCode) {
    for refusal in [
      Refusal(code, "A \"word\"."),
      Refusal(code, "", retryAfterMilliseconds: 3000, relayTime: 1_790_000_000_000),
    ] {
      #expect(
        Refusal.decoded(problem: refusal.encodedProblem(), status: refusal.code.status) == refusal)
    }
  }

  @Test func problemHasTheFormOfTheProtocol() {
    let refusal = Refusal(.tooManyRequests, "Wait.", retryAfterMilliseconds: 1001)
    #expect(
      text(refusal.encodedProblem())
        == #"{"type":"urn:lockstep:problem:tooManyRequests","title":"Too many requests","#
        + #""status":429,"code":"tooManyRequests","detail":"Wait.","retryAfter":2}"#)
  }

  @Test func waitIsToldInWholeSeconds() {
    let cases: [(Int64?, Int64?)] = [(nil, nil), (0, 0), (1, 1), (1000, 1), (1001, 2)]
    for (milliseconds, seconds) in cases {
      let refusal = Refusal(.overloaded, "", retryAfterMilliseconds: milliseconds)
      #expect(refusal.retryAfterSeconds == seconds)
    }
  }

  @Test(
    arguments: [
      (401, .badToken), (402, .planRequired), (403, .badRequest), (404, .notFound),
      (405, .methodNotAllowed), (408, .requestTimeout), (410, .tokenExpired),
      (411, .lengthRequired),
      (413, .bodyTooLarge), (414, .uriTooLong), (415, .unsupportedMediaType),
      (426, .upgradeRequired), (429, .tooManyRequests), (431, .headersTooLarge), (400, .badRequest),
      (500, .internalError), (502, .storeUnavailable), (503, .storeUnavailable),
      (599, .internalError),
      (200, .internalError),
    ] as [(Int, RefusalCode)])
  func bodyThatIsNoProblemIsReadByItsStatus(_ status: Int, _ code: RefusalCode) {
    // Only the relay itself can give these codes.
    let isRelaysAlone = [.badToken, .planRequired, .badRequest, .tokenExpired].contains(code)
    let meaning = isRelaysAlone ? .internalError : code
    for body in ["", "<html>Bad Gateway</html>", "{}", "[]", #"{"code":7}"#] {
      #expect(Refusal.decoded(problem: bytes(body), status: status).code == meaning)
    }
    let unknown = Refusal.decoded(
      problem: bytes(#"{"code":"tooLoud","detail":"Shh.","status":200}"#), status: status)
    // The cause behind a code that this version does not know is unknown too.
    let blamesContent = code == .badRequest || code == .bodyTooLarge
    #expect(unknown == Refusal(blamesContent ? .internalError : code, "Shh."))
  }

  @Test func mutatedProblemIsAlwaysRead() {
    var random = SeededRandom(seed: 81)
    for _ in 0..<5_000 {
      var body = random.refusal().encodedProblem()
      for _ in 0..<random.count(1...3) { body.mutate(using: &random) }
      _ = Refusal.decoded(problem: body, status: random.count(100...599))
    }
  }
}

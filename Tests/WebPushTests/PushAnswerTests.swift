import LockstepModel
import LockstepWebPush
import Testing

struct PushAnswerTests {
  /// Sun, 01 Mar 2026 12:00:00 GMT.
  private static let noon: Int64 = 1_772_366_400_000

  @Test(arguments: [
    (200, PushAnswer.sent), (201, .sent), (202, .sent), (204, .sent), (404, .gone), (410, .gone),
    (400, .invalid(status: 400)), (413, .invalid(status: 413)), (401, .keyRefused(status: 401)),
    (403, .keyRefused(status: 403)), (429, .throttled(milliseconds: 60_000)),
    (503, .paused(milliseconds: 60_000)), (300, .redirected(status: 300)),
    (301, .redirected(status: 301)), (302, .redirected(status: 302)),
    (303, .redirected(status: 303)), (307, .redirected(status: 307)),
    (308, .redirected(status: 308)), (100, .failed(status: 100)), (203, .failed(status: 203)),
    (402, .failed(status: 402)), (408, .failed(status: 408)), (500, .failed(status: 500)),
    (502, .failed(status: 502)), (504, .failed(status: 504)), (599, .failed(status: 599)),
    (0, .failed(status: 0)), (-1, .failed(status: -1)), (.max, .failed(status: .max)),
  ])
  func eachStatusHasItsMeaning(status: Int, answer: PushAnswer) {
    #expect(PushAnswer(status: status, retryAfter: nil, at: Self.noon) == answer)
  }

  @Test(
    arguments: [
      ("0", 1_000), ("1", 1_000), ("120", 120_000), ("0120", 120_000), ("86400", 86_400_000),
      ("86401", 86_400_000), ("9223372036854775807", 86_400_000),
      ("99999999999999999999999999", 86_400_000), ("Sun, 01 Mar 2026 12:02:00 GMT", 120_000),
      ("Sun, 01 Mar 2026 12:00:00 GMT", 1_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 1_000),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400_000),
      // Not readable.
      ("", 60_000), ("-1", 60_000), ("+1", 60_000), ("1.5", 60_000), ("1e3", 60_000),
      (" 1", 60_000),
      ("soon", 60_000), ("Mon, 01 Mar 2026 12:02:00 GMT", 60_000),
      ("Sun, 01 Mar 2026 12:02:00", 60_000), ("Sunday, 01-Mar-26 12:02:00 GMT", 60_000),
      ("２", 60_000),
    ] as [(String, Int64)])
  func thePauseIsReadAndBounded(text: String, milliseconds: Int64) {
    #expect(
      PushAnswer(status: 503, retryAfter: text, at: Self.noon)
        == .paused(milliseconds: milliseconds))
    #expect(
      PushAnswer(status: 429, retryAfter: text, at: Self.noon)
        == .throttled(milliseconds: milliseconds))
    #expect(PushAnswer(status: 201, retryAfter: text, at: Self.noon) == .sent)
  }

  @Test func aWrongClockDoesNotLengthenThePause() {
    for wall in [Int64.min, -1, 0, .max] {
      guard
        case .paused(let pause) = PushAnswer(
          status: 503, retryAfter: "Sun, 01 Mar 2026 12:02:00 GMT", at: wall)
      else {
        Issue.record("503 is a pause")
        return
      }
      #expect(Limits.wakePauses.contains(pause))
    }
  }
}

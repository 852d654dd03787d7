import Changes
import Testing

@testable import Devices

struct BackoffTests {
  @Test func waitsStayBelowACeilingThatDoubles() {
    var random = SeededRandom(seed: 1)
    for round in 0..<300 {
      var backoff = Backoff()
      for failure in 0..<12 {
        let wait = backoff.next(random: &random)
        let ceiling = min(
          Limits.backoffMilliseconds, Limits.backoffFirstMilliseconds << Int64(failure))
        #expect((0...ceiling).contains(wait), "round \(round), failure \(failure)")
      }
    }
  }

  @Test func jitterIsFull() {
    var random = SeededRandom(seed: 2)
    var backoff = Backoff()
    for _ in 0..<20 { _ = backoff.next(random: &random) }
    let waits = (0..<500).map { _ in backoff.next(random: &random) }
    #expect(waits.contains { $0 < Limits.backoffMilliseconds / 10 })
    #expect(waits.contains { $0 > Limits.backoffMilliseconds * 9 / 10 })
  }

  @Test func theRelaysWishIsObeyed() {
    var random = SeededRandom(seed: 3)
    var backoff = Backoff()
    #expect(backoff.next(retryAfterMilliseconds: 20_000, random: &random) >= 20_000)
    let most = Limits.retryAfterMilliseconds + Limits.backoffMilliseconds
    #expect(backoff.next(retryAfterMilliseconds: .max, random: &random) <= most)
    #expect(backoff.next(retryAfterMilliseconds: -5, random: &random) >= 0)
  }

  @Test func successBeginsAnew() {
    var random = SeededRandom(seed: 4)
    var backoff = Backoff()
    for _ in 0..<30 { _ = backoff.next(random: &random) }
    backoff.reset()
    #expect(backoff.failures == 0)
    #expect(backoff.next(random: &random) <= Limits.backoffFirstMilliseconds)
  }
}

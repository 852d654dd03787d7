import LockstepModel
import Testing

@testable import LockstepClient

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

  /// Returns the times in milliseconds, sorted, at which devices that lost their relay together are
  /// connected again: their tries fail until the relay is back after `outage`.
  private func returns(devices: Int, spread: Int64, outage: Int64, seed: UInt64) -> [Int64] {
    var random = SeededRandom(seed: seed)
    return (0..<devices).map { _ in
      var backoff = Backoff()
      var time = backoff.next(spreadMilliseconds: spread, random: &random)
      while time < outage { time += backoff.next(spreadMilliseconds: spread, random: &random) + 1 }
      return time
    }.sorted()
  }

  /// Returns the greatest number of connections within any second.
  private func most(_ times: [Int64]) -> Int {
    var most = 0
    var first = 0
    for (index, time) in times.enumerated() {
      while time - times[first] >= 1_000 { first += 1 }
      most = max(most, index - first + 1)
    }
    return most
  }

  @Test(arguments: [400, 50_000], [0, 500, 2_000, 10_000, 60_000] as [Int64])
  func ofACrowdAFifthAtMostIsBackInAnySecond(devices: Int, outage: Int64) {
    // The value that a relay with so many devices sends.
    let spread: Int64 = devices == 400 ? 15_000 : 50_000
    let times = returns(devices: devices, spread: spread, outage: outage, seed: 7)
    #expect(most(times) <= devices / 5)
  }

  @Test func aHouseholdIsBackAtOnce() {
    for seed in 0..<100 as Range<UInt64> {
      #expect(returns(devices: 3, spread: 0, outage: 0, seed: seed).allSatisfy { $0 < 1_000 })
    }
  }

  @Test func aWaitThatTheRelayAskedForIsNotSpreadAgain() {
    var random = SeededRandom(seed: 5)
    for _ in 0..<100 {
      var backoff = Backoff()
      let wait = backoff.next(
        retryAfterMilliseconds: 4_000, spreadMilliseconds: 60_000, random: &random)
      #expect((4_000...4_000 + Limits.backoffFirstMilliseconds).contains(wait))
    }
  }

  @Test func aRelayCannotSendDevicesAwayForLong() {
    var random = SeededRandom(seed: 6)
    var backoff = Backoff()
    let wait = backoff.next(spreadMilliseconds: .max, random: &random)
    #expect(wait <= Limits.reconnectObeyedMilliseconds)
  }
}

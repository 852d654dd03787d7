import LockstepModel
import Testing

@testable import LockstepClient

struct RelayClockTests {
  /// Returns a moment `milliseconds` on the monotonic clock; the wall clock is `skew` ahead of it.
  private func moment(_ milliseconds: Int64, skew: Int64 = 1_000_000) -> Moment {
    Moment(
      instant: Instant(nanoseconds: milliseconds * 1_000_000), wall: milliseconds + skew)
  }

  private func sample(_ sent: Int64, _ received: Int64, relay: Int64, held: Int64 = 0)
    -> RelayClock.Sample
  {
    RelayClock.Sample(
      sent: Instant(nanoseconds: sent * 1_000_000),
      received: Instant(nanoseconds: received * 1_000_000), relayTime: relay,
      heldMilliseconds: held)
  }

  @Test func beforeAnyMeasurementItIsWhatTheHomeRemembers() {
    var clock = RelayClock()
    clock.rememberedOffset = 250
    let reading = clock.reading(at: moment(100))
    #expect(reading.relayTime == 1_000_350)
    #expect(!reading.isTrusted)
    #expect(!reading.isMeasured)
  }

  @Test func theOffsetIsTakenFromTheMiddleOfTheWay() {
    var clock = RelayClock()
    // The relay reported 5,000 half way between 100 and 140.
    clock.add(sample(100, 140, relay: 5_000))
    let reading = clock.reading(at: moment(120))
    #expect(reading.relayTime == 5_000)
    #expect(reading.isTrusted)
    #expect(reading.offset == 5_000 - 1_000_120)
  }

  @Test func theShortestWayWins() {
    var clock = RelayClock()
    clock.add(sample(100, 104, relay: 5_000))
    clock.add(sample(200, 400, relay: 5_130))
    #expect(clock.reading(at: moment(102)).relayTime == 5_000)
    clock.add(sample(500, 502, relay: 5_399))
    #expect(clock.reading(at: moment(501)).relayTime == 5_399)
  }

  @Test func whatTheRelayHeldDoesNotCountAsWay() {
    var clock = RelayClock()
    clock.add(sample(100, 1_104, relay: 5_000, held: 1_000))
    clock.add(sample(2_000, 2_100, relay: 6_430))
    #expect(clock.reading(at: moment(602)).relayTime == 5_000)
  }

  @Test func aRelayWhoseClockMovedIsFollowed() {
    var clock = RelayClock()
    clock.add(sample(100, 102, relay: 5_000))
    clock.add(sample(200, 300, relay: 65_149))
    #expect(clock.reading(at: moment(250)).relayTime == 65_149)
  }

  @Test func somebodyWhoSetsTheWallClockDoesNotMoveRelayTime() {
    var clock = RelayClock()
    clock.observe(moment(100))
    clock.add(sample(100, 100, relay: 5_000))
    let jumped = moment(200, skew: -3_600_000)
    clock.observe(jumped)
    #expect(clock.reading(at: jumped).relayTime == 5_100)
    #expect(!clock.reading(at: jumped).isTrusted)
    clock.add(sample(210, 212, relay: 5_111))
    #expect(clock.reading(at: jumped).isTrusted)
  }

  @Test func aSmallCorrectionOfTheWallClockIsNoJump() {
    var clock = RelayClock()
    clock.add(sample(100, 102, relay: 5_000))
    for step in 0..<100 {
      clock.observe(moment(200 + Int64(step), skew: 1_000_000 + Int64(step) * 900))
    }
    #expect(!clock.isInvalidated)
  }

  @Test func trustRunsOut() {
    var clock = RelayClock()
    clock.add(sample(0, 2, relay: 5_000))
    #expect(clock.reading(at: moment(Limits.clockTrustMilliseconds)).isTrusted)
    #expect(!clock.reading(at: moment(Limits.clockTrustMilliseconds + 2)).isTrusted)
    clock.add(sample(Limits.clockTrustMilliseconds, Limits.clockTrustMilliseconds, relay: 9))
    #expect(clock.reading(at: moment(Limits.clockTrustMilliseconds + 2)).isTrusted)
  }

  @Test func aMomentAtTheRelayIsFoundOnTheForwardClock() {
    var clock = RelayClock()
    clock.add(sample(100, 100, relay: 5_000))
    #expect(clock.instant(of: 5_700, at: moment(200)) == moment(800).instant)
    #expect(clock.instant(of: 4_000, at: moment(200)) == moment(200).instant)
  }

  @Test func whatTheRelayDidIsFoundOnTheForwardClock() throws {
    var clock = RelayClock()
    let timing = SaveTiming(received: 5_020_000, durable: 5_021_500, pushed: 5_022_000)
    #expect(clock.relayTimes(timing, at: moment(140)) == nil)
    clock.add(sample(100, 140, relay: 5_000))
    let relayTimes = try #require(clock.relayTimes(timing, at: moment(140)))
    #expect(relayTimes.received == moment(140).instant)
    #expect(relayTimes.durable.nanoseconds == 141_500_000)
    #expect(relayTimes.pushed == moment(142).instant)
    // Half the round trip, and the truncation of both relay times.
    #expect(relayTimes.errorNanoseconds == 21_000_000)
    let later = try #require(clock.relayTimes(timing, at: moment(5_140)))
    #expect(later.errorNanoseconds == 22_000_000)
    for time in [-1_000, Int64.max] {
      let mad = SaveTiming(received: 5_020_000, durable: time, pushed: 5_022_000)
      #expect(clock.relayTimes(mad, at: moment(140)) == nil)
    }
    clock.invalidate()
    #expect(clock.relayTimes(timing, at: moment(140)) == nil)
  }

  @Test(arguments: [-1, Int64(1) << 43, (Int64(1) << 53) - 1, .max])
  func whatNoRelayMaySayIsNotTaken(_ time: Int64) {
    var clock = RelayClock()
    clock.add(sample(100, 102, relay: time))
    #expect(!clock.isKnown)
    clock.add(sample(100, 102, relay: 5_000, held: time))
    #expect(clock.reading(at: moment(101)).isTrusted)
    #expect(clock.instant(of: .min, at: moment(101)) == moment(101).instant)
  }

  @Test func theLastYearsOfItsRangeFit() {
    var clock = RelayClock()
    let last = (Int64(1) << 43) - 1
    clock.add(sample(100, 102, relay: last))
    clock.add(sample(200, 202, relay: 0))
    clock.add(sample(300, 302, relay: last))
    #expect(clock.reading(at: moment(301)).relayTime == last)
  }

  @Test func aRememberedOffsetFollowsTheWallClocksSteps() {
    var clock = RelayClock()
    clock.rememberedOffset = 250
    clock.observe(moment(100))
    let jumped = moment(200, skew: 1_060_000)
    clock.observe(jumped)
    #expect(clock.reading(at: jumped).relayTime == 1_000_450)
    #expect(clock.reading(at: jumped).wallSteps == 60_000)
  }
}

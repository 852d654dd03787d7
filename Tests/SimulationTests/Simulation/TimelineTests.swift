import LockstepModel
import LockstepSimulation
import Simulator
import Testing

struct TimelineTests {
  @Test func eventsHappenInOrderOfTimeAndThenOfAsking() {
    let timeline = Timeline()
    var happened: [Int] = []
    var random = SeededRandom(seed: 3)
    let times = (0..<300).map { _ in Int64.random(in: 0..<40, using: &random) }
    for (index, time) in times.enumerated() { timeline.at(time) { happened.append(index) } }
    while timeline.step(until: 100) {}
    let expected = times.indices.sorted { (times[$0], $0) < (times[$1], $1) }
    #expect(happened == expected)
    #expect(timeline.now == 100)
  }

  @Test func nothingHappensBeyondTheLimit() {
    let timeline = Timeline()
    var happened = false
    timeline.after(10) { happened = true }
    #expect(!timeline.step(until: 9))
    #expect(!happened)
    #expect(timeline.step(until: 10))
    #expect(happened)
  }

  @Test(arguments: [-200, 0, 37] as [Int64])
  func clocksComeBackToTheWorldsTime(drift: Int64) {
    let clock = VirtualClock(start: 123_456_789, driftPartsPerMillion: drift)
    var random = SeededRandom(seed: 5)
    for _ in 0..<1_000 {
      let time = Int64.random(in: 0..<Span.seconds(100_000), using: &random)
      let instant = clock.moment(at: time).instant
      let back = clock.simulationTime(of: instant)
      #expect(clock.moment(at: back).instant >= instant)
      #expect(back == 0 || clock.moment(at: back - 1).instant < instant)
    }
  }

  @Test func theWallClockJumpsAndTheForwardClockDoesNot() {
    var clock = VirtualClock()
    let before = clock.moment(at: Span.seconds(5))
    clock.offsetMilliseconds -= 3_000
    let after = clock.moment(at: Span.seconds(5))
    #expect(after.instant == before.instant)
    #expect(after.wall == before.wall - 3_000)
  }
}

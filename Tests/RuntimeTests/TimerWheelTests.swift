import LockstepModel
import LockstepRuntime
import Testing

struct TimerWheelTests {
  private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func emptyWheelWantsNothing() {
    var wheel = TimerWheel<Int>()
    #expect(wheel.next == nil)
    #expect(wheel.popExpired(at: at(1_000)) == nil)
    wheel.cancel(7)
    #expect(wheel.count == 0)
  }

  @Test func timersExpireInTheOrderOfTheirDeadlines() {
    var wheel = TimerWheel<Int>()
    wheel.schedule(3, at: at(90_000))
    wheel.schedule(1, at: at(3))
    wheel.schedule(2, at: at(700))
    #expect(wheel.next == at(3))
    #expect(wheel.popExpired(at: at(2)) == nil)
    #expect(wheel.popExpired(at: at(100_000)) == 1)
    #expect(wheel.popExpired(at: at(100_000)) == 2)
    #expect(wheel.popExpired(at: at(100_000)) == 3)
    #expect(wheel.popExpired(at: at(100_000)) == nil)
  }

  @Test func equalDeadlinesKeepTheOrderOfScheduling() {
    var wheel = TimerWheel<Int>()
    for id in 0..<100 { wheel.schedule(id, at: at(5_000)) }
    wheel.schedule(0, at: at(5_000))
    #expect(wheel.popExpired(at: at(4_990)) == nil)
    wheel.schedule(100, at: at(5_000))
    let expired = (0..<101).map { _ in wheel.popExpired(at: at(5_000)) }
    #expect(expired == Array(1..<100) + [0, 100])
  }

  @Test func aTimerIsNeverEarlyAndLessThanAMillisecondLate() {
    var wheel = TimerWheel<Int>()
    wheel.schedule(1, at: Instant(nanoseconds: 5_000_001))
    #expect(wheel.popExpired(at: Instant(nanoseconds: 5_999_999)) == nil)
    #expect(wheel.next == at(6))
    #expect(wheel.popExpired(at: at(6)) == 1)
  }

  @Test func movingReplacesAndCancellingDrops() {
    var wheel = TimerWheel<Int>()
    wheel.schedule(1, at: at(10))
    wheel.schedule(1, at: at(500))
    wheel.schedule(2, at: at(20))
    wheel.cancel(2)
    #expect(wheel.count == 1)
    #expect(wheel.popExpired(at: at(499)) == nil)
    #expect(wheel.popExpired(at: at(500)) == 1)
    #expect(wheel.next == nil)
  }

  @Test func aDeadlineThatHasPassedExpiresAtOnce() {
    var wheel = TimerWheel<Int>()
    #expect(wheel.popExpired(at: at(1_000)) == nil)
    wheel.schedule(1, at: at(5))
    #expect(wheel.next == at(1_000))
    #expect(wheel.popExpired(at: at(1_000)) == 1)
  }

  @Test func theEndOfTimeIsNoTrap() {
    var wheel = TimerWheel<Int>()
    wheel.schedule(1, at: Instant(nanoseconds: .max))
    #expect(wheel.next == Instant(nanoseconds: .max))
    #expect(wheel.popExpired(at: at(1 << 40)) == nil)
    #expect(wheel.count == 1)
  }

  @Test func manyTimersFarAheadNeverMakeNextLate() {
    var wheel = TimerWheel<Int>()
    for id in 0..<1_000 { wheel.schedule(id, at: at(20_000 + Int64(id))) }
    var wakes = 0
    var expired: [Int] = []
    while let next = wheel.next {
      wakes += 1
      while let id = wheel.popExpired(at: next) {
        expired.append(id)
        #expect(next == at(20_000 + Int64(id)))
      }
    }
    #expect(expired == Array(0..<1_000))
    // One wake per timer, and a few to sort them.
    #expect(wakes < 1_050)
  }

  @Test(arguments: 0..<20)
  func randomOperationsAgreeWithASortedArray(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var wheel = TimerWheel<Int>()
    var model = SortedTimers()
    var now: Int64 = seed < 10 ? 0 : 1_234_567_890_123_456
    let spans: [Int64] = [3, 100, 5_000, 300_000, 400_000_000]
    for _ in 0..<4_000 {
      let id = Int.random(in: 0..<200, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0...4:
        let span = spans[Int.random(in: 0..<spans.count, using: &random)]
        let deadline = now + Int64.random(in: -2...span, using: &random) * 1_000_000
        let instant = Instant(nanoseconds: max(0, deadline + Int64(id % 3) * 499_999))
        wheel.schedule(id, at: instant)
        model.schedule(id, at: instant)
      case 5:
        wheel.cancel(id)
        model.cancel(id)
      case 6, 7:
        let expected = model.popExpired(at: Instant(nanoseconds: now))
        #expect(wheel.popExpired(at: Instant(nanoseconds: now)) == expected)
      default:
        let spanned = spans[Int.random(in: 0..<4, using: &random)]
        now += Int64.random(in: 0...spanned * 500_000, using: &random)
        while let expected = model.popExpired(at: Instant(nanoseconds: now)) {
          #expect(wheel.popExpired(at: Instant(nanoseconds: now)) == expected)
        }
        #expect(wheel.popExpired(at: Instant(nanoseconds: now)) == nil)
      }
      #expect(wheel.count == model.timers.count)
      agree(wheel.next, model)
    }
  }

  /// `next` is exact for up to thirty-two timers; with more it may be early, never late.
  private func agree(_ next: Instant?, _ model: SortedTimers) {
    guard let expected = model.next, let next else {
      #expect(next == model.next)
      return
    }
    #expect(model.timers.count > 32 ? next <= expected : next == expected)
  }
}

/// Reference model of the wheel: a sorted array.
private struct SortedTimers {
  struct Timer {
    var id: Int
    var tick: Int64
  }

  var timers: [Timer] = []
  var position: Int64 = 0

  var next: Instant? {
    timers.first.map { Instant(nanoseconds: $0.tick * 1_000_000) }
  }

  mutating func schedule(_ id: Int, at deadline: Instant) {
    cancel(id)
    let tick = max(position, (deadline.nanoseconds + 999_999) / 1_000_000)
    let index = timers.firstIndex { $0.tick > tick } ?? timers.count
    timers.insert(Timer(id: id, tick: tick), at: index)
  }

  mutating func cancel(_ id: Int) { timers.removeAll { $0.id == id } }

  mutating func popExpired(at now: Instant) -> Int? {
    let target = now.nanoseconds / 1_000_000
    guard let first = timers.first, first.tick <= target else {
      position = max(position, target)
      return nil
    }
    position = first.tick
    return timers.removeFirst().id
  }
}

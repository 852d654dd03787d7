import LockstepModel
import LockstepSimulation
import LockstepWire
import Simulator
import Testing

struct SeatTests {
  private let outside = SimulationEnvironment(random: SeededRandom(seed: 1))

  private func seat(drift: Int64 = 0) -> Seat<ToyNode> {
    let clock = VirtualClock(start: 1_000, driftPartsPerMillion: drift)
    return Seat(name: "toy", outside: outside, clock: { clock }, node: ToyNode())
  }

  private func run() { while outside.timeline.step(until: Span.seconds(100)) {} }

  @Test func aNodeIsWokenAtItsOwnClocksInstant() {
    let seat = seat(drift: 500)
    var heard: [ToyNode.Report] = []
    seat.onReport = { heard.append($0) }
    let asked = seat.moment.instant.advanced(milliseconds: 250)
    seat.handle(.ordered(.wake(after: 250)))
    run()
    #expect(heard == [.woke(asked)])
  }

  @Test func aLaterDeadlineReplacesAnEarlierOne() {
    let seat = seat()
    var heard: [ToyNode.Report] = []
    seat.onReport = { heard.append($0) }
    seat.handle(.ordered(.wake(after: 10)))
    seat.handle(.ordered(.wake(after: 30)))
    run()
    #expect(heard == [.woke(Instant(nanoseconds: 1_000 + Span.milliseconds(30)))])
  }

  @Test func aSuspendedProcessHearsAllThatCameOnceItGoesOn() {
    let seat = seat()
    var heard = 0
    var jobs: [String] = []
    seat.onReport = { _ in heard += 1 }
    seat.onJob = { _, _, job in jobs.append(job) }
    seat.handle(.ordered(.wake(after: 10)))
    seat.suspend()
    seat.handle(.ordered(.run(1, "job")))
    run()
    #expect(heard == 0 && jobs.isEmpty && seat.isSuspended)
    seat.resume()
    #expect(heard == 1 && jobs == ["job"] && !seat.isSuspended)
  }

  @Test func aNodeThatNeverSleepsIsFound() {
    let seat = seat()
    seat.onReport = { [unowned seat] _ in
      outside.timeline.after(0) { seat.handle(.ordered(.wake(after: 0))) }
    }
    seat.handle(.ordered(.wake(after: 0)))
    for _ in 0..<10_000 where outside.faults.isEmpty {
      _ = outside.timeline.step(until: Span.seconds(1))
    }
    #expect(outside.faults.count == 1)
  }

  @Test func aProcessDiesInTheMiddleOfWhatItDoes() {
    let seat = seat()
    var jobs: [String] = []
    var isDead = false
    seat.onJob = { _, _, job in jobs.append(job) }
    seat.kill(afterActions: 2) { isDead = true }
    for number in 0..<4 { seat.handle(.ordered(.run(UInt64(number), "job \(number)"))) }
    #expect(jobs == ["job 0", "job 1"])
    #expect(isDead)
    #expect(!seat.isAlive)
  }

  @Test func aWorkerDropsWhatHadNoEffectYet() {
    var random = SeededRandom(seed: 2)
    var effects: [Int] = []
    var outcomes: [Int] = []
    let worker = VirtualWorker<Int>(
      timeline: outside.timeline, random: random.branch(),
      pace: .init(
        effect: 100...100, outcome: 100...100, portions: WorkPortions(cost: 1, lightCost: 1))
    ) { works in
      effects += works
      return { outcomes += works }
    }
    for number in 0..<3 { worker.add(number) }
    while outside.timeline.step(until: 350) {}
    worker.drop()
    run()
    #expect(effects == [0, 1])
    #expect(outcomes == [0])
    #expect(worker.isIdle)
  }

  @Test func aMailboxKeepsItsOrder() {
    var random = SeededRandom(seed: 2)
    let mailbox = VirtualMailbox(
      timeline: outside.timeline, random: random.branch(), delay: 1...1_000)
    var heard: [Int] = []
    for number in 0..<50 { mailbox.post { heard.append(number) } }
    run()
    #expect(heard == Array(0..<50))
  }
}

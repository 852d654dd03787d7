import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepWire
import Simulator
import Testing

struct SeatTests {
  private let environment = SimulationEnvironment(random: SeededRandom(seed: 1))

  private func driver(drift: Int64 = 0) -> NodeDriver<ToyNode> {
    let clock = VirtualClock(start: 1_000, driftPartsPerMillion: drift)
    return NodeDriver(name: "toy", environment: environment, clock: { clock }, node: ToyNode())
  }

  private func run() { while environment.timeline.step(until: Span.seconds(100)) {} }

  @Test func aNodeIsWokenAtItsOwnClocksInstant() {
    let driver = driver(drift: 500)
    var heard: [ToyNode.Report] = []
    driver.onReport = { heard.append($0) }
    let asked = driver.moment.instant.advanced(milliseconds: 250)
    driver.handle(.ordered(.wake(after: 250)))
    run()
    #expect(heard == [.woke(asked)])
  }

  @Test func aLaterDeadlineReplacesAnEarlierOne() {
    let driver = driver()
    var heard: [ToyNode.Report] = []
    driver.onReport = { heard.append($0) }
    driver.handle(.ordered(.wake(after: 10)))
    driver.handle(.ordered(.wake(after: 30)))
    run()
    #expect(heard == [.woke(Instant(nanoseconds: 1_000 + Span.milliseconds(30)))])
  }

  @Test func aSuspendedProcessHearsAllThatCameOnceItGoesOn() {
    let driver = driver()
    var heard = 0
    var jobs: [String] = []
    driver.onReport = { _ in heard += 1 }
    driver.onJob = { _, job in if case .read(let job) = job { jobs.append(job) } }
    driver.handle(.ordered(.wake(after: 10)))
    driver.suspend()
    driver.handle(.ordered(.run(1, "job")))
    run()
    #expect(heard == 0 && jobs.isEmpty && driver.isSuspended)
    driver.resume()
    #expect(heard == 1 && jobs == ["job"] && !driver.isSuspended)
  }

  @Test func aNodeThatNeverSleepsIsFound() {
    let driver = driver()
    driver.onReport = { [unowned driver] _ in
      environment.timeline.after(0) { driver.handle(.ordered(.wake(after: 0))) }
    }
    driver.handle(.ordered(.wake(after: 0)))
    for _ in 0..<10_000 where environment.faults.isEmpty {
      _ = environment.timeline.step(until: Span.seconds(1))
    }
    #expect(environment.faults.count == 1)
  }

  @Test func aProcessDiesInTheMiddleOfWhatItDoes() {
    let driver = driver()
    var jobs: [String] = []
    var isDead = false
    driver.onJob = { _, job in if case .read(let job) = job { jobs.append(job) } }
    driver.kill(afterActions: 2) { isDead = true }
    for number in 0..<4 { driver.handle(.ordered(.run(UInt64(number), "job \(number)"))) }
    #expect(jobs == ["job 0", "job 1"])
    #expect(isDead)
    #expect(!driver.isAlive)
  }

  @Test func aWorkerDropsWhatHadNoEffectYet() {
    var random = SeededRandom(seed: 2)
    var effects: [Int] = []
    var outcomes: [Int] = []
    let worker = VirtualWorker<Int>(
      timeline: environment.timeline, random: random.branch(),
      pace: .init(
        effect: 100...100, outcome: 100...100, portions: WorkPortions(cost: 1, lightCost: 1))
    ) { works in
      effects += works
      return { outcomes += works }
    }
    for number in 0..<3 { worker.add(number) }
    while environment.timeline.step(until: 350) {}
    worker.drop()
    run()
    #expect(effects == [0, 1])
    #expect(outcomes == [0])
    #expect(worker.isIdle)
  }

  @Test func aMailboxKeepsItsOrder() {
    var random = SeededRandom(seed: 2)
    let mailbox = VirtualMailbox(
      timeline: environment.timeline, random: random.branch(), delay: 1...1_000)
    var heard: [Int] = []
    for number in 0..<50 { mailbox.post { heard.append(number) } }
    run()
    #expect(heard == Array(0..<50))
  }
}

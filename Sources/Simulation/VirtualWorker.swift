import Changes
import Link

/// Does blocking work for nodes: one lane of it. Jobs wait, are taken in portions (`Backlog`), have
/// their effect at some instant, and their outcome is known some time after.
package final class VirtualWorker<Work> {
  package struct Pace {
    /// How long work takes until it has its effect, and from there to its outcome; nanoseconds.
    package var effect: ClosedRange<Int64>
    package var outcome: ClosedRange<Int64>
    /// What is taken at once.
    package var portions: WorkPortions

    package init(
      effect: ClosedRange<Int64>, outcome: ClosedRange<Int64>, portions: WorkPortions
    ) {
      self.effect = effect
      self.outcome = outcome
      self.portions = portions
    }
  }

  private let timeline: Timeline
  private var random: SeededRandom
  private let pace: Pace
  /// Has the effect now; what it returns is run when the outcome is known, unless the process has
  /// died in between.
  private let perform: ([Work]) -> () -> Void
  private let weigh: (Work) -> WorkWeight
  private var waiting: Backlog<Work>
  private var isBusy = false
  private var generation = 0
  /// The most jobs that ever waited.
  package private(set) var waitingMax = 0

  package init(
    timeline: Timeline, random: SeededRandom, pace: Pace,
    weigh: @escaping (Work) -> WorkWeight = { _ in WorkWeight() },
    perform: @escaping ([Work]) -> () -> Void
  ) {
    self.timeline = timeline
    self.random = random
    self.pace = pace
    self.weigh = weigh
    self.perform = perform
    waiting = Backlog(pace.portions)
  }

  package var isIdle: Bool { waiting.isEmpty && !isBusy }

  package func add(_ work: Work) {
    waiting.add(work, weigh(work))
    waitingMax = max(waitingMax, waiting.count)
    start()
  }

  /// The process died: what had its effect stays done, all else never was.
  package func drop() {
    waiting = Backlog(pace.portions)
    isBusy = false
    generation += 1
  }

  private func start() {
    guard !isBusy, !waiting.isEmpty else { return }
    isBusy = true
    let began = generation
    timeline.after(random.number(in: pace.effect)) { [unowned self] in
      guard began == generation else { return }
      let conclude = perform(waiting.nextPortion())
      timeline.after(random.number(in: pace.outcome)) { [unowned self] in
        guard began == generation else { return }
        isBusy = false
        conclude()
        start()
      }
    }
  }
}

/// Brings things to one node in order, each a little late.
package final class VirtualMailbox {
  private let timeline: Timeline
  private var random: SeededRandom
  private let delay: ClosedRange<Int64>
  private var last: Int64 = 0

  package init(timeline: Timeline, random: SeededRandom, delay: ClosedRange<Int64>) {
    self.timeline = timeline
    self.random = random
    self.delay = delay
  }

  package func post(_ deliver: @escaping () -> Void) {
    last = max(last + 1, timeline.now + random.number(in: delay))
    timeline.at(last, deliver)
  }
}

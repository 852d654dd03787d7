import LockstepModel
import LockstepRuntime
import LockstepWire

/// One lane of blocking work for nodes. Jobs wait, are taken in portions (`Backlog`), take effect
/// at one instant, and return their outcome some time later.
package final class VirtualWorker<Work> {
  package struct Pace {
    /// Time until work takes effect, and from there to its outcome; nanoseconds.
    package var effect: ClosedRange<Int64>
    package var outcome: ClosedRange<Int64>
    /// Limits of one portion.
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
  /// Performs the work. The returned closure runs when the outcome is known, unless the process has
  /// died in between.
  private let perform: ([Work]) -> () -> Void
  private let weigh: (Work) -> WorkWeight
  private var waiting: Backlog<Work>
  /// Work added since the last portion; usually nothing else waits.
  private var newcomers: [Work] = []
  private var isBusy = false
  private var generation = 0
  /// Time until which each portion is slowed down, and the maximum delay.
  private var slow: (until: Int64, nanoseconds: Int64) = (0, 0)
  /// Maximum number of jobs that ever waited.
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

  package var isIdle: Bool { count == 0 && !isBusy }

  private var count: Int { waiting.count + newcomers.count }

  /// Delays each portion by up to `nanoseconds`, before or after its effect, until `time`.
  package func slowDown(until time: Int64, by nanoseconds: Int64) { slow = (time, nanoseconds) }

  package func add(_ work: Work) {
    newcomers.append(work)
    waitingMax = max(waitingMax, count)
    start()
  }

  /// Handles the death of the process: work that took effect stays done, all other work is dropped.
  package func drop() {
    waiting = Backlog(pace.portions)
    newcomers = []
    isBusy = false
    generation += 1
  }

  private func start() {
    guard !isBusy, count > 0 else { return }
    isBusy = true
    let began = generation
    let more = slow.until > timeline.now ? random.number(in: 0...slow.nanoseconds) : 0
    let moreBefore = more > 0 ? random.number(in: 0...more) : 0
    timeline.after(random.number(in: pace.effect) + moreBefore) { [weak self] in
      // A process that started since then has its own worker.
      guard let self, began == generation else { return }
      let portion = waiting.nextPortion(
        adding: newcomers, at: Instant(nanoseconds: timeline.now), weigh)
      newcomers = []
      let conclude = perform(portion)
      timeline.after(random.number(in: pace.outcome) + more - moreBefore) { [weak self] in
        guard let self, began == generation else { return }
        isBusy = false
        conclude()
        start()
      }
    }
  }
}

/// Mailbox of one node: delivers in order, each item with a small delay.
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

public import LockstepModel
public import LockstepWire

/// A thread that does the jobs of one lane, for all nodes of a group: it takes as many as make a
/// portion at once, so that they can share what is dear, such as one commit to disk.
public struct Worker<Job: Sendable, Outcome: Sendable, Order: Sendable, News: Sendable>: Sendable {
  /// Does the jobs, in order, and gives what came of each: its outcome, and what that means for all
  /// nodes. As many results as jobs.
  public typealias Perform = ([Assignment<Job>], Moment) -> [(Outcome, News?)]

  @usableFromInline typealias Mail = NodeMessage<Outcome, Order, News>

  @usableFromInline let jobs: Mailbox<Assignment<Job>>
  let progress: WorkerProgress
  private let thread: LoopThread

  /// What a worker's thread works with; made there, and never seen by another thread.
  public struct WorkerContext {
    @usableFromInline let perform: Perform
    @usableFromInline let rest: () -> Void
    @usableFromInline let portions: WorkPortions
    @usableFromInline let weigh: (Job) -> WorkWeight

    /// `rest` is called when jobs were done and none wait: for what would only be in their way.
    /// `portions` and `weigh` say what is done together and who goes first where much waits
    /// (`Backlog`); without them it is all the same, and goes in its order.
    @inlinable
    public init(
      portions: WorkPortions = WorkPortions(cost: Limits.jobsAPortion, lightCost: 1),
      weigh: @escaping (Job) -> WorkWeight = { _ in WorkWeight() },
      perform: @escaping Perform, rest: @escaping () -> Void = {}
    ) {
      self.perform = perform
      self.rest = rest
      self.portions = portions
      self.weigh = weigh
    }
  }

  /// Makes it possible to hand a closure that is not Sendable to the one thread that calls it.
  @usableFromInline
  final class Handover: @unchecked Sendable {
    @usableFromInline let makeWorkplace: () -> WorkerContext
    @usableFromInline init(_ makeWorkplace: @escaping () -> WorkerContext) {
      self.makeWorkplace = makeWorkplace
    }
  }

  @usableFromInline
  init(jobs: Mailbox<Assignment<Job>>, progress: WorkerProgress, thread: LoopThread) {
    self.jobs = jobs
    self.progress = progress
    self.thread = thread
  }

  @inlinable
  static func start(
    _ lane: Lane, nodes: [Mailbox<Mail>], _ makeWorkplace: sending @escaping () -> WorkerContext
  ) throws(SystemFault) -> Worker {
    let jobs = try Mailbox<Assignment<Job>>(isBlocking: true)
    let handover = Handover(makeWorkplace)
    let progress = WorkerProgress()
    let thread = try LoopThread("\(lane)", lane == .commits ? .prompt : .patient) {
      work(on: jobs, for: nodes, at: handover.makeWorkplace(), progress)
    }
    return Worker(jobs: jobs, progress: progress, thread: thread)
  }

  @inlinable
  static func work(
    on jobs: Mailbox<Assignment<Job>>, for nodes: [Mailbox<Mail>], at workplace: WorkerContext,
    _ progress: WorkerProgress
  ) {
    var newcomers: [Assignment<Job>] = []
    var backlog = Backlog<Assignment<Job>>(workplace.portions)
    var letters = [[Mail]](repeating: [], count: nodes.count)
    while true {
      if backlog.isEmpty {
        guard jobs.waitForMessages(into: &newcomers) else { return }
      } else if backlog.isAtRest {
        let isOpen = jobs.waitForMessages(into: &newcomers, until: backlog.nextAt)
        if !isOpen { backlog.hurry() }
      } else {
        jobs.take(into: &newcomers)
      }
      // In portions, so that the first outcomes need not wait for the last, nor all of them stand
      // in memory at once; and who comes meanwhile has a place in the next.
      let start = SystemClock.instant()
      let portion = backlog.nextPortion(adding: newcomers, at: start) { workplace.weigh($0.job) }
      newcomers.removeAll(keepingCapacity: true)
      if portion.isEmpty { continue }
      progress.begin()
      perform(portion, for: nodes, at: workplace, &letters)
      // Before the workplace rests: what it does then is nobody's.
      backlog.performed(from: start, to: SystemClock.instant())
      if backlog.isAtRest, jobs.isEmpty { workplace.rest() }
      progress.end()
    }
  }

  @inlinable
  static func perform(
    _ batch: [Assignment<Job>], for nodes: [Mailbox<Mail>], at workplace: WorkerContext,
    _ letters: inout [[Mail]]
  ) {
    let results = workplace.perform(batch, SystemClock.moment())
    precondition(results.count == batch.count, "a job without an outcome")
    for (assignment, (outcome, news)) in zip(batch, results) {
      // The news first, to all, so that a node never learns of its own job's outcome before what
      // it means; and all nodes learn of all commits in the same order.
      if let news {
        for index in letters.indices { letters[index].append(Mail(.news(news))) }
      }
      letters[assignment.node].append(Mail(.finished(assignment.id, outcome)))
    }
    // As one, so that no node answers that something holds before all others know of it.
    Mailbox.post(&letters, to: nodes)
  }

  /// The jobs that wait are still done; then the thread ends, and this returns.
  @usableFromInline
  func finish() {
    jobs.close()
    thread.join()
  }
}

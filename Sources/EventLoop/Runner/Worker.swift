import LockstepModel
import LockstepRuntime

/// Thread that does the jobs of one lane for all nodes of a group. It takes a portion of several
/// jobs at once, so that they share expensive steps, such as one commit to disk.
@usableFromInline
package struct Worker<N: Node & ~Copyable, Job: Sendable, Outcome: Sendable>: Sendable {
  /// Does the jobs in order. Returns one result per job: its outcome, and the news for all nodes.
  @usableFromInline package typealias Perform = ([Assignment<Job>], Moment) -> [(Outcome, N.News?)]

  @usableFromInline typealias Mail = NodeMessage<N.Outcome, N.Order, N.News>

  @usableFromInline let jobs: Mailbox<Assignment<Job>>
  let progress: WorkerProgress
  private let thread: LoopThread

  /// Context of a worker's thread: created on it, and never used by another thread.
  @usableFromInline
  package struct Context {
    @usableFromInline let perform: Perform
    @usableFromInline let performIdleWork: () -> Void
    @usableFromInline let portions: WorkPortions
    @usableFromInline let weigh: (Job) -> WorkWeight

    /// `performIdleWork` is called after jobs if none wait: for work that would only delay jobs.
    /// `portions` and `weigh` decide which jobs are done together and which are first if many wait
    /// (`Backlog`). By default all jobs are equal and run in order of arrival.
    @inlinable
    package init(
      portions: WorkPortions = WorkPortions(cost: Limits.jobsPerPortion, lightCost: 1),
      weigh: @escaping (Job) -> WorkWeight = { _ in WorkWeight() },
      perform: @escaping Perform, performIdleWork: @escaping () -> Void = {}
    ) {
      self.perform = perform
      self.performIdleWork = performIdleWork
      self.portions = portions
      self.weigh = weigh
    }
  }

  /// Wrapper that passes a non-Sendable closure to the one thread that calls it.
  @usableFromInline
  final class Handover: @unchecked Sendable {
    @usableFromInline let makeContext: () -> Context
    @usableFromInline init(_ makeContext: @escaping () -> Context) {
      self.makeContext = makeContext
    }
  }

  @usableFromInline
  init(jobs: Mailbox<Assignment<Job>>, progress: WorkerProgress, thread: LoopThread) {
    self.jobs = jobs
    self.progress = progress
    self.thread = thread
  }

  /// `wrap`: makes the node's outcome of the lane's.
  @inlinable
  static func start(
    _ lane: Lane, nodes: [Mailbox<Mail>], _ wrap: @escaping @Sendable (Outcome) -> N.Outcome,
    _ makeContext: sending @escaping () -> Context
  ) throws(SystemFault) -> Worker {
    let jobs = try Mailbox<Assignment<Job>>(isBlocking: true)
    let handover = Handover(makeContext)
    let progress = WorkerProgress()
    let thread = try LoopThread("\(lane)", lane == .commits ? .prompt : .patient) {
      work(on: jobs, for: nodes, wrap, at: handover.makeContext(), progress)
    }
    return Worker(jobs: jobs, progress: progress, thread: thread)
  }

  @inlinable
  static func work(
    on jobs: Mailbox<Assignment<Job>>, for nodes: [Mailbox<Mail>],
    _ wrap: (Outcome) -> N.Outcome, at context: Context, _ progress: WorkerProgress
  ) {
    var arrivals: [Assignment<Job>] = []
    var backlog = Backlog<Assignment<Job>>(context.portions)
    var outgoing = [[Mail]](repeating: [], count: nodes.count)
    while true {
      if backlog.isEmpty {
        guard jobs.waitForMessages(into: &arrivals) else { return }
      } else if backlog.isAtRest {
        let isOpen = jobs.waitForMessages(into: &arrivals, until: backlog.nextAt)
        if !isOpen { backlog.stopDeferring() }
      } else {
        jobs.drain(into: &arrivals)
      }
      // In portions, so that the first outcomes do not wait for the last, and not all of them are
      // in memory at once. Jobs that arrive meanwhile join the next portion.
      let start = SystemClock.instant()
      let portion = backlog.nextPortion(adding: arrivals, at: start) {
        context.weigh($0.job)
      }
      arrivals.removeAll(keepingCapacity: true)
      if portion.isEmpty { continue }
      progress.beginPortion()
      perform(portion, for: nodes, wrap, at: context, &outgoing)
      // Before the worker rests: that time is charged to no owner.
      backlog.chargePortion(from: start, to: SystemClock.instant())
      if backlog.isAtRest, jobs.isEmpty { context.performIdleWork() }
      progress.endPortion()
    }
  }

  @inlinable
  static func perform(
    _ batch: [Assignment<Job>], for nodes: [Mailbox<Mail>], _ wrap: (Outcome) -> N.Outcome,
    at context: Context, _ outgoing: inout [[Mail]]
  ) {
    let results = context.perform(batch, SystemClock.moment())
    precondition(results.count == batch.count, "each job needs exactly one result")
    for (assignment, (outcome, news)) in zip(batch, results) {
      // News first, to all nodes, so that a node never gets its own job's outcome before the news
      // of it; and all nodes get the news of all commits in the same order.
      if let news {
        for index in outgoing.indices { outgoing[index].append(Mail(.news(news))) }
      }
      outgoing[assignment.node].append(Mail(.finished(assignment.id, wrap(outcome))))
    }
    // Atomically, so that no node reports a change as effective before all others have the news.
    Mailbox.post(&outgoing, to: nodes)
  }

  /// Does the waiting jobs, then ends the thread and returns.
  @usableFromInline
  func finish() {
    jobs.close()
    thread.join()
  }
}

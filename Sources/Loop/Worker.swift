public import Changes
public import Link

/// A thread that does the jobs of one lane, for all nodes of a group: it takes all that wait as one
/// batch, so that they can share what is dear, such as one commit to disk.
public struct Worker<Job: Sendable, Outcome: Sendable, Order: Sendable, News: Sendable>: Sendable {
  /// Does the jobs, in order, and gives what came of each: its outcome, and what that means for all
  /// nodes. As many results as jobs.
  public typealias Perform = ([Assignment<Job>], Moment) -> [(Outcome, News?)]

  @usableFromInline typealias Mail = NodeMail<Outcome, Order, News>

  @usableFromInline let jobs: Mailbox<Assignment<Job>>
  private let thread: LoopThread

  /// What a worker's thread works with; made there, and never seen by another thread.
  public struct Workplace {
    @usableFromInline let perform: Perform
    @usableFromInline let rest: () -> Void

    /// `rest` is called when jobs were done and none wait: for what would only be in their way.
    @inlinable
    public init(perform: @escaping Perform, rest: @escaping () -> Void = {}) {
      self.perform = perform
      self.rest = rest
    }
  }

  /// Makes it possible to hand a closure that is not Sendable to the one thread that calls it.
  @usableFromInline
  final class Handover: @unchecked Sendable {
    @usableFromInline let makeWorkplace: () -> Workplace
    @usableFromInline init(_ makeWorkplace: @escaping () -> Workplace) {
      self.makeWorkplace = makeWorkplace
    }
  }

  @usableFromInline
  init(jobs: Mailbox<Assignment<Job>>, thread: LoopThread) {
    self.jobs = jobs
    self.thread = thread
  }

  @inlinable
  static func start(
    _ lane: Lane, nodes: [Mailbox<Mail>], _ makeWorkplace: sending @escaping () -> Workplace
  ) throws(SystemFault) -> Worker {
    let jobs = try Mailbox<Assignment<Job>>(isBlocking: true)
    let handover = Handover(makeWorkplace)
    let thread = try LoopThread("\(lane)") {
      work(on: jobs, for: nodes, at: handover.makeWorkplace())
    }
    return Worker(jobs: jobs, thread: thread)
  }

  @inlinable
  static func work(
    on jobs: Mailbox<Assignment<Job>>, for nodes: [Mailbox<Mail>], at workplace: Workplace
  ) {
    var waiting: [Assignment<Job>] = []
    var letters = [[Mail]](repeating: [], count: nodes.count)
    while jobs.waitForMessages(into: &waiting) {
      // In portions, so that the first outcomes need not wait for the last, nor all of them stand
      // in memory at once.
      var rest = waiting[...]
      while !rest.isEmpty {
        let batch = Array(rest.prefix(Limits.jobsAPortion))
        rest = rest.dropFirst(batch.count)
        perform(batch, for: nodes, at: workplace, &letters)
      }
      waiting.removeAll(keepingCapacity: true)
      if jobs.isEmpty { workplace.rest() }
    }
  }

  @inlinable
  static func perform(
    _ batch: [Assignment<Job>], for nodes: [Mailbox<Mail>], at workplace: Workplace,
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
    for index in letters.indices { nodes[index].post(allOf: &letters[index]) }
  }

  /// The jobs that wait are still done; then the thread ends, and this returns.
  @usableFromInline
  func finish() {
    jobs.close()
    thread.join()
  }
}

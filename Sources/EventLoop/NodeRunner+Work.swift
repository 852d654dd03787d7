public import LockstepModel
public import LockstepWire

/// Jobs, news and reports of a node, and its end.
extension NodeRunner where N: ~Copyable {
  @inlinable
  mutating func assign(_ id: JobID, _ lane: Lane, _ job: N.Job) {
    jobs[Int(lane.rawValue)].append(
      Assignment(node: context.place, id: id, job: job))
    jobsInFlight += 1
    hasJobs = true
  }

  /// Passes on the jobs of this turn together: to the lane's worker, or, if it has none, performs
  /// them inline.
  @inlinable
  mutating func passJobs() {
    if !hasJobs { return }
    hasJobs = false
    for index in jobs.indices where !jobs[index].isEmpty {
      if let lane = context.lanes[index] {
        lane.post(allOf: &jobs[index])
      } else {
        performHere(index)
      }
    }
  }

  @inlinable
  mutating func performHere(_ index: Int) {
    guard let perform = context.performInline else {
      preconditionFailure("a job for a lane that nobody works on")
    }
    var batch: [Assignment<N.Job>] = []
    swap(&batch, &jobs[index])
    let results = perform(batch, moment)
    precondition(results.count == batch.count, "a job without an outcome")
    for (assignment, (outcome, news)) in zip(batch, results) {
      if let news {
        tell(news)
        handle(.news(news))
      }
      jobsInFlight -= 1
      handle(.finished(assignment.id, outcome))
    }
  }

  @inlinable
  func tell(_ news: N.News) {
    for (place, mailbox) in context.mailboxes.enumerated() where place != context.place {
      mailbox.post(Mail(.news(news)))
    }
  }

  @inlinable
  mutating func pass(_ report: N.Report) {
    if context.settings.isLastReport(report) { ending.isReported = true }
    context.settings.report(context.place, report)
  }

  /// Begins to stop. The public listener closes at once; the others stay open, so that the progress
  /// can be observed.
  @inlinable
  mutating func beginEnding() {
    if ending.bound != nil {
      ending.isAtOnce = true
      return
    }
    ending.bound = moment.instant.advanced(
      milliseconds: context.settings.stopMilliseconds)
    loop.pointee.stopListening(at: .front)
    takeInput()
    handle(.stopping)
  }

  @inlinable
  func endingReached() -> NodeEnding? {
    if ending.isAtOnce { return .atOnce }
    if ending.isReported, !loop.pointee.isClosing { return .done }
    guard let bound = ending.bound else { return nil }
    if !ending.isReported, loop.pointee.isEmpty, jobsInFlight == 0 { return .done }
    return bound <= moment.instant ? .outOfTime : nil
  }
}

/// Cause of a node's end.
public enum NodeEnding: Hashable, Sendable {
  /// The node reported that it is done, or had nothing left to do.
  case done
  /// The time for stopping passed.
  case outOfTime
  /// `stop` was called a second time.
  case atOnce
}

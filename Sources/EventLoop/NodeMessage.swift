import LockstepModel
public import LockstepWire

/// Message to a node's thread from another thread.
public struct NodeMessage<Outcome: Sendable, Order: Sendable, News: Sendable>: Sendable {
  @usableFromInline
  enum Content: Sendable {
    case finished(JobID, Outcome)
    case ordered(Order)
    case news(News)
    case addresses(LookupAnswer)
    /// Ping of the liveness check, with its round.
    case pulse(Int)
    /// First time: finish the work in progress. Second time: end at once.
    case stop
  }

  @usableFromInline let content: Content

  @inlinable
  init(_ content: Content) { self.content = content }
}

/// Result of a lookup, for the connection that waits for it.
@usableFromInline
struct LookupAnswer: Sendable {
  let registration: Poller.Registration
  let answer: NameLookup.Answer
}

/// Job and the node that gets its outcome.
public struct Assignment<Job: Sendable>: Sendable {
  /// Index of the node in its group.
  public let node: Int
  public let id: JobID
  public let job: Job

  @inlinable
  public init(node: Int, id: JobID, job: Job) {
    self.node = node
    self.id = id
    self.job = job
  }
}

import LockstepModel
public import LockstepWire

/// What reaches a node's thread from other threads.
public struct NodeMessage<Outcome: Sendable, Order: Sendable, News: Sendable>: Sendable {
  @usableFromInline
  enum Content: Sendable {
    case finished(JobID, Outcome)
    case ordered(Order)
    case news(News)
    case addresses(LookupAnswer)
    /// A question whether the loop still turns, by its number.
    case pulse(Int)
    /// The first time: finish what is begun. The second time: end at once.
    case stop
  }

  @usableFromInline let content: Content

  @inlinable
  init(_ content: Content) { self.content = content }
}

/// What a lookup found, for the connection that waits for it.
@usableFromInline
struct LookupAnswer: Sendable {
  let registration: Poller.Registration
  let answer: NameLookup.Answer
}

/// A job, and who gets its outcome.
public struct Assignment<Job: Sendable>: Sendable {
  /// The place of the node in its group.
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

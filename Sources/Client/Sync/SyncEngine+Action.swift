import LockstepModel

extension SyncEngine {
  /// An action for the agent.
  enum Action: Hashable, Sendable {
    /// A job that only has the offer.
    case takeBatch(BatchBounds)
    /// With an offer, the next batch is frozen in the same transaction.
    case apply([Arrival], BatchBounds?)
    case refuseBatch(BatchID, Refusal)
    /// See `ReplicaTask.setAside`.
    case setAside(BatchID)
    case retryRefused(withParked: Bool)
    /// See `ReplicaTask.forgetCursor`.
    case forgetCursor(
      restoredThrough: ChangeTag?, lostThrough: ChangeTag? = nil, in: UInt32? = nil)
    /// Moves some of what the relay has lost into the outbox.
    case bringBack
    case save(SaveRequest)
    case fetch(since: ChangeToken?)
    /// A long-poll.
    case wait(since: ChangeToken)
    /// A stream of events.
    case listen(since: ChangeToken)
    case measureClock
    /// Retries later, by `resume`.
    case pause(Refusal)
    /// Stops until a user acts.
    case fail(Refusal)
  }
}

extension SyncEngine.Action {
  var isForStore: Bool {
    switch self {
    case .takeBatch, .apply, .refuseBatch, .setAside, .retryRefused, .forgetCursor, .bringBack,
      .fail:
      true
    case .save, .fetch, .wait, .listen, .measureClock, .pause: false
    }
  }
}

import LockstepModel

extension SyncEngine {
  /// What is to be done.
  enum Action: Hashable, Sendable {
    /// A job of nothing but the offer.
    case takeBatch(BatchBounds)
    /// With an offer, the next batch is frozen with the same transaction.
    case apply([Arrival], BatchBounds?)
    case refuseBatch(BatchID, Refusal)
    /// See `ReplicaTask.setAside`.
    case setAside(BatchID)
    case retryRefused(withParked: Bool)
    /// See `ReplicaTask.forgetCursor`.
    case forgetCursor(
      restoredThrough: ChangeTag?, lostThrough: ChangeTag? = nil, in: UInt32? = nil)
    /// Some of what the relay has lost goes into the outbox.
    case bringBack
    case save(SaveRequest)
    case fetch(since: ChangeToken?)
    /// A long-poll.
    case wait(since: ChangeToken)
    /// A stream of events.
    case listen(since: ChangeToken)
    case measureClock
    /// Try again later, by `resume`.
    case pause(Refusal)
    /// Nothing more until a person acts.
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

import Changes
import Storage

/// A device's records, cursor and outbox, on the worker's side: does the agent's jobs, one
/// transaction each. Knows no network and no clock; everything it does follows from the store and
/// the jobs.
public struct Replica<Store: ReplicaStore> {
  let store: Store
  let apps: [any App]

  public init(store: Store, apps: [any App]) {
    self.store = store
    self.apps = apps
  }

  /// Does one job. What the outcome tells is durable.
  public mutating func perform(_ job: ReplicaJob) -> ReplicaOutcome {
    ReplicaOutcome(
      result: .success(.done), changed: [], outbox: OutboxSummary(), due: DueTimes())
  }
}

import LockstepModel

/// A step of a change on its way to other devices, for an observer. `AgentReport.edited` and
/// `changed` report that it is stored, and that it is applied on another device.
package enum Milestone: Hashable, Sendable {
  /// A batch with these records was handed to the connection.
  case sent(BatchID, [RecordKey])
  /// The relay has answered the batch. nil: it did not report its times, or its clock is not known.
  case answered(BatchID, RelayTimes?)
  /// The bytes with these records arrived, pushed or requested.
  case received([RecordKey])
}

/// Times of a batch at the relay, by this device's monotonic clock.
package struct RelayTimes: Hashable, Sendable {
  package var received: Instant
  package var durable: Instant
  package var pushed: Instant
  /// Maximum error that the three times share, in nanoseconds: half the round trip of the time
  /// measurement, and the rounding of the relay's clocks.
  package var errorNanoseconds: Int64

  package init(received: Instant, durable: Instant, pushed: Instant, errorNanoseconds: Int64) {
    self.received = received
    self.durable = durable
    self.pushed = pushed
    self.errorNanoseconds = errorNanoseconds
  }
}

/// Milestones, reported if the configuration asks for them.
extension Agent {
  mutating func reportSent(_ batch: SaveRequest) {
    guard configuration.reportsMilestones else { return }
    let keys = batch.mutations.map { RecordKey(zone: batch.zone, name: $0.name) }
    report(.milestone(.sent(batch.id, keys)))
  }

  mutating func reportAnswered(_ batch: BatchID, _ answer: SaveAnswer, at moment: Moment) {
    guard configuration.reportsMilestones else { return }
    let relayTimes = answer.timing.flatMap { clock.relayTimes($0, at: moment) }
    report(.milestone(.answered(batch, relayTimes)))
  }

  mutating func reportReceived(_ page: ChangePage) {
    guard configuration.reportsMilestones, !page.changes.isEmpty else { return }
    report(.milestone(.received(page.changes.map(\.key))))
  }
}

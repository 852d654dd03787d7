public import LockstepModel

/// A point that a change has come to on its way, for whoever follows it. That it is stored, and
/// that it is applied on another device, `AgentReport.edited` and `changed` tell.
public enum Milestone: Hashable, Sendable {
  /// A batch with these records was handed to the connection.
  case sent(BatchID, [RecordKey])
  /// The relay has answered the batch. nil: it did not say when it did what, or how its clock goes
  /// is not known.
  case answered(BatchID, RelayPassage?)
  /// The bytes with these records came in, pushed or asked for.
  case received([RecordKey])
}

/// When a batch went through the relay, by this device's clock that only goes forward.
public struct RelayPassage: Hashable, Sendable {
  public var received: Instant
  public var durable: Instant
  public var pushed: Instant
  /// By how much the three together may lie earlier or later, in nanoseconds: half the round trip
  /// in which the relay's time was asked, and what its clocks cut.
  public var errorNanoseconds: Int64

  public init(received: Instant, durable: Instant, pushed: Instant, errorNanoseconds: Int64) {
    self.received = received
    self.durable = durable
    self.pushed = pushed
    self.errorNanoseconds = errorNanoseconds
  }
}

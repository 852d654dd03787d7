public import Changes
public import Link

/// The middle of Lockstep: takes connections, saves through the store, and tells every device of an
/// account what changed. One runs on each loop; they share nothing but the store and `RelayNews`.
public struct RelayNode: Node, ~Copyable {
  public typealias Job = StoreJob
  public typealias Outcome = StoreOutcome
  public typealias Order = RelayOrder
  public typealias Report = RelayReport
  public typealias News = RelayNews

  let configuration: RelayConfiguration
  let secrets: SecretSource
  var random: SeededRandom
  var actions = ActionQueue<NodeAction<StoreJob, RelayReport, RelayNews>>()

  /// `secrets` gives tokens and codes; `random` only spreads what must not happen all at once.
  public init(configuration: RelayConfiguration, secrets: SecretSource, random: SeededRandom) {
    self.configuration = configuration
    self.secrets = secrets
    self.random = random
  }

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {}

  public mutating func handle(
    _ event: NodeEvent<StoreOutcome, RelayOrder, RelayNews>, at moment: Moment
  ) {}

  public mutating func nextAction() -> NodeAction<StoreJob, RelayReport, RelayNews>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? { nil }
}

import LockstepModel

/// The moments that an agent waits for, one of each kind. Those of its connections stand with the
/// uplink.
struct AgentDeadlines {
  enum Kind: Int, CaseIterable, Sendable {
    case start
    /// Connect again, or read the store again.
    case retry
    /// Ask again what was refused for now.
    case resume
    case poll
    /// Ask for the relay's time.
    case measure
    /// What was missed should have come by then.
    case backlog
    /// An edit that time makes.
    case due
    /// Zones that the plan did not include are tried again.
    case plan
    /// Ask the relay again about chunks of files.
    case chunks
    /// Ask the relay about chunks that changes lack which wait for a person.
    case lacking
    /// The first of the downloads is tried again.
    case downloads
    /// Chunks of files that nothing names are looked for.
    case chunkCare
    /// Chunks of files that records name are looked for at the relay.
    case chunkCheck
    /// The first of the manual syncs should be done by then.
    case sync
  }

  private var instants = [Instant?](repeating: nil, count: Kind.allCases.count)

  var next: Instant? { instants.compactMap { $0 }.min() }

  mutating func set(_ kind: Kind, _ instant: Instant) { instants[kind.rawValue] = instant }

  mutating func clear(_ kind: Kind) { instants[kind.rawValue] = nil }

  subscript(kind: Kind) -> Instant? { instants[kind.rawValue] }

  /// Those that have come, the earliest first; they stand no more.
  mutating func takeExpired(at now: Instant) -> [Kind] {
    var expired: [(kind: Kind, instant: Instant)] = []
    for kind in Kind.allCases {
      guard let instant = instants[kind.rawValue], instant <= now else { continue }
      expired.append((kind, instant))
      instants[kind.rawValue] = nil
    }
    expired.sort { ($0.instant, $0.kind.rawValue) < ($1.instant, $1.kind.rawValue) }
    return expired.map(\.kind)
  }
}

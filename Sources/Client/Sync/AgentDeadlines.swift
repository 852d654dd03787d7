import LockstepModel

/// Deadlines of an agent, one of each kind. Those of its connections are in the uplink.
struct AgentDeadlines {
  enum Kind: Int, CaseIterable, Sendable {
    case start
    /// Connects again, or reads the store again.
    case retry
    /// Retries what was refused temporarily.
    case resume
    case poll
    /// Asks for the relay's time.
    case measure
    /// Missed changes should have arrived by then.
    case backlog
    /// Makes a due edit.
    case due
    /// Retries zones that the plan did not include.
    case plan
    /// Asks the relay again about chunks of files.
    case chunks
    /// Asks the relay about the chunks that parked changes lack.
    case lacking
    /// Retries the first of the downloads.
    case downloads
    /// Searches for chunks of files that nothing names.
    case chunkCare
    /// Asks the relay about the chunks of files that records name.
    case chunkCheck
    /// The first of the manual syncs should be done by then.
    case sync
  }

  private var instants = [Instant?](repeating: nil, count: Kind.allCases.count)

  var next: Instant? { instants.compactMap { $0 }.min() }

  mutating func set(_ kind: Kind, _ instant: Instant) { instants[kind.rawValue] = instant }

  mutating func clear(_ kind: Kind) { instants[kind.rawValue] = nil }

  subscript(kind: Kind) -> Instant? { instants[kind.rawValue] }

  /// Returns the deadlines that have passed, the earliest first, and clears them.
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

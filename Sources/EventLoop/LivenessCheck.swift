import LockstepModel
public import LockstepWire

/// Liveness check of a group's threads. Posts a ping to each loop's mailbox; a loop answers in its
/// next turn. An idle worker counts as alive, and so does one that has begun another portion of
/// work since the ping.
@usableFromInline
final class LivenessCheck: Sendable {
  struct State: Sendable {
    var round = 0
    /// Last round answered, by the node's index. A node that has ended counts as having answered
    /// all.
    var answered: [Int]
  }

  private let state: Locked<State>

  init(nodes: Int) {
    state = Locked(State(answered: Array(repeating: 0, count: nodes)))
  }

  /// Starts a new round and returns its number.
  func ask() -> Int {
    state.withLock { state in
      state.round += 1
      return state.round
    }
  }

  @usableFromInline
  func answer(_ place: Int, _ round: Int) {
    state.withLock { $0.answered[place] = max($0.answered[place], round) }
  }

  @usableFromInline
  func end(_ place: Int) { answer(place, .max) }

  /// Indices of the loops that have not answered the last round.
  var silent: [Int] {
    state.withLock { state in state.answered.indices.filter { state.answered[$0] < state.round } }
  }
}

/// Progress of a worker's thread.
@usableFromInline
final class WorkerProgress: Sendable {
  struct State: Sendable {
    var portions = 0
    var isBusy = false
    /// Value of `portions` at the last ping; nil if the worker was idle then.
    var portionAsked: Int?
  }

  private let state = Locked(State())

  @usableFromInline init() {}

  @usableFromInline
  func begin() {
    state.withLock { state in
      state.portions += 1
      state.isBusy = true
    }
  }

  @usableFromInline
  func end() { state.withLock { $0.isBusy = false } }

  func ask() { state.withLock { $0.portionAsked = $0.isBusy ? $0.portions : nil } }

  /// True if the worker is still busy with the same portion as at the last ping.
  var isSilent: Bool { state.withLock { $0.isBusy && $0.portions == $0.portionAsked } }
}

/// Threads of a group that have not answered.
public struct UnresponsiveThreads: Hashable, Sendable {
  /// Indices of nodes.
  public var nodes: [Int]
  public var lanes: [Lane]

  public init(nodes: [Int] = [], lanes: [Lane] = []) {
    self.nodes = nodes
    self.lanes = lanes
  }
}

extension NodeGroup where N: ~Copyable {
  /// Pings every thread. Safe to call from any thread.
  public func pingThreads() {
    let round = pulse.ask()
    for worker in state.withLock({ $0.workers }) { worker?.progress.ask() }
    for mailbox in mailboxes { mailbox.post(NodeMessage(.pulse(round))) }
  }

  /// Threads that have not answered the last `pingThreads`. Safe to call from any thread.
  public var unresponsiveThreads: UnresponsiveThreads {
    let workers = state.withLock { $0.workers }
    return UnresponsiveThreads(
      nodes: pulse.silent,
      lanes: Lane.allCases.filter { workers[Int($0.rawValue)]?.progress.isSilent ?? false })
  }
}

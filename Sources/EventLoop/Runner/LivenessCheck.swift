import LockstepRuntime

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
  func beginRound() -> Int {
    state.withLock { state in
      state.round += 1
      return state.round
    }
  }

  @usableFromInline
  func markAnswered(_ index: Int, _ round: Int) {
    state.withLock { $0.answered[index] = max($0.answered[index], round) }
  }

  @usableFromInline
  func markEnded(_ index: Int) { markAnswered(index, .max) }

  /// Indices of the loops that have not answered the last round.
  var unresponsiveLoops: [Int] {
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
    var portionAtPing: Int?
  }

  private let state = Locked(State())

  @usableFromInline init() {}

  @usableFromInline
  func beginPortion() {
    state.withLock { state in
      state.portions += 1
      state.isBusy = true
    }
  }

  @usableFromInline
  func endPortion() { state.withLock { $0.isBusy = false } }

  func markPinged() { state.withLock { $0.portionAtPing = $0.isBusy ? $0.portions : nil } }

  /// True if the worker is still busy with the same portion as at the last ping.
  var isUnresponsive: Bool { state.withLock { $0.isBusy && $0.portions == $0.portionAtPing } }
}

/// Threads of a group that have not answered.
@usableFromInline
package struct UnresponsiveThreads: Hashable, Sendable {
  /// Indices of nodes.
  @usableFromInline package var nodes: [Int]
  @usableFromInline package var lanes: [Lane]

  @usableFromInline
  package init(nodes: [Int] = [], lanes: [Lane] = []) {
    self.nodes = nodes
    self.lanes = lanes
  }
}

extension NodeGroup where N: ~Copyable {
  /// Pings every thread. Safe to call from any thread.
  @usableFromInline
  package func pingThreads() {
    let round = livenessCheck.beginRound()
    let workers = state.withLock { $0.workers }
    for lane in Lane.allCases { workers.progress(of: lane)?.markPinged() }
    for mailbox in mailboxes { mailbox.post(NodeMessage(.ping(round))) }
  }

  /// Threads that have not answered the last `pingThreads`. Safe to call from any thread.
  @usableFromInline
  package var unresponsiveThreads: UnresponsiveThreads {
    let workers = state.withLock { $0.workers }
    return UnresponsiveThreads(
      nodes: livenessCheck.unresponsiveLoops,
      lanes: Lane.allCases.filter { workers.progress(of: $0)?.isUnresponsive ?? false })
  }
}

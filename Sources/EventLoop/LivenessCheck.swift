import LockstepModel
public import LockstepWire

/// Whether the threads of a group still go round. A node's loop is asked by a letter, and answers
/// in its next turn; a worker is well while it rests, and while one portion of work follows the
/// other.
@usableFromInline
final class LivenessCheck: Sendable {
  struct State: Sendable {
    var round = 0
    /// By place: the last round that the node's loop has answered; its end answers all.
    var answered: [Int]
  }

  private let state: Locked<State>

  init(nodes: Int) {
    state = Locked(State(answered: Array(repeating: 0, count: nodes)))
  }

  /// The number of a new question.
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

  /// The places of the loops that have not answered the last question.
  var silent: [Int] {
    state.withLock { state in state.answered.indices.filter { state.answered[$0] < state.round } }
  }
}

/// How far a worker's thread has come.
@usableFromInline
final class WorkerProgress: Sendable {
  struct State: Sendable {
    var portions = 0
    var isBusy = false
    /// Of the portions, those begun when it was asked last; nil where it rested then.
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

  /// Still at the very portion that it was at when it was asked.
  var isSilent: Bool { state.withLock { $0.isBusy && $0.portions == $0.portionAsked } }
}

/// Threads of a group that have not answered.
public struct UnresponsiveThreads: Hashable, Sendable {
  /// The places of nodes.
  public var nodes: [Int]
  public var lanes: [Lane]

  public init(nodes: [Int] = [], lanes: [Lane] = []) {
    self.nodes = nodes
    self.lanes = lanes
  }
}

extension NodeGroup where N: ~Copyable {
  /// Asks every thread for a sign of life. From any thread.
  public func feelPulse() {
    let round = pulse.ask()
    for worker in state.withLock({ $0.workers }) { worker?.progress.ask() }
    for mailbox in mailboxes { mailbox.post(NodeMessage(.pulse(round))) }
  }

  /// Those that have not answered the last `feelPulse`. From any thread.
  public var silentThreads: UnresponsiveThreads {
    let workers = state.withLock { $0.workers }
    return UnresponsiveThreads(
      nodes: pulse.silent,
      lanes: Lane.allCases.filter { workers[Int($0.rawValue)]?.progress.isSilent ?? false })
  }
}

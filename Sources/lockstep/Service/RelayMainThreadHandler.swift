import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRelay

/// What the relay's main thread does while the loops work: answers signals, and tells a person who
/// asks how the loops are.
final class RelayMainThreadHandler {
  private let group: NodeGroup<RelayNode>
  private let nodes: Int
  private let board: DebugDump
  private let log: Log
  private let startedAt: Instant
  /// nil where no service manager wants to be told.
  private let manager: SystemdNotifier?
  private var isReadyTold = false
  private var heap = HeapWatch(slackBytes: Limits.heapSlackBytes)
  private var heapLookAt: Instant
  /// What the manager shows of a relay that runs.
  private let status: String
  /// Reads again what may change under a relay that runs (SIGHUP); nil where there is nothing.
  var reload: (() -> Void)?

  init(
    of group: NodeGroup<RelayNode>, nodes: Int, board: DebugDump, log: Log, startedAt: Instant,
    manager: SystemdNotifier?, status: String
  ) {
    self.group = group
    self.nodes = nodes
    self.board = board
    self.log = log
    self.startedAt = startedAt
    self.manager = manager
    self.status = status
    heapLookAt = startedAt.advanced(milliseconds: Limits.heapLookMilliseconds)
  }

  /// Those that are taken besides SIGTERM and SIGINT.
  static let signals = [SIGHUP, SIGUSR1]

  var attendant: MainThreadHandler {
    MainThreadHandler(signalled: { self.signalled($0) }, attend: { self.attend(at: $0) })
  }

  private func signalled(_ number: Int32) {
    switch number {
    case SIGTERM, SIGINT: manager?.stopping()
    case SIGHUP:
      if let manager { manager.reload { reloadNow() } } else { reloadNow() }
    case SIGUSR1: askForState(at: SystemClock.instant())
    default: break
    }
  }

  private func reloadNow() {
    guard let reload else {
      log.info("SIGHUP: there is nothing to read again; other settings want a restart")
      return
    }
    reload()
  }

  private func askForState(at now: Instant) {
    guard board.begin(nodes: nodes, at: now) else { return }
    group.feelPulse()
    for node in 0..<nodes { group.post(.reportState, to: node) }
  }

  private func attend(at now: Instant) -> Instant? {
    if let findings = board.findings(busyLanes: group.silentThreads.lanes, at: now) {
      let (uptime, process) = (now.milliseconds(since: startedAt), getpid())
      log.tell(
        "state", findings.fields(uptime: uptime, process: process),
        block: findings.block(uptime: uptime, process: process))
    }
    // The loops turn: all that was opened is served from now on.
    if !isReadyTold {
      manager?.ready(status)
      isReadyTold = true
    }
    if heapLookAt <= now {
      if heap.wantsTrim(freeBytes: Heap.freeBytes) { Heap.trim() }
      heapLookAt = now.advanced(milliseconds: Limits.heapLookMilliseconds)
    }
    let watch = manager?.attend(at: now, silent: group.silentThreads) { group.feelPulse() }
    return [board.nextLook(at: now), watch, heapLookAt].compactMap(\.self).min()
  }
}

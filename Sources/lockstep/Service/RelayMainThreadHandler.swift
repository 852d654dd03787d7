import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRelay

/// Tasks of the relay's main thread while the loops run: handles signals, and reports the state of
/// the loops on request.
final class RelayMainThreadHandler {
  private let group: NodeGroup<RelayNode>
  private let nodes: Int
  private let board: DebugDump
  private let log: Log
  private let startedAt: Instant
  /// Nil if no service manager wants to be notified.
  private let manager: SystemdNotifier?
  private var isReadyTold = false
  private var heap = HeapWatch(slackBytes: Limits.heapSlackBytes)
  private var heapLookAt: Instant
  /// Status that the manager shows for a running relay.
  private let status: String
  /// Reads again what may change while the relay runs (SIGHUP); nil if there is nothing.
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

  /// Signals that are handled besides SIGTERM and SIGINT.
  static let signals = [SIGHUP, SIGUSR1]

  var mainThreadHandler: MainThreadHandler {
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
    group.pingThreads()
    for node in 0..<nodes { group.post(.reportState, to: node) }
  }

  private func attend(at now: Instant) -> Instant? {
    if let findings = board.findings(busyLanes: group.unresponsiveThreads.lanes, at: now) {
      let (uptime, process) = (now.milliseconds(since: startedAt), getpid())
      log.tell(
        "state", findings.fields(uptime: uptime, process: process),
        block: findings.block(uptime: uptime, process: process))
    }
    // The loops run: all listeners are served from now on.
    if !isReadyTold {
      manager?.ready(status)
      isReadyTold = true
    }
    if heapLookAt <= now {
      if heap.wantsTrim(freeBytes: Heap.freeBytes) { Heap.trim() }
      heapLookAt = now.advanced(milliseconds: Limits.heapLookMilliseconds)
    }
    let watch = manager?.attend(at: now, silent: group.unresponsiveThreads) { group.pingThreads() }
    return [board.nextLook(at: now), watch, heapLookAt].compactMap(\.self).min()
  }
}

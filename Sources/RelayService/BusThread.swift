import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage

/// Announcements of this relay's commits to the others, on their way from the thread of the commits
/// to that of the bus.
final class BusOutbox: Sendable {
  private struct Content {
    var notices: [CommitNotice] = []
    /// True if something is missing in `notices`, or if listeners may have been forgotten.
    var isIncomplete = false
  }

  private let content = Locked(Content())
  private let wakeup: any BusWakeup

  init(_ wakeup: any BusWakeup) { self.wakeup = wakeup }

  func add(_ announcements: CommitAnnouncements) {
    if announcements.isEmpty { return }
    content.withLock { content in
      content.isIncomplete = content.isIncomplete || announcements.mayLackListeners
      if content.notices.count + announcements.notices.count > Limits.waitingNotices {
        content = Content(isIncomplete: true)
      } else {
        content.notices += announcements.notices
      }
    }
    wakeup.signal()
  }

  /// Takes the notices; `isIncomplete`: every relay must look up all its accounts.
  func take() -> (notices: [CommitNotice], isIncomplete: Bool) {
    content.withLock { content in
      defer { content = Content() }
      return (content.notices, content.isIncomplete)
    }
  }
}

/// Sends the notices of this relay to the others on the store, and forwards theirs to the nodes, on
/// its own thread. Tells the other relays at intervals how many notices this one has sent.
struct BusThread {
  private let wakeup: any BusWakeup
  private let isEnding: Locked<Bool>
  private let thread: LoopThread

  init(
    _ bus: sending any RelayBus, _ outbox: BusOutbox, of group: NodeGroup<RelayNode>, log: Log
  ) throws(SystemFault) {
    let isEnding = Locked(false)
    wakeup = bus.wakeup
    self.isEnding = isEnding
    let handover = BusHandover(bus)
    thread = try LoopThread("bus") {
      var loop = BusLoop(handover.bus, outbox, group, log)
      while !isEnding.withLock({ $0 }) { loop.turn() }
      loop.end()
    }
  }

  func end() {
    isEnding.withLock { $0 = true }
    wakeup.signal()
    thread.join()
  }
}

/// The work of the bus's thread.
private struct BusLoop {
  private let bus: any RelayBus
  private let outbox: BusOutbox
  private let group: NodeGroup<RelayNode>
  private let log: Log
  private var lines: PeerLines
  private var sender: NoticeSender
  private var beats = BeatSchedule(at: SystemClock.instant())

  init(_ bus: any RelayBus, _ outbox: BusOutbox, _ group: NodeGroup<RelayNode>, _ log: Log) {
    self.bus = bus
    self.outbox = outbox
    self.group = group
    self.log = log
    lines = PeerLines(relay: bus.relay)
    sender = NoticeSender(relay: bus.relay)
  }

  /// Sends what is to be sent, and waits for the next event.
  mutating func turn() {
    send()
    let now = SystemClock.instant()
    let deadline = min(beats.next, lines.nextDeadline ?? beats.next)
    let wait = max(0, deadline.milliseconds(since: now))
    for event in bus.wait(milliseconds: wait) {
      report(event)
      if case .received(let payload) = event { sender.note(payload) }
      // Older relays that do not listen may have been forgotten, and commits told to none of them.
      if event == .back { sender.skip() }
      for event in lines.handle(event, at: SystemClock.instant()) { forward(event) }
    }
    for event in lines.advance(to: SystemClock.instant()) { forward(event) }
  }

  /// Sends the last notices, and tells the other relays that there will be no more.
  mutating func end() {
    send()
    bus.send(sender.beats(isLast: true))
    bus.close()
  }

  private mutating func send() {
    let now = SystemClock.instant()
    let (notices, isIncomplete) = outbox.take()
    if isIncomplete { sender.skip() }
    var messages = sender.messages(of: notices, tellsAll: lines.hasOlderRelays(at: now))
    if !messages.isEmpty { beats.recordNotices(at: now) }
    // What is incomplete is told at once.
    if isIncomplete || beats.isDue(at: now) {
      messages += sender.beats()
      beats.recordBeat(at: now)
    }
    // What is not sent is missing at the next beat.
    bus.send(messages)
  }

  private func forward(_ event: PeerLines.Event) {
    switch event {
    case .changed(let change):
      if let token = change.token { group.broadcast(.remoteCommit(change.account, token)) }
      if change.hasMembershipChange { group.broadcast(.remoteMembershipChange(change.account)) }
    case .heard(let relays): group.broadcast(.remoteRelaysHeard(relays))
    case .missed: group.broadcast(.remoteNewsLost)
    case .reliability(let isReliable): group.broadcast(.remoteNewsReliability(isReliable))
    }
  }

  private func report(_ event: BusEvent) {
    switch event {
    case .received: break
    case .lost(let reason):
      log.warning(
        "the connection to other relays is lost (\(reason)); their changes arrive some seconds later"
      )
    case .back: log.info("connected to other relays again")
    }
  }
}

/// Tells the owner once that other relays are not heard, although each node notices it.
final class UnheardRelays: Sendable {
  private let log: Log
  /// Nodes that have noticed it.
  private let nodes = Locked<Set<Int>>([])

  init(_ log: Log) { self.log = log }

  func report(_ areThere: Bool, by node: Int) {
    if areThere {
      guard nodes.withLock({ $0.insert(node).inserted && $0.count == 1 }) else { return }
      log.warning(
        "another relay on this store is not heard: it cannot reach the bus, or has another --bus; "
          + "until then its changes arrive some seconds later")
    } else {
      guard nodes.withLock({ $0.remove(node) != nil && $0.isEmpty }) else { return }
      log.info("all relays on this store are heard")
    }
  }
}

/// Transfers the bus to the one thread that uses it.
private final class BusHandover: @unchecked Sendable {
  let bus: any RelayBus
  init(_ bus: sending any RelayBus) { self.bus = bus }
}

import LockstepModel
import LockstepRelay
import LockstepSimulation
import LockstepStorage

/// The bus between relays that share a store: slow, and it loses notices and beats. Each relay
/// follows the lines of all of them by `PeerLines`, as the real one does.
final class VirtualBus {
  private struct Member {
    let driver: NodeDriver<RelayNode>
    var lines: PeerLines
    let relay: UInt64
    var sent: UInt64 = 0
  }

  private let environment: WorldEnvironment
  private var random: SeededRandom
  /// The relays by the index of their node.
  private var members: [Int: Member] = [:]
  private var relays: UInt64 = 0
  private var isOpen = true

  init(environment: WorldEnvironment, random: SeededRandom) {
    self.environment = environment
    self.random = random
  }

  /// Adds a relay that starts, in the place of the one before it.
  func join(_ node: Int, _ driver: NodeDriver<RelayNode>) {
    relays += 1
    let relay = relays
    members[node] = Member(driver: driver, lines: PeerLines(relay: relay), relay: relay)
    beat(of: node, relay)
  }

  /// Delivers nothing from now on.
  func close() { isOpen = false }

  /// Sends a notice of this node's commit to all relays. `node`: nil for the owner, whose command
  /// is a process of its own, which sends no beats.
  func send(_ change: BusPayload.Change, from node: Int?) {
    var payload = BusPayload(relay: 0, beatAfter: 0)
    payload.changes = [change]
    if let node {
      guard var member = members[node] else { return }
      member.sent += 1
      members[node] = member
      payload.relay = member.relay
      payload.place = .notice(member.sent)
    } else {
      relays += 1
      payload.relay = relays
      payload.place = .notice(1)
    }
    deliver(payload)
  }

  private func beat(of node: Int, _ relay: UInt64) {
    guard isOpen, let member = members[node], member.relay == relay, member.driver.isAlive
    else { return }
    deliver(BusPayload(relay: relay, beatAfter: member.sent))
    handle(on: node) { lines, instant in lines.advance(to: instant) }
    environment.timeline.after(Span.milliseconds(Limits.beatMilliseconds)) { [self] in
      beat(of: node, relay)
    }
  }

  private func deliver(_ payload: BusPayload) {
    for node in members.keys.sorted() {
      if random.chance(1, of: 8) { continue }
      environment.timeline.after(random.number(in: 1_000...Span.milliseconds(200))) { [self] in
        handle(on: node) { lines, instant in lines.handle(.received(payload), at: instant) }
      }
    }
  }

  private func handle(on node: Int, _ step: (inout PeerLines, Instant) -> [PeerLines.Event]) {
    guard isOpen, var member = members[node], member.driver.isAlive else { return }
    let events = step(&member.lines, Instant(nanoseconds: environment.timeline.now))
    members[node] = member
    for news in events.flatMap(VirtualBus.news) { member.driver.handle(.news(news)) }
  }

  private static func news(of event: PeerLines.Event) -> [RelayNews] {
    switch event {
    case .changed(let change):
      (change.token.map { [.remoteCommit(change.account, $0)] } ?? [])
        + (change.hasMembershipChange ? [.remoteMembershipChange(change.account)] : [])
    case .missed: [.remoteNewsLost]
    case .reliability(let isReliable): [.remoteNewsReliability(isReliable)]
    }
  }
}

extension RelayNews {
  /// Notice of this for other relays on the store; nil if they need none.
  var noticed: BusPayload.Change? {
    switch self {
    case .changed(let change):
      BusPayload.Change(
        account: change.account, token: change.token, hasMembershipChange: false)
    case .revoked(let account, _, _), .planChanged(let account, _), .subscribed(let account, _, _),
      .accountRemoved(let account):
      BusPayload.Change(account: account, token: nil, hasMembershipChange: true)
    default: nil
    }
  }
}

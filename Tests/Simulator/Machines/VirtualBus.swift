import LockstepModel
import LockstepRelay
import LockstepSimulation
import LockstepStorage

/// The bus between relays that share a store: slow, and it loses notices and beats. Now and then it
/// cuts a relay off for some seconds, in one direction or both; the relay is told of it, as by a
/// connection that ends, or not. Each relay sends by `NoticeSender`, to those that listen to the
/// account, and receives by `PeerLines`, as the real one does.
final class VirtualBus {
  /// Directions in which a relay is cut off.
  private struct Cut {
    let sends: Bool
    let receives: Bool
    /// True if the relay knows that it has no connection.
    let isNoticed: Bool

    static func drawn(by random: inout SeededRandom) -> Cut {
      if random.chance(1, of: 2) { return Cut(sends: false, receives: false, isNoticed: true) }
      let sends = random.chance(1, of: 3)
      return Cut(sends: sends, receives: !sends && random.chance(1, of: 2), isNoticed: false)
    }
  }

  private struct Member {
    let driver: NodeDriver<RelayNode>
    var lines: PeerLines
    var sender: NoticeSender
    let relay: UInt64
    var beats: BeatSchedule
    /// True if the store has forgotten that this relay listens.
    var isForgotten = true
    /// True if the store may have forgotten listeners since the last commit.
    var mayLackListeners = false
    /// nil: it is connected.
    var cut: Cut?
  }

  private let environment: WorldEnvironment
  private var random: SeededRandom
  /// The relays by the index of their node.
  private var members: [Int: Member] = [:]
  private var relays: UInt64 = 0
  /// Relays that listen to each account, in the store.
  private var listeners: [AccountID: Set<UInt64>] = [:]
  private var isOpen = true

  init(environment: WorldEnvironment, random: SeededRandom) {
    self.environment = environment
    self.random = random
  }

  /// Adds a relay that starts, in the place of the one before it.
  func join(_ node: Int, _ driver: NodeDriver<RelayNode>) {
    relays += 1
    let relay = relays
    members[node] = Member(
      driver: driver, lines: PeerLines(relay: relay), sender: NoticeSender(relay: relay),
      relay: relay, beats: BeatSchedule(at: now))
    beat(of: node, relay)
  }

  private var now: Instant { Instant(nanoseconds: environment.timeline.now) }

  /// Delivers nothing from now on.
  func close() { isOpen = false }

  /// Performs the store's part of `ReadRequest.followAccounts`. Returns false if the store had
  /// forgotten the relay.
  func follow(_ accounts: [AccountID], leaving: [AccountID], by node: Int) -> Bool {
    guard let relay = members[node]?.relay else { return true }
    for account in leaving { listeners[account]?.remove(relay) }
    for account in accounts { listeners[account, default: []].insert(relay) }
    defer { members[node]?.isForgotten = false }
    return members[node]?.isForgotten == false
  }

  /// Forgets the listeners, as the store does in a crash. It also ends all sessions.
  func forgetListeners() {
    listeners = [:]
    for node in members.keys.sorted() {
      members[node]?.mayLackListeners = true
      members[node]?.isForgotten = true
    }
  }

  /// Sends a notice of this node's commit. `node`: nil for the owner, whose command is a process of
  /// its own, which sends no beats, and tells all.
  func send(_ change: BusPayload.Change, from node: Int?) {
    guard let node else {
      relays += 1
      var sender = NoticeSender(relay: relays)
      return deliver(from: nil, sender.messages(of: [CommitNotice(change, listeners: nil)]))
    }
    guard var member = members[node] else { return }
    if member.mayLackListeners { member.sender.skip() }
    member.mayLackListeners = false
    let listening = (listeners[change.account] ?? []).sorted()
    let messages = member.sender.messages(of: [CommitNotice(change, listeners: listening)])
    if !messages.isEmpty { member.beats.recordNotices(at: now) }
    members[node] = member
    deliver(from: node, messages)
  }

  /// Does each second what is due: its beat, and the faults of this relay's part of the bus.
  private func beat(of node: Int, _ relay: UInt64) {
    guard isOpen, let member = members[node], member.relay == relay, member.driver.isAlive
    else { return }
    if member.beats.isDue(at: now) {
      members[node]?.beats.recordBeat(at: now)
      deliver(from: node, member.sender.beats())
    }
    if random.chance(1, of: 200) { forgetListeners() }
    if member.cut == nil, random.chance(1, of: 60) { cutOff(node, relay) }
    handle(on: node) { lines, instant in lines.advance(to: instant) }
    environment.timeline.after(Span.milliseconds(Limits.noticeBeatMilliseconds)) { [self] in
      beat(of: node, relay)
    }
  }

  /// Cuts a relay off, for some seconds.
  private func cutOff(_ node: Int, _ relay: UInt64) {
    let cut = Cut.drawn(by: &random)
    members[node]?.cut = cut
    environment.tally.note(.relayCutOff)
    if cut.isNoticed {
      handle(on: node) { lines, instant in lines.handle(.lost("cut off"), at: instant) }
    }
    environment.timeline.after(Span.milliseconds(random.number(in: 500...15_000))) { [self] in
      guard members[node]?.relay == relay else { return }
      members[node]?.cut = nil
      guard cut.isNoticed else { return }
      members[node]?.sender.skip()
      handle(on: node) { lines, instant in lines.handle(.back, at: instant) }
    }
  }

  private func deliver(from sender: Int?, _ messages: [BusMessage]) {
    if let sender, members[sender]?.cut?.sends == false { return }
    for message in messages {
      guard let payload = BusPayload(text: message.text) else { continue }
      for node in members.keys.sorted() {
        if case .relay(let relay) = message.receiver, members[node]?.relay != relay { continue }
        if random.chance(1, of: 8) { continue }
        environment.timeline.after(random.number(in: 1_000...Span.milliseconds(200))) { [self] in
          if members[node]?.cut?.receives == false { return }
          members[node]?.sender.note(payload)
          handle(on: node) { lines, instant in lines.handle(.received(payload), at: instant) }
        }
      }
    }
  }

  private func handle(on node: Int, _ step: (inout PeerLines, Instant) -> [PeerLines.Event]) {
    guard isOpen, var member = members[node], member.driver.isAlive else { return }
    let events = step(&member.lines, now)
    members[node] = member
    for news in events.flatMap(VirtualBus.news) { member.driver.handle(.news(news)) }
  }

  private static func news(of event: PeerLines.Event) -> [RelayNews] {
    switch event {
    case .changed(let change):
      (change.token.map { [.remoteCommit(change.account, $0)] } ?? [])
        + (change.hasMembershipChange ? [.remoteMembershipChange(change.account)] : [])
    case .heard(let relays): [.remoteRelaysHeard(relays)]
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
      .accountRemoved(let account), .remoteMembershipChange(let account):
      BusPayload.Change(account: account, token: nil, hasMembershipChange: true)
    default: nil
    }
  }
}

import LockstepModel
import LockstepRuntime
import LockstepWire

/// Simulated network. Carries bytes between nodes with delay, in chunks of any size, ordered within
/// a connection but not across connections. Connections are refused, cut at any byte, left half
/// open, or not read.
package final class VirtualNetwork {
  /// Result of a connection attempt.
  package enum ConnectResult {
    case accepted(any AnyNode)
    case refused
    /// No response, neither success nor failure.
    case silent
  }

  /// Behaviour of the network, set from the simulation's seed.
  package struct Conditions {
    package var delayMin: Int64 = Span.microseconds(100)
    package var delayMax: Int64 = Span.milliseconds(20)
    /// Number of bytes that the sender's system and the path buffer before the sender must wait.
    package var windowBytes = 64 << 10
    /// One chunk in this many is split at a random byte; 0: none.
    package var splitOneIn = 4

    package init() {}
  }

  /// Ways in which a connection fails.
  package enum Cut {
    case bothNotified
    /// Only the opener is notified; the other end waits for ever.
    case openerNotified
    case acceptorNotified
    /// No end is notified; sent bytes are lost.
    case noneNotified
  }

  package var conditions = Conditions()
  /// Result of an attempt to connect to an address, for this opener, at this time.
  package var connectHandler: (any AnyNode, PeerAddress) -> ConnectResult = { _, _ in .refused }
  /// Maximum number of bytes that ever waited at the sender of one connection.
  package private(set) var waitingBytesMax = 0

  package weak var environment: SimulationEnvironment?
  private let timeline: Timeline
  private var random: SeededRandom
  private var ends: [EndKey: VirtualChannel.End] = [:]
  private var channels: [VirtualChannel] = []
  /// Attempts without a result that were not abandoned.
  private var attempts: Set<EndKey> = []
  private var nextID: UInt64 = 1

  private struct EndKey: Hashable {
    var node: Int
    var id: ConnectionID
  }

  package init(timeline: Timeline, random: SeededRandom) {
    self.timeline = timeline
    self.random = random
  }

  /// Returns the number of this node's open connections.
  package func openCount(of node: some AnyNode) -> Int {
    channels.reduce(0) { count, channel in
      count + (channel.opener.node.number == node.number && channel.opener.isOpen ? 1 : 0)
        + (channel.acceptor.node.number == node.number && channel.acceptor.isOpen ? 1 : 0)
    }
  }

  private func delay() -> Int64 {
    random.number(in: conditions.delayMin...conditions.delayMax)
  }

  private func log(
    _ from: any AnyNode, _ to: any AnyNode, _ what: @autoclosure () -> TrafficLog.Entry
  ) {
    environment?.log(from: from.name, to: to.name, what())
  }
}

// Actions of nodes.
extension VirtualNetwork {
  package func open(_ node: any AnyNode, _ id: ConnectionID, _ address: PeerAddress) {
    let key = EndKey(node: node.number, id: id)
    if attempts.contains(key) || ends[key] != nil {
      environment?.fault("\(node.name) opens a connection under an id that is in use")
    }
    attempts.insert(key)
    timeline.after(delay()) { [unowned self] in
      guard node.isAlive, attempts.contains(key) else { return }
      switch connectHandler(node, address) {
      case .silent: break
      case .refused:
        attempts.remove(key)
        environment?.log(from: node.name, to: "", .note("connect refused"))
        timeline.after(delay()) {
          node.deliverSignal(.closed(id, .connectFailed("connection refused")))
        }
      case .accepted(let acceptor):
        attempts.remove(key)
        connect(node, id, to: acceptor)
      }
    }
  }

  private func connect(_ node: any AnyNode, _ id: ConnectionID, to acceptor: any AnyNode) {
    let near = VirtualChannel.End(node: node, id: id)
    let far = VirtualChannel.End(node: acceptor, id: ConnectionID(rawValue: nextID))
    nextID += 1
    let channel = VirtualChannel(opener: near, acceptor: far)
    channels.append(channel)
    ends[EndKey(node: node.number, id: id)] = near
    ends[EndKey(node: acceptor.number, id: far.id)] = far
    far.isOpen = true
    log(node, acceptor, .note("connected"))
    acceptor.deliverSignal(
      .opened(
        far.id, Opening(listenerKind: .public, peer: .host("10.0.0.\(node.number)", port: 40_000))))
    timeline.after(delay()) { [unowned self] in
      guard node.isAlive, ends[EndKey(node: node.number, id: id)] === near, !near.inward.isDead
      else { return }
      near.isOpen = true
      near.inward.lastArrival = timeline.now
      node.deliverSignal(
        .opened(id, Opening(listenerKind: .outgoing, peer: .host("relay.test", port: 5_625))))
      receive(near)
    }
  }

  package func send(_ node: any AnyNode, _ id: ConnectionID, _ bytes: [UInt8]) {
    guard let end = ends[EndKey(node: node.number, id: id)], !bytes.isEmpty,
      let channel = end.channel
    else { return }
    let far = channel.other(end)
    log(node, far.node, .bytes(bytes))
    far.inward.waiting.append(bytes)
    far.inward.waitingBytes += bytes.count
    pump(to: far)
    if far.inward.waitingBytes > 0, !far.inward.owesDrained {
      far.inward.owesDrained = true
      // As in the event loop: after the turn, the node is notified of the bytes that could not be
      // sent.
      timeline.after(0) {
        guard end.isOpen, far.inward.waitingBytes > 0 else { return }
        node.deliverSignal(.drained(id, unsent: far.inward.waitingBytes))
      }
    }
    waitingBytesMax = max(waitingBytesMax, far.inward.waitingBytes)
  }

  package func close(_ node: any AnyNode, _ id: ConnectionID, _ manner: CloseManner) {
    let key = EndKey(node: node.number, id: id)
    attempts.remove(key)
    guard let end = ends.removeValue(forKey: key), let channel = end.channel else { return }
    end.isOpen = false
    let far = channel.other(end)
    log(node, far.node, .note(manner == .now ? "closes at once" : "closes"))
    if manner == .now {
      far.inward.waiting = []
      far.inward.waitingBytes = 0
      far.inward.ending = random.chance(1, of: 2) ? .endOfStream : .failed("connection reset")
    } else {
      far.inward.ending = .endOfStream
      // From here on the network owns the waiting bytes and buffers all of them.
      timeline.after(0) { node.deliverSignal(.holding(id, bytes: 0)) }
    }
    pump(to: far)
    channels.removeAll { isForgotten($0) }
  }

  package func setPaused(_ node: any AnyNode, _ id: ConnectionID, _ isPaused: Bool) {
    guard let end = ends[EndKey(node: node.number, id: id)] else { return }
    end.isPaused = isPaused
    // Not within the node's own action: waiting bytes are read in the next turn.
    if !isPaused { timeline.after(0) { [unowned self] in receive(end) } }
  }
}

// Transport of bytes.
extension VirtualNetwork {
  /// Sends the waiting bytes as far as the window allows.
  private func pump(to far: VirtualChannel.End) {
    while !far.inward.waiting.isEmpty {
      let free = conditions.windowBytes - far.inward.flightBytes - far.inward.arrivedBytes
      guard free > 0 else { return }
      let first = far.inward.waiting.removeFirst()
      var count = min(first.count, free)
      if conditions.splitOneIn > 0, count > 1, random.chance(1, of: conditions.splitOneIn) {
        count = random.count(in: 1...(count - 1))
      }
      let chunk = count == first.count ? first : Array(first[..<count])
      if count < first.count { far.inward.waiting.insert(Array(first[count...]), at: 0) }
      far.inward.waitingBytes -= count
      far.inward.flightBytes += count
      if far.inward.isDead { continue }
      timeline.at(arrivalTime(far)) { [unowned self] in arrive(chunk, at: far) }
    }
    guard let ending = far.inward.ending, !far.inward.isEndSent, !far.inward.isDead else { return }
    far.inward.isEndSent = true
    timeline.at(arrivalTime(far)) { [unowned self] in
      far.inward.arrivedEnd = ending
      receive(far)
    }
  }

  private func arrivalTime(_ far: VirtualChannel.End) -> Int64 {
    far.inward.lastArrival = max(far.inward.lastArrival + 1, timeline.now + delay())
    return far.inward.lastArrival
  }

  private func arrive(_ chunk: [UInt8], at end: VirtualChannel.End) {
    guard !end.inward.isDead else { return }
    end.inward.flightBytes -= chunk.count
    end.inward.arrived.append(chunk)
    end.inward.arrivedBytes += chunk.count
    receive(end)
  }

  /// Delivers arrived bytes to the node, unless it does not read.
  private func receive(_ end: VirtualChannel.End) {
    if end.stalledUntil > timeline.now {
      timeline.at(end.stalledUntil) { [unowned self] in receive(end) }
      return
    }
    while end.isOpen, !end.isPaused, !end.inward.isDead, !end.inward.arrived.isEmpty {
      let chunk = end.inward.arrived.removeFirst()
      end.inward.arrivedBytes -= chunk.count
      end.node.deliver(end.id, chunk)
      refillWindow(end)
    }
    let isRead = end.inward.arrived.isEmpty && !end.isPaused
    guard end.isOpen, let cause = end.inward.arrivedEnd, isRead || cause != .endOfStream else {
      if !end.isOpen { refillWindow(end) }
      return
    }
    finish(end, cause)
  }

  /// Sends the sender's next bytes and notifies the sender, because the window has free space
  /// again.
  private func refillWindow(_ end: VirtualChannel.End) {
    let before = end.inward.waitingBytes
    pump(to: end)
    guard end.inward.owesDrained, end.inward.waitingBytes < before,
      let sender = end.channel?.other(end)
    else { return }
    if end.inward.waitingBytes == 0 { end.inward.owesDrained = false }
    timeline.after(delay()) {
      guard sender.isOpen else { return }
      sender.node.deliverSignal(.drained(sender.id, unsent: end.inward.waitingBytes))
    }
  }

  private func finish(_ end: VirtualChannel.End, _ cause: CloseCause) {
    guard end.isOpen else { return }
    end.isOpen = false
    ends[EndKey(node: end.node.number, id: end.id)] = nil
    environment?.log(from: "", to: end.node.name, .note("closed: \(cause)"))
    // The other direction ends too: this node's unsent bytes are lost.
    if let far = end.channel?.other(end) { discardUnsent(far) }
    end.node.deliverSignal(.closed(end.id, cause))
    if cause == .endOfStream { end.node.deliverSignal(.holding(end.id, bytes: 0)) }
    channels.removeAll { isForgotten($0) }
  }

  private func isForgotten(_ channel: VirtualChannel) -> Bool {
    [channel.opener, channel.acceptor].allSatisfy {
      ends[EndKey(node: $0.node.number, id: $0.id)] == nil
    }
  }

  private func discardUnsent(_ end: VirtualChannel.End) {
    end.inward.waiting = []
    end.inward.waitingBytes = 0
    end.inward.owesDrained = false
  }
}

// Faults.
extension VirtualNetwork {
  package func channels(of node: some AnyNode) -> Int { channelList(of: node).count }

  /// Breaks all connections of a node; if no manner is given, each in a random one. Returns true if
  /// there were any.
  @discardableResult
  package func cutAll(of node: some AnyNode, _ cut: Cut? = nil) -> Bool {
    let channels = channelList(of: node)
    for channel in channels {
      let manners: [Cut] = [
        .bothNotified, .bothNotified, .openerNotified, .acceptorNotified, .noneNotified,
      ]
      self.cut(channel, cut ?? random.one(of: manners))
    }
    return !channels.isEmpty
  }

  /// Removes a node whose process has ended. Its system notifies the peers, unless the machine is
  /// gone too.
  package func removeNode(_ node: some AnyNode, isMachineGone: Bool) {
    for channel in channelList(of: node) {
      let mine = channel.opener.node.number == node.number ? channel.opener : channel.acceptor
      mine.isOpen = false
      ends[EndKey(node: node.number, id: mine.id)] = nil
      let far = channel.other(mine)
      if isMachineGone {
        far.inward.isDead = true
        mine.inward.isDead = true
      } else {
        end(far, after: delay())
      }
    }
    channels.removeAll { isForgotten($0) }
  }

  /// Stops reading from the node's present connections for a time. Returns true if there are any.
  @discardableResult
  package func stallAll(of node: some AnyNode, nanoseconds: Int64) -> Bool {
    let channels = channelList(of: node)
    for channel in channels {
      let mine = channel.opener.node.number == node.number ? channel.opener : channel.acceptor
      mine.stalledUntil = max(mine.stalledUntil, timeline.now + nanoseconds)
    }
    return !channels.isEmpty
  }

  private func channelList(of node: some AnyNode) -> [VirtualChannel] {
    channels.filter {
      $0.opener.node.number == node.number || $0.acceptor.node.number == node.number
    }
  }

  private func cut(_ channel: VirtualChannel, _ cut: Cut) {
    log(channel.opener.node, channel.acceptor.node, .note("cut: \(cut)"))
    switch cut {
    case .bothNotified:
      end(channel.opener, after: delay())
      end(channel.acceptor, after: delay())
    case .openerNotified:
      channel.acceptor.inward.isDead = true
      end(channel.opener, after: delay())
    case .acceptorNotified:
      channel.opener.inward.isDead = true
      end(channel.acceptor, after: delay())
    case .noneNotified:
      channel.opener.inward.isDead = true
      channel.acceptor.inward.isDead = true
    }
  }

  /// Bytes that arrive before the end are still read; the rest is lost.
  private func end(_ end: VirtualChannel.End, after nanoseconds: Int64) {
    timeline.after(nanoseconds) { [unowned self] in
      guard ends[EndKey(node: end.node.number, id: end.id)] === end else { return }
      end.inward.isDead = true
      end.isOpen = true
      finish(end, .failed("connection reset"))
    }
  }
}

/// One connection: two ends, and one ordered pipe per direction.
final class VirtualChannel {
  let opener: End
  let acceptor: End

  init(opener: End, acceptor: End) {
    self.opener = opener
    self.acceptor = acceptor
    opener.channel = self
    acceptor.channel = self
  }

  func other(_ end: End) -> End { end === opener ? acceptor : opener }

  /// One node's end of a connection, with the pipe *to* it.
  final class End {
    let node: any AnyNode
    let id: ConnectionID
    weak var channel: VirtualChannel?
    /// True if the node has received `opened`, and neither closed the end nor received `closed`.
    var isOpen = false
    /// True if the node has paused reading.
    var isPaused = false
    /// Time until which the machine does not read, even if the node wants to.
    var stalledUntil: Int64 = 0
    var inward = Pipe()

    init(node: any AnyNode, id: ConnectionID) {
      self.node = node
      self.id = id
    }
  }

  /// Data in transit to one end.
  struct Pipe {
    /// Written by the sender, not yet accepted by its system, in order.
    var waiting: [[UInt8]] = []
    var waitingBytes = 0
    /// Accepted by the sender's system, not yet arrived.
    var flightBytes = 0
    /// Arrived, not yet read.
    var arrived: [[UInt8]] = []
    var arrivedBytes = 0
    var lastArrival: Int64 = 0
    /// True if the sender was notified, or will be, that bytes wait.
    var owesDrained = false
    /// True if sent bytes never arrive, without any notification.
    var isDead = false
    /// Reason for the end of the stream, after the waiting bytes.
    var ending: CloseCause?
    var isEndSent = false
    /// Set when the end has arrived, after all bytes that arrived before.
    var arrivedEnd: CloseCause?
  }
}

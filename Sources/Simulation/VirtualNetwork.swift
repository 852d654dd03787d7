import LockstepModel
import LockstepWire

/// Carries bytes between nodes: late, in pieces of any size, in order within a connection and in
/// none between two. Connections are refused, cut at any byte, left half open, and not read.
package final class VirtualNetwork {
  /// What a connection attempt meets.
  package enum Door {
    case open(any AnyNode)
    case refused
    /// Nothing answers, for good or bad.
    case silent
  }

  /// How the network behaves; a world's seed sets it.
  package struct Conditions {
    package var delayMin: Int64 = Span.microseconds(100)
    package var delayMax: Int64 = Span.milliseconds(20)
    /// Bytes that a sender's system and the way take before the sender must wait.
    package var windowBytes = 64 << 10
    /// One in so many chunks is split at a random byte; 0: none.
    package var splitOneIn = 4

    package init() {}
  }

  /// How a connection comes to a bad end.
  package enum Cut {
    case bothTold
    /// Only the opener hears of it; the other end waits for ever.
    case openerTold
    case acceptorTold
    /// Nobody hears of it; what is sent vanishes.
    case nobodyTold
  }

  package var conditions = Conditions()
  /// Whom an address leads to, for this opener, now.
  package var door: (any AnyNode, PeerAddress) -> Door = { _, _ in .refused }
  /// The most bytes that ever waited for one connection, at the sender.
  package private(set) var waitingBytesMax = 0

  weak var outside: SimulationEnvironment?
  private let timeline: Timeline
  private var random: SeededRandom
  private var ends: [EndKey: VirtualChannel.End] = [:]
  private var channels: [VirtualChannel] = []
  /// Attempts that were not answered yet and not given up.
  private var attempts: Set<EndKey> = []
  private var nextID: UInt64 = 1

  private struct EndKey: Hashable {
    var seat: Int
    var id: ConnectionID
  }

  init(timeline: Timeline, random: SeededRandom) {
    self.timeline = timeline
    self.random = random
  }

  /// Connections that this node knows to be open.
  package func openCount(of seat: some AnyNode) -> Int {
    channels.reduce(0) { count, channel in
      count + (channel.opener.seat.number == seat.number && channel.opener.isOpen ? 1 : 0)
        + (channel.acceptor.seat.number == seat.number && channel.acceptor.isOpen ? 1 : 0)
    }
  }

  private func delay() -> Int64 {
    random.number(in: conditions.delayMin...conditions.delayMax)
  }

  private func log(
    _ from: any AnyNode, _ to: any AnyNode, _ what: @autoclosure () -> FlowLog.What
  ) {
    outside?.log(from: from.name, to: to.name, what())
  }
}

// What nodes ask.
extension VirtualNetwork {
  package func open(_ seat: any AnyNode, _ id: ConnectionID, _ address: PeerAddress) {
    let key = EndKey(seat: seat.number, id: id)
    if attempts.contains(key) || ends[key] != nil {
      outside?.fault("\(seat.name) opens a connection under a name that is in use")
    }
    attempts.insert(key)
    timeline.after(delay()) { [unowned self] in
      guard seat.isAlive, attempts.contains(key) else { return }
      switch door(seat, address) {
      case .silent: break
      case .refused:
        attempts.remove(key)
        outside?.log(from: seat.name, to: "", .note("connect refused"))
        timeline.after(delay()) {
          seat.tell(.closed(id, .connectFailed("connection refused")))
        }
      case .open(let acceptor):
        attempts.remove(key)
        connect(seat, id, to: acceptor)
      }
    }
  }

  private func connect(_ seat: any AnyNode, _ id: ConnectionID, to acceptor: any AnyNode) {
    let near = VirtualChannel.End(seat: seat, id: id)
    let far = VirtualChannel.End(seat: acceptor, id: ConnectionID(rawValue: nextID))
    nextID += 1
    let channel = VirtualChannel(opener: near, acceptor: far)
    channels.append(channel)
    ends[EndKey(seat: seat.number, id: id)] = near
    ends[EndKey(seat: acceptor.number, id: far.id)] = far
    far.isOpen = true
    log(seat, acceptor, .note("connected"))
    acceptor.tell(
      .opened(far.id, Opening(door: .front, peer: .host("10.0.0.\(seat.number)", port: 40_000))))
    timeline.after(delay()) { [unowned self] in
      guard seat.isAlive, ends[EndKey(seat: seat.number, id: id)] === near, !near.inward.isDead
      else { return }
      near.isOpen = true
      near.inward.lastArrival = timeline.now
      seat.tell(
        .opened(id, Opening(door: .outgoing, peer: .host("relay.test", port: 5_625))))
      receive(near)
    }
  }

  package func send(_ seat: any AnyNode, _ id: ConnectionID, _ bytes: [UInt8]) {
    guard let end = ends[EndKey(seat: seat.number, id: id)], !bytes.isEmpty,
      let channel = end.channel
    else { return }
    let far = channel.other(end)
    log(seat, far.seat, .bytes(bytes))
    far.inward.waiting.append(bytes)
    far.inward.waitingBytes += bytes.count
    pump(to: far)
    if far.inward.waitingBytes > 0, !far.inward.owesDrained {
      far.inward.owesDrained = true
      // Like the loop: once the turn is over, the node is told what could not leave.
      timeline.after(0) {
        guard end.isOpen, far.inward.waitingBytes > 0 else { return }
        seat.tell(.drained(id, unsent: far.inward.waitingBytes))
      }
    }
    waitingBytesMax = max(waitingBytesMax, far.inward.waitingBytes)
  }

  package func close(_ seat: any AnyNode, _ id: ConnectionID, _ manner: CloseManner) {
    let key = EndKey(seat: seat.number, id: id)
    attempts.remove(key)
    guard let end = ends.removeValue(forKey: key), let channel = end.channel else { return }
    end.isOpen = false
    let far = channel.other(end)
    log(seat, far.seat, .note(manner == .now ? "closes at once" : "closes"))
    if manner == .now {
      far.inward.waiting = []
      far.inward.waitingBytes = 0
      far.inward.ending = random.chance(1, of: 2) ? .endOfStream : .failed("connection reset")
    } else {
      far.inward.ending = .endOfStream
      // What waits is the network's from here on, which has room for it.
      timeline.after(0) { seat.tell(.holding(id, bytes: 0)) }
    }
    pump(to: far)
    channels.removeAll { isForgotten($0) }
  }

  package func setPaused(_ seat: any AnyNode, _ id: ConnectionID, _ isPaused: Bool) {
    guard let end = ends[EndKey(seat: seat.number, id: id)] else { return }
    end.isPaused = isPaused
    // Not within the node's own action: what waits is read at the next turn.
    if !isPaused { timeline.after(0) { [unowned self] in receive(end) } }
  }
}

// How bytes travel.
extension VirtualNetwork {
  /// Hands on what waits, as far as the window allows.
  private func pump(to far: VirtualChannel.End) {
    while !far.inward.waiting.isEmpty {
      let room = conditions.windowBytes - far.inward.flightBytes - far.inward.arrivedBytes
      guard room > 0 else { return }
      let first = far.inward.waiting.removeFirst()
      var count = min(first.count, room)
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

  /// Gives the node what has arrived, unless it does not read.
  private func receive(_ end: VirtualChannel.End) {
    if end.stalledUntil > timeline.now {
      timeline.at(end.stalledUntil) { [unowned self] in receive(end) }
      return
    }
    while end.isOpen, !end.isPaused, !end.inward.isDead, !end.inward.arrived.isEmpty {
      let chunk = end.inward.arrived.removeFirst()
      end.inward.arrivedBytes -= chunk.count
      end.seat.deliver(end.id, chunk)
      takeMore(end)
    }
    let isRead = end.inward.arrived.isEmpty && !end.isPaused
    guard end.isOpen, let cause = end.inward.arrivedEnd, isRead || cause != .endOfStream else {
      if !end.isOpen { takeMore(end) }
      return
    }
    finish(end, cause)
  }

  /// The window has room again: the sender's next bytes go, and it is told.
  private func takeMore(_ end: VirtualChannel.End) {
    let before = end.inward.waitingBytes
    pump(to: end)
    guard end.inward.owesDrained, end.inward.waitingBytes < before,
      let sender = end.channel?.other(end)
    else { return }
    if end.inward.waitingBytes == 0 { end.inward.owesDrained = false }
    timeline.after(delay()) {
      guard sender.isOpen else { return }
      sender.seat.tell(.drained(sender.id, unsent: end.inward.waitingBytes))
    }
  }

  private func finish(_ end: VirtualChannel.End, _ cause: CloseCause) {
    guard end.isOpen else { return }
    end.isOpen = false
    ends[EndKey(seat: end.seat.number, id: end.id)] = nil
    outside?.log(from: "", to: end.seat.name, .note("closed: \(cause)"))
    // The other way ends as well: what this node still had to say is gone.
    if let far = end.channel?.other(end) { bury(far) }
    end.seat.tell(.closed(end.id, cause))
    if cause == .endOfStream { end.seat.tell(.holding(end.id, bytes: 0)) }
    channels.removeAll { isForgotten($0) }
  }

  private func isForgotten(_ channel: VirtualChannel) -> Bool {
    [channel.opener, channel.acceptor].allSatisfy {
      ends[EndKey(seat: $0.seat.number, id: $0.id)] == nil
    }
  }

  private func bury(_ end: VirtualChannel.End) {
    end.inward.waiting = []
    end.inward.waitingBytes = 0
    end.inward.owesDrained = false
  }
}

// Faults.
extension VirtualNetwork {
  package func channels(of seat: some AnyNode) -> Int { list(of: seat).count }

  /// Breaks the connections of a node, each in a manner of its own if none is given. Whether there
  /// were any.
  @discardableResult
  package func cutAll(of seat: some AnyNode, _ cut: Cut? = nil) -> Bool {
    let channels = list(of: seat)
    for channel in channels {
      let manners: [Cut] = [.bothTold, .bothTold, .openerTold, .acceptorTold, .nobodyTold]
      self.cut(channel, cut ?? random.one(of: manners))
    }
    return !channels.isEmpty
  }

  /// The node's process is gone. Its system tells the others, or the machine went with it and
  /// nobody does.
  package func forget(_ seat: some AnyNode, isMachineGone: Bool) {
    for channel in list(of: seat) {
      let mine = channel.opener.seat.number == seat.number ? channel.opener : channel.acceptor
      mine.isOpen = false
      ends[EndKey(seat: seat.number, id: mine.id)] = nil
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

  /// For a while a node's machine takes no bytes from the connections it has. Whether it has some.
  @discardableResult
  package func stallAll(of seat: some AnyNode, nanoseconds: Int64) -> Bool {
    let channels = list(of: seat)
    for channel in channels {
      let mine = channel.opener.seat.number == seat.number ? channel.opener : channel.acceptor
      mine.stalledUntil = max(mine.stalledUntil, timeline.now + nanoseconds)
    }
    return !channels.isEmpty
  }

  private func list(of seat: some AnyNode) -> [VirtualChannel] {
    channels.filter {
      $0.opener.seat.number == seat.number || $0.acceptor.seat.number == seat.number
    }
  }

  private func cut(_ channel: VirtualChannel, _ cut: Cut) {
    log(channel.opener.seat, channel.acceptor.seat, .note("cut: \(cut)"))
    switch cut {
    case .bothTold:
      end(channel.opener, after: delay())
      end(channel.acceptor, after: delay())
    case .openerTold:
      channel.acceptor.inward.isDead = true
      end(channel.opener, after: delay())
    case .acceptorTold:
      channel.opener.inward.isDead = true
      end(channel.acceptor, after: delay())
    case .nobodyTold:
      channel.opener.inward.isDead = true
      channel.acceptor.inward.isDead = true
    }
  }

  /// What arrives until then is still read; the rest is lost.
  private func end(_ end: VirtualChannel.End, after nanoseconds: Int64) {
    timeline.after(nanoseconds) { [unowned self] in
      guard ends[EndKey(seat: end.seat.number, id: end.id)] === end else { return }
      end.inward.isDead = true
      end.isOpen = true
      finish(end, .failed("connection reset"))
    }
  }
}

import Glibc
public import LockstepModel
public import LockstepWire

/// Sockets of one thread. The loop waits for the kernel, moves bytes, and reports events. It
/// depends on neither nodes nor jobs; a `NodeRunner` uses it.
///
/// One turn: `wait`, then `next` until nil, then `flush`, then `next` until nil again.
@usableFromInline
struct EventLoop: ~Copyable {
  /// Event for the node.
  @usableFromInline
  enum Input {
    case opened(ConnectionID, Opening)
    /// `count` bytes are in `receiveBuffer`, valid until the next call.
    case received(ConnectionID, count: Int)
    case drained(ConnectionID, unsent: Int)
    case holding(ConnectionID, bytes: Int)
    case closed(ConnectionID, CloseCause)
    case turnedAway(TurnedAway)
  }

  /// Event that occurred while another one was handled, queued for `next`.
  struct Incident {
    enum Kind {
      case opened(Opening)
      case drained
      case holding
      case closed(CloseCause)
      case holdsBytes
    }

    var registration: Poller.Registration
    var kind: Kind
  }

  /// Starts a lookup of a host's addresses outside the loop. The answer comes back by
  /// `connect(_:to:)`.
  typealias Lookup = (_ host: String, _ port: UInt16, Poller.Registration) -> SystemFault?

  @usableFromInline let receiveBuffer: UnsafeMutableRawBufferPointer
  let poller: Poller
  var slab = ConnectionSlab()
  var frames = FrameStore()
  /// Linked list of slots with frames that are new since the last flush.
  var firstDirty: Int32 = -1
  var lastDirty: Int32 = -1
  var incidents = ActionQueue<Incident>()
  /// Refused connections that are not reported to the node yet.
  var turnedAway = ActionQueue<TurnedAway>()
  /// Closed connections for which no memory is held any more.
  var released = ActionQueue<ConnectionID>()
  /// Set while the node handles the end of the peer's stream and may send its last frames.
  var endedPeer: Poller.Registration?
  var listeners: [Listener] = []
  /// Indices of listeners that are stopped.
  var hasStoppedListening: Set<Int> = []
  /// Time at which listeners paused for lack of descriptors resume.
  var listenersPausedUntil: Instant?
  /// Timers of closing connections that are blocked, and of lingering connections.
  var stalls: ExpiryQueue
  var lingers = ExpiryQueue(milliseconds: Limits.lingerMilliseconds)
  /// Addresses not tried yet of connecting connections, by slot.
  var alternatives: [Int: ArraySlice<SocketAddress>] = [:]
  var handshakes: HandshakeQueue
  /// TLS connections with held bytes that the poll does not report. They are read in the next turn.
  var holders: [Poller.Registration] = []
  let trust: Trust
  /// Created by the first connection that needs it.
  var secureClient: SecureContext?
  /// Buffer in which frames are joined for one TLS record.
  let joinBuffer: UnsafeMutableRawBufferPointer
  /// Start of the turn.
  var now = SystemClock.instant()
  let vectors: UnsafeMutablePointer<iovec>
  let limits: LoopLimits
  let lookup: Lookup
  let notice: (LoopNotice) -> Void
  private var eventCount = 0
  private var nextEvent = 0

  init(
    bell: borrowing WakeupDescriptor, trust: Trust = .system, limits: LoopLimits = LoopLimits(),
    lookup: @escaping Lookup, notice: @escaping (LoopNotice) -> Void
  ) throws(SystemFault) {
    let poller = try Poller()
    try poller.add(bell.rawValue, [.reading, .onceARise], as: .other(0))
    self.poller = poller
    receiveBuffer = .allocate(byteCount: limits.receiveBytes, alignment: 16)
    vectors = .allocate(capacity: Limits.framesPerWrite)
    joinBuffer = .allocate(byteCount: Limits.secureWriteBytes, alignment: 16)
    stalls = ExpiryQueue(milliseconds: limits.stalledMilliseconds)
    handshakes = HandshakeQueue(limits)
    self.trust = trust
    self.limits = limits
    self.lookup = lookup
    self.notice = notice
  }

  deinit {
    receiveBuffer.deallocate()
    vectors.deallocate()
    joinBuffer.deallocate()
  }

  /// Waits until an event occurs, `deadline` passes, or the mailbox wakes the loop. Does not block
  /// if `mayWait` is false or if events are still queued: a connection opened at the very end of a
  /// turn may have succeeded or failed at once.
  @usableFromInline
  mutating func wait(until deadline: Instant?, mayWait: Bool) -> Moment {
    // Everything sent in the turn before has been written by now.
    continueHandshakes()
    passHolders()
    let isIdle =
      incidents.isEmpty && turnedAway.isEmpty && released.isEmpty && handshakes.isEmpty
    eventCount = poller.wait(nanoseconds: mayWait && isIdle ? nanosecondsToWait(deadline) : 0)
    nextEvent = 0
    let moment = SystemClock.moment()
    now = moment.instant
    expire()
    return moment
  }

  private func nanosecondsToWait(_ deadline: Instant?) -> Int64 {
    var earliest = deadline
    for other in [listenersPausedUntil, stalls.next, lingers.next, handshakes.deadlines.next] {
      if let other { earliest = min(earliest ?? other, other) }
    }
    guard let earliest else { return -1 }
    return max(0, earliest.nanoseconds - SystemClock.instant().nanoseconds)
  }

  /// Returns the next event of this turn, or nil if there are no more.
  @usableFromInline
  mutating func next() -> Input? {
    forgetEndedPeer()
    while true {
      while let incident = incidents.popFirst() {
        if let input = input(of: incident) { return input }
      }
      if let reason = turnedAway.popFirst() { return .turnedAway(reason) }
      if let id = released.popFirst() { return .holding(id, bytes: 0) }
      guard nextEvent < eventCount else { return nil }
      let event = poller.event(nextEvent)
      nextEvent += 1
      if event.registration.isOther {
        // Number 0 is the wakeup descriptor: its work is done once the wait has ended.
        let number = event.registration.slot
        if number > 0 { accept(at: number - 1) }
      } else if let slot = slab.slot(of: event.registration) {
        if let input = handle(event, slot) { return input }
      }
    }
  }

  /// Returns nil if the node closed the connection before the event was reported.
  private mutating func input(of incident: Incident) -> Input? {
    guard let slot = slab.slot(of: incident.registration), slab[slot].pointee.isKnown else {
      return nil
    }
    let id = slab[slot].pointee.id
    switch incident.kind {
    case .opened(let opening):
      return .opened(id, opening)
    case .drained:
      guard slab[slot].pointee.stage == .open else { return nil }
      return .drained(id, unsent: slab[slot].pointee.output.unsent)
    case .holding:
      guard slab[slot].pointee.stage == .open else { return nil }
      return .holding(id, bytes: slab[slot].pointee.output.held)
    case .closed(let cause) where slab[slot].pointee.stage == .closing:
      endedPeer = incident.registration
      return .closed(id, cause)
    case .closed(let cause):
      slab.forget(slot)
      if slab[slot].pointee.stage == .ended { slab.free(slot) }
      return .closed(id, cause)
    case .holdsBytes: return receiveHeld(slot)
    }
  }

  private mutating func handle(_ event: Poller.Event, _ slot: Int) -> Input? {
    let connection = slab[slot]
    switch connection.pointee.stage {
    case .free, .lookingUp, .ended:
      return nil
    case .connecting:
      finishConnecting(slot)
      return nil
    case .securing:
      enqueueHandshake(slot)
      return nil
    case .open:
      if event.canWrite, connection.pointee.isBlocked { writeBlocked(slot) }
      guard connection.pointee.stage == .open else { return nil }
      if !connection.pointee.isPaused {
        let canGoOn = event.canRead || event.isBroken || connection.pointee.readWantsRoom
        return canGoOn ? receive(slot) : nil
      }
      if event.isBroken {
        breakPaused(slot)
      } else if event.canRead {
        updateInterest(slot)
      }
      return nil
    case .closing:
      connection.pointee.isBlocked = false
      write(slot)
      return nil
    case .lingering:
      discard(slot)
      return nil
    }
  }

  mutating func tell(_ slot: Int, _ kind: Incident.Kind) {
    incidents.append(Incident(registration: slab.registration(of: slot), kind: kind))
  }
}

/// Owner of a runner's loop. The runner's code is inlined into other modules, but the deinit of a
/// loop cannot be, so a class and a pointer separate them.
@usableFromInline
final class EventLoopOwner {
  @usableFromInline let loop: UnsafeMutablePointer<EventLoop>

  init(_ loop: consuming EventLoop) {
    self.loop = .allocate(capacity: 1)
    self.loop.initialize(to: loop)
  }

  deinit {
    loop.deinitialize(count: 1)
    loop.deallocate()
  }
}

/// Notice for the operator of the process.
public enum LoopNotice: Hashable, Sendable, CustomStringConvertible {
  /// No connection can be accepted for now; the loop retries by itself.
  case acceptPaused(SystemFault)
  /// A listener could not be paused, resumed, or stopped.
  case listenerFailed(SystemFault)

  public var description: String {
    switch self {
    case .acceptPaused(let fault):
      "no more connections can be let in for now (\(fault)); raise the limit of open files"
    case .listenerFailed(let fault):
      "a listener failed (\(fault)); restart if no connections come in"
    }
  }
}

import Glibc
import LockstepModel
import LockstepRuntime

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
    case connectionRejected(ConnectionRejection)
  }

  /// Event that occurred while another one was handled, queued for `next`.
  struct Incident {
    enum Kind {
      case opened(Opening)
      case drained
      case holding
      case closed(CloseCause)
      case hasPendingBytes
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
  /// Connections with frames that are new since the last flush. Those whose first new frame is one
  /// for a crowd are written last: an answer does not wait until thousands have the change.
  private var dirty = DirtyList()
  private var dirtyCrowd = DirtyList()
  private var incidents = ActionQueue<Incident>()
  /// Refused connections that are not reported to the node yet.
  private var rejections = ActionQueue<ConnectionRejection>()
  /// Closed connections for which no memory is held any more.
  var released = ActionQueue<ConnectionID>()
  /// Set while the node handles the end of the peer's stream and may send its last frames.
  private var endedPeer: Poller.Registration?
  var listeners: [Listener] = []
  /// Indices of listeners that are stopped.
  private var hasStoppedListening: Set<Int> = []
  /// Time at which listeners paused for lack of descriptors resume.
  private var listenersPausedUntil: Instant?
  /// Timers of closing connections that are blocked, and of lingering connections.
  private var stalls: ExpiryQueue
  private var lingers = ExpiryQueue(milliseconds: Limits.lingerMilliseconds)
  /// Addresses not tried yet of connecting connections, by slot.
  private var alternatives: [Int: ArraySlice<SocketAddress>] = [:]
  /// Connections whose addresses are judged once they are known, by slot; true if local addresses
  /// are allowed.
  private var screenings: [Int: Bool] = [:]
  var handshakes: HandshakeQueue
  /// TLS connections with held bytes that the poll does not report. They are read in the next turn.
  private var pendingReads: [Poller.Registration] = []
  let trust: Trust
  /// nil: no address is allowed.
  private let screen: AddressScreen?
  /// Created by the first connection that needs it.
  private var secureClient: SecureContext?
  /// Buffer in which frames are joined for one TLS record.
  private let joinBuffer: UnsafeMutableRawBufferPointer
  /// Start of the turn.
  var now = SystemClock.instant()
  let vectors: UnsafeMutablePointer<iovec>
  let limits: LoopLimits
  let lookup: Lookup
  let notice: (LoopNotice) -> Void
  private var eventCount = 0
  private var nextEvent = 0

  init(
    wakeup: borrowing WakeupDescriptor, trust: Trust = .system, screen: AddressScreen? = nil,
    limits: LoopLimits = LoopLimits(), lookup: @escaping Lookup,
    notice: @escaping (LoopNotice) -> Void
  ) throws(SystemFault) {
    let poller = try Poller()
    try poller.add(wakeup.rawValue, [.reading, .edgeTriggered], as: .other(0))
    self.poller = poller
    receiveBuffer = .allocate(byteCount: limits.receiveBytes, alignment: 16)
    vectors = .allocate(capacity: Limits.framesPerWrite)
    joinBuffer = .allocate(byteCount: Limits.secureWriteBytes, alignment: 16)
    stalls = ExpiryQueue(milliseconds: limits.stalledMilliseconds)
    handshakes = HandshakeQueue(limits)
    self.trust = trust
    self.screen = screen
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
    dispatchPendingReads()
    let isIdle =
      incidents.isEmpty && rejections.isEmpty && released.isEmpty && handshakes.isEmpty
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
    finishEndedPeer()
    while true {
      while let incident = incidents.popFirst() {
        if let input = input(of: incident) { return input }
      }
      if let reason = rejections.popFirst() { return .connectionRejected(reason) }
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
    case .hasPendingBytes: return receivePending(slot)
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
        let canGoOn = event.canRead || event.isBroken || connection.pointee.readWantsWrite
        return canGoOn ? receive(slot) : nil
      }
      if event.isBroken {
        handlePausedFailure(slot)
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

  mutating func enqueueIncident(_ slot: Int, _ kind: Incident.Kind) {
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
@usableFromInline
package enum LoopNotice: Hashable, Sendable, CustomStringConvertible {
  /// No connection can be accepted for now; the loop retries by itself.
  case acceptPaused(SystemFault)
  /// A listener could not be paused, resumed, or stopped.
  case listenerFailed(SystemFault)

  @usableFromInline
  package var description: String {
    switch self {
    case .acceptPaused(let fault):
      "no more connections can be accepted for now (\(fault)); raise the limit of open files"
    case .listenerFailed(let fault):
      "a listener failed (\(fault)); restart if no connections come in"
    }
  }
}

/// Configurable limits of a loop.
@usableFromInline
package struct LoopLimits: Sendable, Hashable {
  /// Bytes of one read.
  @usableFromInline package var receiveBytes = Limits.receiveBytes
  /// Bytes written to one connection before the others have their turn.
  @usableFromInline package var writeBytes = Limits.writeBytes
  /// Timeout, in milliseconds, of a closing connection whose peer reads none of the queued bytes.
  @usableFromInline package var stalledMilliseconds = Limits.stalledMilliseconds
  /// Incoming TLS handshakes: the maximum at once, and the timeout of each in milliseconds.
  @usableFromInline package var handshakesAtOnce = Limits.handshakesAtOnce
  @usableFromInline package var handshakeMilliseconds = Limits.handshakeMilliseconds

  @usableFromInline package init() {}
}

/// Opening of connections: accepted by a listener, or requested by the node.
extension EventLoop {
  // MARK: Incoming connections

  /// Adds a descriptor that is only written to and never polled. It may be a file.
  mutating func adopt(_ descriptor: consuming Descriptor) -> ConnectionID {
    let slot = slab.add(nil, descriptor, .open)
    slab[slot].pointee.isSocket = false
    return slab[slot].pointee.id
  }

  mutating func listen(at listener: Listener) throws(SystemFault) {
    listeners.append(listener)
    try poller.add(listener.rawValue, .reading, as: .other(listeners.count))
  }

  /// Accepts the connections that already wait, then refuses all further ones.
  @usableFromInline
  mutating func stopListening(at listenerKind: Opening.ListenerKind) {
    for index in listeners.indices where listeners[index].listenerKind == listenerKind {
      accept(at: index)
      hasStoppedListening.insert(index)
      do throws(SystemFault) {
        try poller.remove(listeners[index].rawValue)
        try Syscall.stopListening(listeners[index].rawValue)
      } catch {
        notice(.listenerFailed(error))
      }
    }
    if listenerKind == .public { dropHandshakes() }
  }

  mutating func accept(at index: Int) {
    guard !hasStoppedListening.contains(index) else { return }
    let listener = listeners[index]
    var address = SocketAddress()
    for _ in 0..<Limits.acceptsPerTurn {
      do throws(SystemFault) {
        guard let descriptor = try Syscall.accept(listener.rawValue, &address) else { return }
        let opening = Opening(
          listenerKind: listener.listenerKind,
          peer: address.family == AF_UNIX ? listener.address : address.peer,
          address: address.ip)
        // A refused connection is closed before anything is read from it or allocated for it.
        var permit: ConnectionPermit?
        if let limiter = listener.limiter {
          switch limiter.admit(opening) {
          case .connectionRejected(let reason):
            rejections.append(reason)
            continue
          case .admitted(let admitted): permit = consume admitted
          }
        }
        if let certificate = listener.certificate {
          secure(descriptor, listener.listenerKind, permit, certificate.current)
          continue
        }
        let slot = slab.add(nil, descriptor, .open)
        slab[slot].pointee.permit = permit
        enqueueIncident(slot, .opened(opening))
        watch(slot)
      } catch {
        guard isShortage(error) else { continue }
        return pauseListeners(error)
      }
    }
  }

  /// True if the process or the system lacks descriptors or memory. All other faults belong to a
  /// connection that broke before it was accepted.
  private func isShortage(_ fault: SystemFault) -> Bool {
    [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(fault.code)
  }

  mutating func pauseListeners(_ fault: SystemFault) {
    if listenersPausedUntil == nil {
      notice(.acceptPaused(fault))
      setAllListening(false)
    }
    listenersPausedUntil = now.advanced(milliseconds: Limits.acceptPauseMilliseconds)
  }

  mutating func resumeListeners() {
    guard let end = listenersPausedUntil, end <= now else { return }
    listenersPausedUntil = nil
    setAllListening(true)
  }

  private mutating func setAllListening(_ isListening: Bool) {
    for index in listeners.indices where !hasStoppedListening.contains(index) {
      setListening(index, isListening)
    }
  }

  private mutating func setListening(_ index: Int, _ isListening: Bool) {
    do throws(SystemFault) {
      try poller.change(
        listeners[index].rawValue, isListening ? .reading : [], as: .other(index + 1))
    } catch {
      notice(.listenerFailed(error))
    }
  }

  // MARK: Outgoing connections

  /// Opens a connection. `next` returns `opened` or `closed` later. The node sets its own timeout.
  @usableFromInline
  mutating func open(_ id: ConnectionID, _ address: PeerAddress) {
    precondition(id.isOutgoing)
    let slot = slab.add(id, nil, .lookingUp)
    switch address {
    case .local(let path):
      do throws(SocketAddress.PathLimit) {
        connect(slot, to: [try SocketAddress(path: path)])
      } catch {
        end(slot, .connectFailed("the path is longer than \(error.bytes) bytes"))
      }
    case .host(let host, let port): resolve(slot, host, port)
    case .secure(let host, let port): openSecure(slot, host, port)
    case .http2(let host, let port): openSecure(slot, host, port, .http2)
    case .screened(let host, let port, let allowsLocal):
      screenings[slot] = allowsLocal
      openSecure(slot, host, port)
    }
  }

  private mutating func openSecure(
    _ slot: Int, _ host: String, _ port: UInt16, _ offer: SecureConnection.Offer = .http1
  ) {
    do throws(CertificateFault) {
      slab[slot].pointee.security = try makeSecurity(for: host, offer)
      resolve(slot, host, port)
    } catch {
      end(slot, .connectFailed("\(error)"))
    }
  }

  private mutating func resolve(_ slot: Int, _ host: String, _ port: UInt16) {
    do throws(SocketAddress.LookupFault) {
      connect(slot, resolved: try SocketAddress.lookUp(host, port: port, as: .literal))
    } catch {
      guard error.isName else { return end(slot, .connectFailed(error.text)) }
      if let fault = lookup(host, port, slab.registration(of: slot)) {
        end(slot, .connectFailed("\(fault)"))
      }
    }
  }

  /// Handles the answer to a lookup. The connection may be gone by now.
  @usableFromInline
  mutating func connect(_ found: LookupAnswer) {
    guard let slot = slab.slot(of: found.registration), slab[slot].pointee.stage == .lookingUp
    else { return }
    switch found.answer {
    case .success(let addresses): connect(slot, resolved: addresses)
    case .failure(let fault): end(slot, .connectFailed(fault.text))
    }
  }

  /// Connects to one of the addresses of a host: those that are screened are judged here, and
  /// exactly these are connected to. A second lookup could return others.
  private mutating func connect(_ slot: Int, resolved addresses: [SocketAddress]) {
    guard let allowsLocal = screenings.removeValue(forKey: slot) else {
      return connect(slot, to: addresses[...])
    }
    let (screen, now) = (screen, now)
    let allowed = addresses.filter { address in
      screen?.allows(address, allowsLocal: allowsLocal, at: now) == true
    }
    guard !allowed.isEmpty else { return end(slot, .addressNotAllowed) }
    connect(slot, to: allowed[...])
  }

  /// Tries one address after another until a connect succeeds or is in progress.
  private mutating func connect(_ slot: Int, to addresses: ArraySlice<SocketAddress>) {
    var rest = addresses
    var reason = "no address"
    while let address = rest.popFirst() {
      do throws(SystemFault) {
        let descriptor = try Syscall.makeSocket(address.family)
        if address.family != AF_UNIX {
          try Syscall.setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        }
        let isConnected = try Syscall.connect(descriptor.rawValue, address)
        slab[slot].pointee.descriptor = consume descriptor
        slab[slot].pointee.stage = isConnected ? .open : .connecting
        alternatives[slot] = rest.isEmpty || isConnected ? nil : rest
        watch(slot)
        if isConnected { completeConnecting(slot) }
        return
      } catch {
        reason = error.text
      }
    }
    end(slot, .connectFailed(reason))
  }

  mutating func finishConnecting(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    if let fault = Syscall.readPendingError(descriptor) {
      connection.pointee.isWatched = false
      connection.pointee.descriptor = nil
      guard let rest = alternatives.removeValue(forKey: slot) else {
        return end(slot, .connectFailed(fault.text))
      }
      return connect(slot, to: rest)
    }
    alternatives[slot] = nil
    connection.pointee.stage = .open
    updateInterest(slot)
    completeConnecting(slot)
  }

  private mutating func completeConnecting(_ slot: Int) {
    guard slab[slot].pointee.stage == .open,
      let descriptor = slab[slot].pointee.descriptor?.rawValue
    else { return }
    if slab[slot].pointee.isSecure { return beginSecuring(slot) }
    let peer = Syscall.remoteAddress(descriptor)?.peer ?? .local(path: "")
    enqueueIncident(slot, .opened(Opening(listenerKind: .outgoing, peer: peer)))
    if slab[slot].pointee.output.unsent > 0 { markDirty(slot) }
  }
}

/// Reads and writes. The frames that a node sends in a turn are written at its end, all frames of a
/// connection in one system call. The loop polls for writability only while the kernel refuses
/// bytes.
extension EventLoop {
  @usableFromInline
  mutating func send(_ id: ConnectionID, _ frame: [UInt8]) {
    if frame.isEmpty { return }
    queue(frame, for: id)
  }

  @usableFromInline
  mutating func multicast(_ frame: [UInt8], _ ids: [ConnectionID]) {
    if frame.isEmpty { return }
    let isCrowd = ids.count >= Limits.crowdConnections
    for id in ids { queue(frame, for: id, isCrowd: isCrowd) }
  }

  @inline(__always)
  private mutating func queue(_ frame: [UInt8], for id: ConnectionID, isCrowd: Bool = false) {
    guard let slot = slab.slot(of: id) else { return }
    let connection = slab[slot]
    guard connection.pointee.acceptsFrames else { return }
    frames.append(frame, to: &connection.pointee.output)
    if !connection.pointee.isBlocked { markDirty(slot, isCrowd: isCrowd) }
  }

  @inline(__always)
  mutating func markDirty(_ slot: Int, isCrowd: Bool = false) {
    if slab[slot].pointee.isDirty { return }
    if isCrowd {
      dirtyCrowd.append(slot, in: slab)
    } else {
      dirty.append(slot, in: slab)
    }
  }

  @usableFromInline
  var isDirty: Bool { !dirty.isEmpty || !dirtyCrowd.isEmpty }

  /// Writes the frames queued since the last flush. If a connection cannot take them all, `next`
  /// returns `drained` with the number of bytes left.
  @usableFromInline
  mutating func flush() {
    finishEndedPeer()
    while let slot = dirty.popFirst(in: slab) ?? dirtyCrowd.popFirst(in: slab) {
      let connection = slab[slot]
      guard !connection.pointee.isBlocked else { continue }
      switch connection.pointee.stage {
      case .open:
        write(slot)
        if connection.pointee.isBlocked { enqueueDrained(slot) }
      case .closing:
        write(slot)
        if connection.pointee.isBlocked { startStallTimer(slot) }
      case .free, .lookingUp, .connecting, .securing, .ended, .lingering:
        break
      }
    }
  }

  /// Writes on after the kernel has buffer space again for a blocked connection.
  mutating func writeBlocked(_ slot: Int) {
    let connection = slab[slot]
    let before = connection.pointee.output.unsent
    connection.pointee.isBlocked = false
    write(slot)
    if connection.pointee.stage == .open, connection.pointee.output.unsent < before {
      enqueueDrained(slot)
    }
  }

  private mutating func enqueueDrained(_ slot: Int) {
    enqueueIncident(slot, .holding)
    enqueueIncident(slot, .drained)
  }

  /// Writes until the queue is empty, the kernel refuses bytes, or the connection has used its
  /// share. In the last two cases the connection is blocked and continues when the poll says so.
  /// The stage is open or closing.
  mutating func write(_ slot: Int) {
    let connection = slab[slot]
    if connection.pointee.isSecure { return writeSealed(slot) }
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    var share = limits.writeBytes
    while connection.pointee.output.unsent > 0, !connection.pointee.isBlocked {
      do throws(SystemFault) {
        var offered = 0
        let progress = try frames.withVectors(
          of: connection.pointee.output,
          FrameStore.Gathering(vectors, limit: Limits.framesPerWrite, atMost: share)
        ) { (gathered: borrowing FrameStore.Gathering) throws(SystemFault) in
          offered = gathered.bytes
          return gathered.count == 1 && connection.pointee.isSocket
            ? try Syscall.send(descriptor, vectors[0])
            : try Syscall.writeVectors(descriptor, vectors, gathered.count)
        }
        switch progress {
        case .done(let count):
          frames.drop(count, from: &connection.pointee.output)
          share -= count
          let isRefused = count < offered || share <= 0
          connection.pointee.isBlocked = isRefused && connection.pointee.output.unsent > 0
        case .wouldBlock:
          connection.pointee.isBlocked = true
        }
      } catch {
        return writeFailed(slot, error)
      }
    }
    finishWriting(slot)
  }

  @inline(__always)
  mutating func finishWriting(_ slot: Int) {
    let connection = slab[slot]
    if connection.pointee.stage == .closing, connection.pointee.output.unsent == 0 {
      linger(slot)
    } else if connection.pointee.isBlocked || connection.pointee.interest.contains(.writing) {
      updateInterest(slot)
    }
  }

  /// Drops the queued frames after a failed write. Bytes that the peer sent before the failure are
  /// still read, and the end is reported after them: they may contain the reason.
  mutating func writeFailed(_ slot: Int, _ fault: SystemFault) {
    let connection = slab[slot]
    frames.dropAll(from: &connection.pointee.output)
    connection.pointee.isBlocked = false
    connection.pointee.writeError = fault.code
    if connection.pointee.stage == .open, !connection.pointee.isPaused,
      connection.pointee.isWatched
    {
      updateInterest(slot)
    } else {
      end(slot, .failed(fault.text))
    }
  }

  /// Reads once. Bytes left in the kernel are reported again in the next turn.
  mutating func receive(_ slot: Int) -> Input? {
    let connection = slab[slot]
    if connection.pointee.isSecure { return receiveSealed(slot) }
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return nil }
    do throws(SystemFault) {
      switch try Syscall.receive(descriptor, receiveBuffer) {
      case .done(0): endOfStream(slot)
      case .done(let count): return .received(connection.pointee.id, count: count)
      case .wouldBlock: break
      }
    } catch {
      end(slot, .failed(error.text))
    }
    return nil
  }

  mutating func endOfStream(_ slot: Int) {
    let connection = slab[slot]
    if connection.pointee.writeError != 0 {
      return end(slot, .failed(SystemFault.text(of: connection.pointee.writeError)))
    }
    // The peer has ended its own stream and may still read. The queued frames are sent first, then
    // the frames that the node sends while it handles the end.
    enqueueIncident(slot, .closed(.endOfStream))
    connection.pointee.hasPeerEnded = true
    connection.pointee.mustReportRelease = true
    if connection.pointee.output.unsent == 0 {
      connection.pointee.stage = .closing
    } else {
      beginClosing(slot)
    }
  }

  @usableFromInline
  mutating func setReading(_ id: ConnectionID, isPaused: Bool) {
    guard let slot = slab.slot(of: id) else { return }
    let connection = slab[slot]
    connection.pointee.isPaused = isPaused
    if !isPaused, connection.pointee.hasPendingBytes {
      pendingReads.append(slab.registration(of: slot))
    }
    // A pause costs no system call until bytes arrive; see `handle`.
    guard !isPaused, connection.pointee.stage == .open else { return }
    if !connection.pointee.isWatched {
      watch(slot)
    } else {
      updateInterest(slot)
    }
  }

  /// Handles a broken connection that the node has paused. The kernel reports the break unasked and
  /// repeatedly, so the connection either ends here or leaves the poll until it is read again.
  mutating func handlePausedFailure(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    if let fault = Syscall.readPendingError(descriptor) { return end(slot, .failed(fault.text)) }
    do throws(SystemFault) {
      try poller.remove(descriptor)
      connection.pointee.isWatched = false
    } catch {
      end(slot, .failed(error.text))
    }
  }

  /// Adds a connection to the poll.
  mutating func watch(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    let interest = connection.pointee.wantedInterest
    do throws(SystemFault) {
      try poller.add(descriptor, interest, as: slab.registration(of: slot))
      connection.pointee.isWatched = true
      connection.pointee.interest = interest
    } catch {
      end(slot, .failed(error.text))
    }
  }

  mutating func updateInterest(_ slot: Int) {
    let connection = slab[slot]
    let interest = connection.pointee.wantedInterest
    guard connection.pointee.isWatched, interest != connection.pointee.interest,
      let descriptor = connection.pointee.descriptor?.rawValue
    else { return }
    do throws(SystemFault) {
      try poller.change(descriptor, interest, as: slab.registration(of: slot))
      connection.pointee.interest = interest
    } catch {
      end(slot, .failed(error.text))
    }
  }
}

/// TLS handshakes. The node learns of an incoming connection only after its handshake. An outgoing
/// connection gets `opened` or `closed` like any other.
extension EventLoop {
  /// Starts the handshake of a connection accepted by a listener with a certificate.
  mutating func secure(
    _ descriptor: consuming Descriptor, _ listenerKind: Opening.ListenerKind,
    _ permit: consuming ConnectionPermit?,
    _ context: SecureContext
  ) {
    evictOldestHandshakes()
    guard let security = SecureConnection.server(context, descriptor.rawValue) else {
      return rejections.append(.handshakeFailed)
    }
    let slot = slab.add(nil, descriptor, .securing)
    slab.forget(slot)
    slab[slot].pointee.security = consume security
    slab[slot].pointee.listenerKind = listenerKind
    slab[slot].pointee.permit = permit
    handshakes.countStart()
    handshakes.deadlines.add(slab.registration(of: slot), unsent: 0, at: now)
    watch(slot)
  }

  /// Ends the oldest handshake if the limit is reached. A handshake that will complete does so
  /// quickly, so most of a full queue are handshakes that never complete.
  private mutating func evictOldestHandshakes() {
    while handshakes.isFull, let oldest = handshakes.deadlines.popOldest() {
      guard let slot = slab.slot(of: oldest.registration), slab[slot].pointee.stage == .securing
      else { continue }
      refuse(slot, .handshakesAtOnce)
    }
  }

  /// Starts the handshake of an outgoing connection that is now connected. The node sets its own
  /// timeout.
  mutating func beginSecuring(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    guard connection.pointee.security?.attach(descriptor) == true else {
      return end(slot, .connectFailed("TLS cannot be used"))
    }
    connection.pointee.stage = .securing
    updateInterest(slot)
    // The client sends first.
    enqueueHandshake(slot)
  }

  /// Makes the TLS state of a connection to `host`.
  mutating func makeSecurity(
    for host: String, _ offer: SecureConnection.Offer
  ) throws(CertificateFault) -> SecureConnection {
    let context: SecureContext
    if let secureClient {
      context = secureClient
    } else {
      context = try SecureContext.client(authorities: trust.authorities)
      secureClient = context
    }
    let name = SocketAddress.withoutBrackets(host)
    guard let security = SecureConnection.client(context, host: name, offer) else {
      throw .library(SecureConnection.lastError())
    }
    return security
  }

  /// Queues a handshake that can continue.
  mutating func enqueueHandshake(_ slot: Int) {
    guard !slab[slot].pointee.isQueued else { return }
    slab[slot].pointee.isQueued = true
    handshakes.append(slab.registration(of: slot))
  }

  /// Continues the handshakes that are next in the queue.
  mutating func continueHandshakes() {
    if handshakes.isEmpty { return }
    for registration in handshakes.dequeueTurn() {
      guard let slot = slab.slot(of: registration), slab[slot].pointee.stage == .securing else {
        continue
      }
      slab[slot].pointee.isQueued = false
      continueHandshake(slot)
    }
  }

  private mutating func continueHandshake(_ slot: Int) {
    let connection = slab[slot]
    guard let handshake = connection.pointee.security?.continueHandshake() else { return }
    let isOutgoing = connection.pointee.id.isOutgoing
    switch handshake {
    case .done: completeHandshake(slot)
    case .validated: endValidation(slot)
    case .wantsRead, .wantsWrite:
      connection.pointee.isBlocked = if case .wantsWrite = handshake { true } else { false }
      updateInterest(slot)
    case .broken(let reason):
      if isOutgoing { end(slot, .connectFailed(reason)) } else { refuse(slot, .handshakeFailed) }
    case .refused(let fault):
      if isOutgoing { end(slot, .notTrusted(fault)) } else { refuse(slot, .handshakeFailed) }
    }
  }

  private mutating func completeHandshake(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    if !connection.pointee.id.isOutgoing {
      handshakes.countEnd()
      slab.remember(slot)
    }
    connection.pointee.stage = .open
    connection.pointee.isBlocked = false
    let peer = Syscall.remoteAddress(descriptor)?.peer ?? .local(path: "")
    var opening = Opening(listenerKind: connection.pointee.listenerKind, peer: peer, isSecure: true)
    if connection.pointee.id.isOutgoing { opening.terms = connection.pointee.security?.terms }
    enqueueIncident(slot, .opened(opening))
    updateInterest(slot)
    schedulePendingRead(slot)
    if connection.pointee.output.unsent > 0 { markDirty(slot) }
  }

  /// Closes an incoming connection whose handshake was all that its peer wanted.
  private mutating func endValidation(_ slot: Int) {
    handshakes.countEnd()
    slab[slot].pointee.isBlocked = false
    guard let descriptor = slab[slot].pointee.descriptor?.rawValue else { return release(slot) }
    Syscall.shutdownWriting(descriptor)
    slab[slot].pointee.stage = .lingering
    lingers.add(slab.registration(of: slot), unsent: 0, at: now)
    updateInterest(slot)
  }

  /// Refuses an incoming connection. OpenSSL has already sent the reason to the peer, as far as TLS
  /// has an alert for it.
  mutating func refuse(_ slot: Int, _ reason: ConnectionRejection) {
    let connection = slab[slot]
    handshakes.countEnd()
    rejections.append(reason)
    connection.pointee.isBlocked = false
    guard reason == .handshakeFailed, let descriptor = connection.pointee.descriptor?.rawValue
    else { return release(slot) }
    Syscall.shutdownWriting(descriptor)
    connection.pointee.stage = .lingering
    lingers.add(slab.registration(of: slot), unsent: 0, at: now)
    updateInterest(slot)
  }

  /// Ends incoming handshakes that have timed out.
  mutating func expireHandshakes() {
    while let entry = handshakes.deadlines.popExpired(at: now) {
      guard let slot = slab.slot(of: entry.registration), slab[slot].pointee.stage == .securing
      else { continue }
      refuse(slot, .handshakeTimedOut)
    }
  }

  /// Drops all incoming handshakes. The listener is closed, and a connection that completed its
  /// handshake now would be refused anyway.
  mutating func dropHandshakes() {
    for slot in slab.slots
    where slab[slot].pointee.stage == .securing && !slab[slot].pointee.id.isOutgoing {
      handshakes.countEnd()
      release(slot)
    }
  }
}

/// Reads and writes of TLS connections. The rules of plain connections also apply here.
extension EventLoop {
  /// Writes until the queue is empty, the kernel refuses bytes, or the connection has used its
  /// share. Frames of one turn share TLS records: each record costs 22 bytes and some time.
  mutating func writeSealed(_ slot: Int) {
    let connection = slab[slot]
    var share = limits.writeBytes
    while connection.pointee.output.unsent > 0, !connection.pointee.isBlocked {
      let progress = frames.withJoined(
        connection.pointee.output, in: joinBuffer, vectors: vectors, limit: Limits.framesPerWrite
      ) { connection.pointee.security?.write($0) }
      guard let progress else { return }
      switch progress {
      case .done(let count):
        frames.drop(count, from: &connection.pointee.output)
        share -= count
        connection.pointee.isBlocked = share <= 0 && connection.pointee.output.unsent > 0
      case .wantsWrite: connection.pointee.isBlocked = true
      case .failed(let fault): return writeFailed(slot, fault)
      // Neither occurs, because renegotiation is off.
      case .wantsRead, .ended:
        return writeFailed(slot, SystemFault(call: "SSL_write", code: EPROTO))
      }
    }
    finishWriting(slot)
  }

  /// Reads the available bytes, up to the size of the buffer.
  mutating func receiveSealed(_ slot: Int) -> Input? {
    let connection = slab[slot]
    connection.pointee.hasPendingBytes = false
    if connection.pointee.readWantsWrite {
      connection.pointee.readWantsWrite = false
      updateInterest(slot)
    }
    var filled = 0
    repeat {
      let rest = UnsafeMutableRawBufferPointer(rebasing: receiveBuffer[filled...])
      guard let progress = connection.pointee.security?.read(into: rest) else { return nil }
      switch progress {
      case .done(let count):
        filled += count
        continue
      case .wantsRead: break
      case .wantsWrite:
        connection.pointee.readWantsWrite = true
        updateInterest(slot)
      case .ended where filled == 0: endOfStream(slot)
      case .ended:
        // The node may answer the bytes before it, and that answer must be sent first.
        appendPendingRead(slot)
      case .failed(let fault): end(slot, .failed(fault.text))
      }
      return filled > 0 ? .received(connection.pointee.id, count: filled) : nil
    } while filled < receiveBuffer.count && connection.pointee.security?.hasPendingBytes == true
    schedulePendingRead(slot)
    return .received(connection.pointee.id, count: filled)
  }

  /// Schedules a read if OpenSSL holds bytes: the poll does not report those.
  mutating func schedulePendingRead(_ slot: Int) {
    if slab[slot].pointee.security?.hasPendingBytes == true { appendPendingRead(slot) }
  }

  private mutating func appendPendingRead(_ slot: Int) {
    slab[slot].pointee.hasPendingBytes = true
    pendingReads.append(slab.registration(of: slot))
  }

  /// Schedules the held bytes for the next turn, so that a peer that sends endlessly does not
  /// starve the others.
  mutating func dispatchPendingReads() {
    for registration in pendingReads {
      incidents.append(Incident(registration: registration, kind: .hasPendingBytes))
    }
    pendingReads.removeAll(keepingCapacity: true)
  }

  /// Reads on if bytes are held and reading is not paused.
  mutating func receivePending(_ slot: Int) -> Input? {
    let connection = slab[slot]
    guard connection.pointee.stage == .open, connection.pointee.hasPendingBytes,
      !connection.pointee.isPaused
    else { return nil }
    return receiveSealed(slot)
  }

  /// Sends close_notify. Returns false if the kernel has no buffer space for it yet.
  mutating func endSecureWriting(_ slot: Int) -> Bool {
    guard slab[slot].pointee.security?.endWriting() == false else { return true }
    slab[slot].pointee.isBlocked = true
    updateInterest(slot)
    startStallTimer(slot)
    return false
  }
}

/// Closing of connections. If a socket is closed while received bytes are unread, the kernel sends
/// a reset, and the peer may lose the answer that it has not read yet. So after the last byte the
/// loop shuts down writing, then reads and discards late bytes for a bounded time.
extension EventLoop {
  /// True if no connection is left in any stage.
  @usableFromInline
  var isEmpty: Bool { slab.usedCount == 0 }

  /// True if connections exist that the node has closed and the loop has not.
  @usableFromInline
  var isClosing: Bool { slab.usedCount > slab.knownCount }

  /// Closes a connection at the node's request. The node gets no more events of it except a
  /// release.
  @usableFromInline
  mutating func close(_ id: ConnectionID, _ manner: CloseManner) {
    guard let slot = slab.slot(of: id) else {
      if manner == .afterSending { released.append(id) }
      return
    }
    let stage = slab[slot].pointee.stage
    if manner == .afterSending { slab[slot].pointee.mustReportRelease = true }
    slab.forget(slot)
    switch stage {
    case .open where manner == .afterSending:
      beginClosing(slot)
    case .closing where manner == .afterSending:
      break
    case .free, .lookingUp, .connecting, .securing, .open, .ended, .closing, .lingering:
      release(slot)
    }
  }

  /// Finishes the end of a peer's stream, after the node has handled it and sent its last frames.
  @usableFromInline
  mutating func finishEndedPeer() {
    guard let registration = endedPeer else { return }
    endedPeer = nil
    guard let slot = slab.slot(of: registration) else { return }
    slab.forget(slot)
    if slab[slot].pointee.output.unsent == 0 { linger(slot) }
  }

  /// Reports that no memory is held any more for a closed connection, if the node expects that.
  private mutating func enqueueReleased(_ slot: Int) {
    guard slab[slot].pointee.mustReportRelease else { return }
    slab[slot].pointee.mustReportRelease = false
    released.append(slab[slot].pointee.id)
  }

  /// Sends the queued frames before the close. Nothing is read meanwhile.
  mutating func beginClosing(_ slot: Int) {
    let connection = slab[slot]
    connection.pointee.stage = .closing
    if connection.pointee.writeError != 0 { return release(slot) }
    if !connection.pointee.isWatched {
      watch(slot)
    } else {
      updateInterest(slot)
    }
    if connection.pointee.isBlocked {
      startStallTimer(slot)
    } else {
      markDirty(slot)
    }
  }

  /// Starts the stall timer. Only the loop watches a closing connection whose peer reads nothing.
  mutating func startStallTimer(_ slot: Int) {
    stalls.add(
      slab.registration(of: slot), unsent: slab[slot].pointee.output.unsent, at: now)
  }

  /// Starts lingering, once all frames are sent.
  mutating func linger(_ slot: Int) {
    let connection = slab[slot]
    enqueueReleased(slot)
    if connection.pointee.isSecure, !endSecureWriting(slot) { return }
    guard !connection.pointee.hasPeerEnded,
      let descriptor = connection.pointee.descriptor?.rawValue
    else { return finish(slot) }
    Syscall.shutdownWriting(descriptor)
    connection.pointee.stage = .lingering
    lingers.add(slab.registration(of: slot), unsent: 0, at: now)
    updateInterest(slot)
  }

  mutating func discard(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    do throws(SystemFault) {
      switch try Syscall.discard(descriptor, receiveBuffer) {
      case .done(0):
        finish(slot)
      case .done(let count):
        connection.pointee.discarded += UInt32(count)
        if connection.pointee.discarded > Limits.lingerBytes { finish(slot) }
      case .wouldBlock:
        break
      }
    } catch {
      finish(slot)
    }
  }

  /// Ends a connection because of the peer or the system. Reports that to the node if the node
  /// still knows the connection.
  mutating func end(_ slot: Int, _ cause: CloseCause) {
    let connection = slab[slot]
    switch connection.pointee.stage {
    case .free, .ended:
      return
    case .closing, .lingering:
      return finish(slot)
    case .securing where !connection.pointee.id.isOutgoing:
      return refuse(slot, .handshakeFailed)
    case .lookingUp, .connecting, .securing, .open:
      frames.dropAll(from: &connection.pointee.output)
      alternatives[slot] = nil
      screenings[slot] = nil
      connection.pointee.security = nil
      connection.pointee.descriptor = nil
      connection.pointee.isWatched = false
      connection.pointee.stage = .ended
      enqueueIncident(slot, .closed(cause))
    }
  }

  /// Finishes a closing connection. If the end of the peer's stream is still to be reported to the
  /// node, the slot stays in `ended` until then.
  private mutating func finish(_ slot: Int) {
    guard slab[slot].pointee.isKnown else { return release(slot) }
    frames.dropAll(from: &slab[slot].pointee.output)
    enqueueReleased(slot)
    slab[slot].pointee.security = nil
    slab[slot].pointee.descriptor = nil
    slab[slot].pointee.stage = .ended
  }

  mutating func release(_ slot: Int) {
    frames.dropAll(from: &slab[slot].pointee.output)
    enqueueReleased(slot)
    alternatives[slot] = nil
    screenings[slot] = nil
    slab.free(slot)
  }

  /// Ends connections and handshakes whose time is over.
  mutating func expire() {
    while let entry = stalls.popExpired(at: now) {
      guard let slot = slab.slot(of: entry.registration), slab[slot].pointee.stage == .closing
      else { continue }
      let unsent = slab[slot].pointee.output.unsent
      if unsent < entry.unsent, entry.renewals < Limits.closingRenewals {
        stalls.add(
          entry.registration, unsent: unsent, renewals: entry.renewals + 1, at: now)
      } else {
        finish(slot)
      }
    }
    while let entry = lingers.popExpired(at: now) {
      guard let slot = slab.slot(of: entry.registration), slab[slot].pointee.stage == .lingering
      else { continue }
      finish(slot)
    }
    expireHandshakes()
    resumeListeners()
  }
}

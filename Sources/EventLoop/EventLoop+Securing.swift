import Glibc
import LockstepModel
import LockstepWire

/// TLS handshakes. The node learns of an incoming connection only after its handshake. An outgoing
/// connection gets `opened` or `closed` like any other.
extension EventLoop {
  /// Starts the handshake of a connection accepted by a listener with a certificate.
  mutating func secure(
    _ descriptor: consuming Descriptor, _ door: Opening.Door, _ place: ConnectionPermit?,
    _ context: SecureContext
  ) {
    makeRoom()
    guard let security = SecureConnection.serving(context, descriptor.rawValue) else {
      return turnedAway.append(.handshakeFailed)
    }
    let slot = slab.add(nil, descriptor, .securing)
    slab.forget(slot)
    slab[slot].pointee.security = consume security
    slab[slot].pointee.door = door
    slab[slot].pointee.place = place
    handshakes.enter()
    handshakes.deadlines.add(slab.registration(of: slot), unsent: 0, at: now)
    watch(slot)
  }

  /// Ends the oldest handshake if the limit is reached. A handshake that will complete does so
  /// quickly, so most of a full queue are handshakes that never complete.
  private mutating func makeRoom() {
    while handshakes.isFull, let oldest = handshakes.deadlines.popOldest() {
      guard let slot = slab.slot(of: oldest.registration), slab[slot].pointee.stage == .securing
      else { continue }
      turnAway(slot, .handshakesAtOnce)
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
  mutating func makeSecurity(for host: String) throws(CertificateFault) -> SecureConnection {
    let context: SecureContext
    if let secureClient {
      context = secureClient
    } else {
      context = try SecureContext.client(authorities: trust.authorities)
      secureClient = context
    }
    guard let security = SecureConnection.asking(context, host: SocketAddress.bare(host)) else {
      throw .library(SecureConnection.lastError())
    }
    return security
  }

  /// Queues a handshake that can continue.
  mutating func enqueueHandshake(_ slot: Int) {
    guard !slab[slot].pointee.isInLine else { return }
    slab[slot].pointee.isInLine = true
    handshakes.append(slab.registration(of: slot))
  }

  /// Continues the handshakes that are next in the queue.
  mutating func continueHandshakes() {
    if handshakes.isEmpty { return }
    for registration in handshakes.takeTurn() {
      guard let slot = slab.slot(of: registration), slab[slot].pointee.stage == .securing else {
        continue
      }
      slab[slot].pointee.isInLine = false
      continueHandshakes(slot)
    }
  }

  private mutating func continueHandshakes(_ slot: Int) {
    let connection = slab[slot]
    guard let handshake = connection.pointee.security?.continueHandshakes() else { return }
    let isOutgoing = connection.pointee.id.isOutgoing
    switch handshake {
    case .done: secured(slot)
    case .wantsBytes, .wantsRoom:
      connection.pointee.isBlocked = if case .wantsRoom = handshake { true } else { false }
      updateInterest(slot)
    case .broken(let words):
      if isOutgoing { end(slot, .connectFailed(words)) } else { turnAway(slot, .handshakeFailed) }
    case .refused(let fault):
      if isOutgoing { end(slot, .notTrusted(fault)) } else { turnAway(slot, .handshakeFailed) }
    }
  }

  private mutating func secured(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    if !connection.pointee.id.isOutgoing {
      handshakes.leave()
      slab.remember(slot)
    }
    connection.pointee.stage = .open
    connection.pointee.isBlocked = false
    let peer = Syscall.remoteAddress(descriptor)?.peer ?? .local(path: "")
    var opening = Opening(door: connection.pointee.door, peer: peer, isSecure: true)
    if connection.pointee.id.isOutgoing { opening.terms = connection.pointee.security?.terms }
    tell(slot, .opened(opening))
    updateInterest(slot)
    noteHeldBytes(slot)
    if connection.pointee.output.unsent > 0 { markDirty(slot) }
  }

  /// Refuses an incoming connection. OpenSSL has already sent the reason to the peer, as far as TLS
  /// has an alert for it.
  mutating func turnAway(_ slot: Int, _ reason: TurnedAway) {
    let connection = slab[slot]
    handshakes.leave()
    turnedAway.append(reason)
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
      turnAway(slot, .handshakeTimedOut)
    }
  }

  /// Drops all incoming handshakes. The listener is closed, and a connection that completed its
  /// handshake now would be refused anyway.
  mutating func cutHandshakes() {
    for slot in slab.slots
    where slab[slot].pointee.stage == .securing && !slab[slot].pointee.id.isOutgoing {
      handshakes.leave()
      release(slot)
    }
  }
}

import Glibc
import LockstepModel
import LockstepWire

/// TLS handshakes. A connection that came in is nothing to the node before its handshake is done;
/// one that the node asked for gets `opened` or `closed` like any other.
extension EventLoop {
  /// Somebody came in by a listener that has a certificate.
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

  /// Whoever has been at it longest gives way to who comes: to finish takes but a moment, so those
  /// who never will make up most of a full line.
  private mutating func makeRoom() {
    while handshakes.isFull, let oldest = handshakes.deadlines.popOldest() {
      guard let slot = slab.slot(of: oldest.registration), slab[slot].pointee.stage == .securing
      else { continue }
      turnAway(slot, .handshakesAtOnce)
    }
  }

  /// The way stands. The node bounds how long it waits.
  mutating func beginSecuring(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    guard connection.pointee.security?.attach(descriptor) == true else {
      return end(slot, .connectFailed("TLS cannot be used"))
    }
    connection.pointee.stage = .securing
    updateInterest(slot)
    // The first word is the client's.
    lineUp(slot)
  }

  /// What a secure connection to `host` begins with.
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

  /// It could go on.
  mutating func lineUp(_ slot: Int) {
    guard !slab[slot].pointee.isInLine else { return }
    slab[slot].pointee.isInLine = true
    handshakes.append(slab.registration(of: slot))
  }

  /// Lets those whose turn it is go on.
  mutating func shakeHands() {
    if handshakes.isEmpty { return }
    for registration in handshakes.takeTurn() {
      guard let slot = slab.slot(of: registration), slab[slot].pointee.stage == .securing else {
        continue
      }
      slab[slot].pointee.isInLine = false
      shakeHands(slot)
    }
  }

  private mutating func shakeHands(_ slot: Int) {
    let connection = slab[slot]
    guard let handshake = connection.pointee.security?.shakeHands() else { return }
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

  /// One that came in does not get in. OpenSSL has told the peer why, as far as TLS has words.
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

  /// Ends the handshakes of those who came in and have had their time.
  mutating func expireHandshakes() {
    while let entry = handshakes.deadlines.popExpired(at: now) {
      guard let slot = slab.slot(of: entry.registration), slab[slot].pointee.stage == .securing
      else { continue }
      turnAway(slot, .handshakeTimedOut)
    }
  }

  /// Nobody is let in any more, and who is not in yet would only be told to go.
  mutating func cutHandshakes() {
    for slot in slab.slots
    where slab[slot].pointee.stage == .securing && !slab[slot].pointee.id.isOutgoing {
      handshakes.leave()
      release(slot)
    }
  }
}

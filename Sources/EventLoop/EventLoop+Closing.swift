import Glibc
import LockstepModel
public import LockstepWire

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
    if manner == .afterSending { slab[slot].pointee.owesRelease = true }
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
  mutating func forgetEndedPeer() {
    guard let registration = endedPeer else { return }
    endedPeer = nil
    guard let slot = slab.slot(of: registration) else { return }
    slab.forget(slot)
    if slab[slot].pointee.output.unsent == 0 { linger(slot) }
  }

  /// Reports that nothing is held any more for a closed connection, if the node expects that.
  private mutating func tellReleased(_ slot: Int) {
    guard slab[slot].pointee.owesRelease else { return }
    slab[slot].pointee.owesRelease = false
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
      limitStall(slot)
    } else {
      markDirty(slot)
    }
  }

  /// Starts the stall timer. Only the loop watches a closing connection whose peer reads nothing.
  mutating func limitStall(_ slot: Int) {
    stalls.add(
      slab.registration(of: slot), unsent: slab[slot].pointee.output.unsent, at: now)
  }

  /// Starts lingering, once all frames are sent.
  mutating func linger(_ slot: Int) {
    let connection = slab[slot]
    tellReleased(slot)
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
        connection.pointee.discarded += count
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
      return turnAway(slot, .handshakeFailed)
    case .lookingUp, .connecting, .securing, .open:
      frames.dropAll(from: &connection.pointee.output)
      alternatives[slot] = nil
      connection.pointee.security = nil
      connection.pointee.descriptor = nil
      connection.pointee.isWatched = false
      connection.pointee.stage = .ended
      tell(slot, .closed(cause))
    }
  }

  /// Finishes a closing connection. If the end of the peer's stream is still to be reported to the
  /// node, the slot stays in `ended` until then.
  private mutating func finish(_ slot: Int) {
    guard slab[slot].pointee.isKnown else { return release(slot) }
    frames.dropAll(from: &slab[slot].pointee.output)
    tellReleased(slot)
    slab[slot].pointee.security = nil
    slab[slot].pointee.descriptor = nil
    slab[slot].pointee.stage = .ended
  }

  mutating func release(_ slot: Int) {
    frames.dropAll(from: &slab[slot].pointee.output)
    tellReleased(slot)
    alternatives[slot] = nil
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

import Glibc
import LockstepModel
public import LockstepWire

/// How connections end. One that is closed at once while the peer's bytes lie unread would be reset
/// by the kernel, and the peer might lose the answer that it has not read yet. So after the last
/// byte the peer is told the end, and its late bytes are thrown away for a bounded while.
extension EventLoop {
  /// No connection is left in any stage.
  @usableFromInline
  var isEmpty: Bool { slab.usedCount == 0 }

  /// Connections that the node is done with, and that are not closed yet.
  @usableFromInline
  var isClosing: Bool { slab.usedCount > slab.knownCount }

  /// The node asked for it, and hears no more of it.
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

  /// The node has heard of the end of a peer's stream, and has said what it had to say.
  @usableFromInline
  mutating func forgetEndedPeer() {
    guard let registration = endedPeer else { return }
    endedPeer = nil
    guard let slot = slab.slot(of: registration) else { return }
    slab.forget(slot)
    if slab[slot].pointee.output.unsent == 0 { linger(slot) }
  }

  /// Nothing is held any more for a connection that is closed.
  private mutating func tellReleased(_ slot: Int) {
    guard slab[slot].pointee.owesRelease else { return }
    slab[slot].pointee.owesRelease = false
    released.append(slab[slot].pointee.id)
  }

  /// What waits still leaves. Nothing is read meanwhile.
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

  /// Nobody but the loop looks after a closing connection whose peer takes no bytes.
  mutating func limitStall(_ slot: Int) {
    stalls.add(
      slab.registration(of: slot), unsent: slab[slot].pointee.output.unsent, at: now)
  }

  /// All has left.
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

  /// The connection is gone by the peer's or the system's doing; the node is told if it knows it.
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

  /// A closing connection is done; where the node is still to be told of the peer's end, the slot
  /// waits for that.
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

  /// Ends what has had its time.
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

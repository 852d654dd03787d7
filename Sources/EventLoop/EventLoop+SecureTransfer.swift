import Glibc
import LockstepModel
import LockstepWire

/// Reads and writes of TLS connections. The rules of `EventLoop+Transfer` also apply here.
extension EventLoop {
  /// Writes until the queue is empty, the kernel refuses bytes, or the connection has used its
  /// share. Frames of one turn share TLS records: each record costs 22 bytes and some time.
  mutating func writeSealed(_ slot: Int) {
    let connection = slab[slot]
    var share = limits.writeBytes
    while connection.pointee.output.unsent > 0, !connection.pointee.isBlocked {
      let bytes = frames.join(
        connection.pointee.output, into: joinBuffer, vectors: vectors,
        limit: Limits.framesPerWrite)
      guard let progress = connection.pointee.security?.write(bytes) else { return }
      switch progress {
      case .done(let count):
        frames.drop(count, from: &connection.pointee.output)
        share -= count
        connection.pointee.isBlocked = share <= 0 && connection.pointee.output.unsent > 0
      case .wantsRoom: connection.pointee.isBlocked = true
      case .failed(let fault): return writeFailed(slot, fault)
      // Neither occurs, because renegotiation is off.
      case .wantsBytes, .ended:
        return writeFailed(slot, SystemFault(call: "SSL_write", code: EPROTO))
      }
    }
    finishWriting(slot)
  }

  /// Reads the available bytes, up to the size of the buffer.
  mutating func receiveSealed(_ slot: Int) -> Input? {
    let connection = slab[slot]
    connection.pointee.holdsBytes = false
    if connection.pointee.readWantsRoom {
      connection.pointee.readWantsRoom = false
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
      case .wantsBytes: break
      case .wantsRoom:
        connection.pointee.readWantsRoom = true
        updateInterest(slot)
      case .ended where filled == 0: endOfStream(slot)
      case .ended:
        // The node may answer the bytes before it, and that answer must be sent first.
        hold(slot)
      case .failed(let fault): end(slot, .failed(fault.text))
      }
      return filled > 0 ? .received(connection.pointee.id, count: filled) : nil
    } while filled < receiveBuffer.count && connection.pointee.security?.holdsBytes == true
    noteHeldBytes(slot)
    return .received(connection.pointee.id, count: filled)
  }

  /// Schedules a read if OpenSSL holds bytes: the poll does not report those.
  mutating func noteHeldBytes(_ slot: Int) {
    if slab[slot].pointee.security?.holdsBytes == true { hold(slot) }
  }

  private mutating func hold(_ slot: Int) {
    slab[slot].pointee.holdsBytes = true
    holders.append(slab.registration(of: slot))
  }

  /// Schedules the held bytes for the next turn, so that a peer that sends endlessly does not
  /// starve the others.
  mutating func passHolders() {
    for registration in holders {
      incidents.append(Incident(registration: registration, kind: .holdsBytes))
    }
    holders.removeAll(keepingCapacity: true)
  }

  /// Reads on if bytes are held and reading is not paused.
  mutating func receiveHeld(_ slot: Int) -> Input? {
    let connection = slab[slot]
    guard connection.pointee.stage == .open, connection.pointee.holdsBytes,
      !connection.pointee.isPaused
    else { return nil }
    return receiveSealed(slot)
  }

  /// Sends close_notify. Returns false if the kernel has no buffer space for it yet.
  mutating func endSecureWriting(_ slot: Int) -> Bool {
    guard slab[slot].pointee.security?.endWriting() == false else { return true }
    slab[slot].pointee.isBlocked = true
    updateInterest(slot)
    limitStall(slot)
    return false
  }
}

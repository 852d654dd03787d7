import Glibc
import LockstepModel
public import LockstepWire

/// Bytes out and in. What a node sends in a turn leaves at its end, all frames of a connection in
/// one system call; the kernel is asked to tell of room only while it refuses bytes.
extension EventLoop {
  @usableFromInline
  mutating func send(_ id: ConnectionID, _ frame: [UInt8]) {
    if frame.isEmpty { return }
    queue(frame, for: id)
  }

  @usableFromInline
  mutating func multicast(_ frame: [UInt8], _ ids: [ConnectionID]) {
    if frame.isEmpty { return }
    for id in ids { queue(frame, for: id) }
  }

  @inline(__always)
  private mutating func queue(_ frame: [UInt8], for id: ConnectionID) {
    guard let slot = slab.slot(of: id) else { return }
    let connection = slab[slot]
    guard connection.pointee.takesFrames else { return }
    frames.append(frame, to: &connection.pointee.output)
    if !connection.pointee.isBlocked { markDirty(slot) }
  }

  @inline(__always)
  mutating func markDirty(_ slot: Int) {
    let connection = slab[slot]
    if connection.pointee.isDirty { return }
    connection.pointee.isDirty = true
    connection.pointee.nextDirty = -1
    if lastDirty < 0 {
      firstDirty = Int32(slot)
    } else {
      slab[Int(lastDirty)].pointee.nextDirty = Int32(slot)
    }
    lastDirty = Int32(slot)
  }

  @usableFromInline
  var isDirty: Bool { firstDirty >= 0 }

  /// Writes what has been queued since the last flush. Of a connection that cannot take it all,
  /// `next` tells `drained` with what is left.
  @usableFromInline
  mutating func flush() {
    forgetEndedPeer()
    while firstDirty >= 0 {
      let slot = Int(firstDirty)
      let connection = slab[slot]
      firstDirty = connection.pointee.nextDirty
      if firstDirty < 0 { lastDirty = -1 }
      connection.pointee.isDirty = false
      guard !connection.pointee.isBlocked else { continue }
      switch connection.pointee.stage {
      case .open:
        write(slot)
        if connection.pointee.isBlocked { tellDrained(slot) }
      case .closing:
        write(slot)
        if connection.pointee.isBlocked { limitStall(slot) }
      case .free, .lookingUp, .connecting, .securing, .ended, .lingering:
        break
      }
    }
  }

  /// The kernel has room again for a connection that it had refused bytes of.
  mutating func writeBlocked(_ slot: Int) {
    let connection = slab[slot]
    let before = connection.pointee.output.unsent
    connection.pointee.isBlocked = false
    write(slot)
    if connection.pointee.stage == .open, connection.pointee.output.unsent < before {
      tellDrained(slot)
    }
  }

  private mutating func tellDrained(_ slot: Int) {
    tell(slot, .holding)
    tell(slot, .drained)
  }

  /// Writes until all is gone, the kernel refuses, or the connection has had its share; in the last
  /// two cases it is blocked, and goes on when the poll says so. The stage is open or closing.
  mutating func write(_ slot: Int) {
    let connection = slab[slot]
    if connection.pointee.isSecure { return writeSealed(slot) }
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    var share = Limits.writeBytes
    while connection.pointee.output.unsent > 0, !connection.pointee.isBlocked {
      let gathered = frames.gather(
        connection.pointee.output, into: vectors, limit: Limits.framesAWrite)
      do throws(SystemFault) {
        switch try Syscall.writeVectors(descriptor, vectors, gathered.vectors) {
        case .done(let count):
          frames.drop(count, from: &connection.pointee.output)
          share -= count
          let isRefused = count < gathered.bytes || share <= 0
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

  /// What waits cannot leave any more. What the peer sent before it broke off is still read, and
  /// the end is told then: it may say why.
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

  /// One read: what is left in the kernel is told again in the next turn.
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
    // The peer has ended its own stream and may still read: what waits for it leaves first, and
    // what the node says when it hears of the end.
    tell(slot, .closed(.endOfStream))
    connection.pointee.hasPeerEnded = true
    connection.pointee.owesRelease = true
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
    if !isPaused, connection.pointee.holdsBytes { holders.append(slab.registration(of: slot)) }
    guard connection.pointee.stage == .open else { return }
    if !isPaused, !connection.pointee.isWatched {
      watch(slot)
    } else {
      updateInterest(slot)
    }
  }

  /// The kernel tells of a broken connection whether it is asked or not, and again and again: so
  /// one that the node does not read now either ends here, or leaves the poll until it is read.
  mutating func breakPaused(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    if let fault = Syscall.takeError(descriptor) { return end(slot, .failed(fault.text)) }
    do throws(SystemFault) {
      try poller.remove(descriptor)
      connection.pointee.isWatched = false
    } catch {
      end(slot, .failed(error.text))
    }
  }

  /// Puts a connection into the poll.
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

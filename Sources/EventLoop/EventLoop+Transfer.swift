import Glibc
import LockstepModel
public import LockstepWire

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

  /// Writes the frames queued since the last flush. If a connection cannot take them all, `next`
  /// returns `drained` with the number of bytes left.
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

  /// Writes on after the kernel has buffer space again for a blocked connection.
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

  /// Writes until the queue is empty, the kernel refuses bytes, or the connection has used its
  /// share. In the last two cases the connection is blocked and continues when the poll says so.
  /// The stage is open or closing.
  mutating func write(_ slot: Int) {
    let connection = slab[slot]
    if connection.pointee.isSecure { return writeSealed(slot) }
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    var share = limits.writeBytes
    while connection.pointee.output.unsent > 0, !connection.pointee.isBlocked {
      let gathered = frames.gather(
        connection.pointee.output, into: vectors, limit: Limits.framesPerWrite,
        atMost: share)
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

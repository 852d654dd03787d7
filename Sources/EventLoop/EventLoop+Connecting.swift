import Glibc
import LockstepModel
public import LockstepWire

/// Opening of connections: accepted by a listener, or requested by the node.
extension EventLoop {
  // MARK: Incoming connections

  /// Adds a descriptor that is only written to and never polled.
  mutating func adopt(_ descriptor: consuming Descriptor) -> ConnectionID {
    slab[slab.add(nil, descriptor, .open)].pointee.id
  }

  mutating func listen(at listener: Listener) throws(SystemFault) {
    listeners.append(listener)
    try poller.add(listener.rawValue, .reading, as: .other(listeners.count))
  }

  /// Accepts the connections that already wait, then refuses all further ones.
  @usableFromInline
  mutating func stopListening(at door: Opening.Door) {
    for index in listeners.indices where listeners[index].door == door {
      accept(at: index)
      hasStoppedListening.insert(index)
      do throws(SystemFault) {
        try poller.remove(listeners[index].rawValue)
        try Syscall.stopListening(listeners[index].rawValue)
      } catch {
        notice(.listenerFailed(error))
      }
    }
    if door == .front { cutHandshakes() }
  }

  mutating func accept(at index: Int) {
    guard !hasStoppedListening.contains(index) else { return }
    let listener = listeners[index]
    var address = SocketAddress()
    for _ in 0..<Limits.acceptsPerTurn {
      do throws(SystemFault) {
        guard let descriptor = try Syscall.accept(listener.rawValue, &address) else { return }
        let opening = Opening(
          door: listener.door, peer: address.family == AF_UNIX ? listener.address : address.peer)
        // A refused connection is closed before anything is read from it or allocated for it.
        var place: ConnectionPermit?
        switch listener.gate?.admit(opening) {
        case .turnedAway(let reason):
          turnedAway.append(reason)
          continue
        case .admitted(let admitted): place = admitted
        case nil: break
        }
        if let certificate = listener.certificate {
          secure(descriptor, listener.door, place, certificate.current)
          continue
        }
        let slot = slab.add(nil, descriptor, .open)
        slab[slot].pointee.place = place
        tell(slot, .opened(opening))
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
      hearAll(false)
    }
    listenersPausedUntil = now.advanced(milliseconds: Limits.acceptPauseMilliseconds)
  }

  mutating func resumeListeners() {
    guard let end = listenersPausedUntil, end <= now else { return }
    listenersPausedUntil = nil
    hearAll(true)
  }

  private mutating func hearAll(_ isHeard: Bool) {
    for index in listeners.indices where !hasStoppedListening.contains(index) {
      hear(index, isHeard)
    }
  }

  private mutating func hear(_ index: Int, _ isHeard: Bool) {
    do throws(SystemFault) {
      try poller.change(
        listeners[index].rawValue, isHeard ? .reading : [], as: .other(index + 1))
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
    case .host(let host, let port): find(slot, host, port)
    case .secure(let host, let port):
      do throws(CertificateFault) {
        slab[slot].pointee.security = try makeSecurity(for: host)
        find(slot, host, port)
      } catch {
        end(slot, .connectFailed("\(error)"))
      }
    }
  }

  private mutating func find(_ slot: Int, _ host: String, _ port: UInt16) {
    do throws(SocketAddress.LookupFault) {
      connect(slot, to: try SocketAddress.lookUp(host, port: port, as: .literal)[...])
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
    case .success(let addresses): connect(slot, to: addresses[...])
    case .failure(let fault): end(slot, .connectFailed(fault.text))
    }
  }

  /// Tries one address after another until a connect succeeds or is in progress.
  private mutating func connect(_ slot: Int, to addresses: ArraySlice<SocketAddress>) {
    var rest = addresses
    var words = "no address"
    while let address = rest.popFirst() {
      do throws(SystemFault) {
        let descriptor = try Syscall.makeSocket(address.family)
        if address.family != AF_UNIX {
          try Syscall.setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        }
        let stands = try Syscall.connect(descriptor.rawValue, address)
        slab[slot].pointee.descriptor = consume descriptor
        slab[slot].pointee.stage = stands ? .open : .connecting
        alternatives[slot] = rest.isEmpty || stands ? nil : rest
        watch(slot)
        if stands { becameOpen(slot) }
        return
      } catch {
        words = error.text
      }
    }
    end(slot, .connectFailed(words))
  }

  mutating func finishConnecting(_ slot: Int) {
    let connection = slab[slot]
    guard let descriptor = connection.pointee.descriptor?.rawValue else { return }
    if let fault = Syscall.takeError(descriptor) {
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
    becameOpen(slot)
  }

  private mutating func becameOpen(_ slot: Int) {
    guard slab[slot].pointee.stage == .open,
      let descriptor = slab[slot].pointee.descriptor?.rawValue
    else { return }
    if slab[slot].pointee.isSecure { return beginSecuring(slot) }
    let peer = Syscall.remoteAddress(descriptor)?.peer ?? .local(path: "")
    tell(slot, .opened(Opening(door: .outgoing, peer: peer)))
    if slab[slot].pointee.output.unsent > 0 { markDirty(slot) }
  }
}

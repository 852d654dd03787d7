import LockstepModel
import LockstepWire

/// Stopping of a node: requests under way are answered, new ones are refused.
extension RelayNode {
  mutating func stop() {
    guard stage == .running else { return }
    stoppingSpread = reconnectWithin
    stage = .stopping
    timers.cancel(.sightings)
    timers.cancel(.storeProbe)
    timers.cancel(.status)
    timers.cancel(.collection)
    pages.hurry()
    passPages()
    timers.schedule(
      .drain, at: moment.instant.advanced(milliseconds: Limits.drainMilliseconds))
    for slot in connections.taken { windDown(slot) }
    writeSightings(isLast: true)
  }

  /// Ends a connection's socket, stream or parked poll that has no request under way.
  mutating func windDown(_ slot: Hub.Slot) {
    if let socket = connections[slot].socket {
      if socket.requests == 0 && !socket.chain.owesSaved { sayGoodbye(slot) }
    } else if connections[slot].isStreaming {
      endStream(slot, stoppingRefusal())
    } else if connections[slot].http.exchange?.value.stage == .parked {
      answerEmpty(slot)
    }
  }

  /// Closes a socket because the relay stops. A close frame carries no time to reconnect, so that
  /// is sent before it.
  private mutating func sayGoodbye(_ slot: Hub.Slot) {
    if reconnectWithin > 0, connections[slot].socket?.stage == .open {
      say(slot, .error(id: nil, stoppingRefusal()))
    }
    closeSocket(slot, RelayNode.isStopping)
  }

  /// True if a request is under way; an idle connection has nothing to lose.
  private func isBusy(_ slot: Hub.Slot) -> Bool {
    connections[slot].socket != nil || connections[slot].http.exchange != nil
      || !connections[slot].http.parser.isIdle
  }

  mutating func finishStopping() {
    guard queue.count == 0 else { return }
    let slots = connections.taken
    for slot in slots where isBusy(slot) { return }
    for slot in slots { close(slot, .afterSending) }
    endStopping()
  }

  /// Closes all connections, because the time for stopping is over.
  mutating func giveUp() {
    guard stage == .stopping else { return }
    for slot in connections.taken { close(slot, .now) }
    endStopping()
  }

  private mutating func endStopping() {
    stage = .stopped
    timers.cancel(.drain)
    actions.append(.report(.stopped))
  }
}

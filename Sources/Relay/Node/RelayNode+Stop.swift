import Changes
import Link

/// How a node ends: what was begun is answered, what is new is refused.
extension RelayNode {
  mutating func stop() {
    guard stage == .running else { return }
    stage = .stopping
    timers.cancel(.sightings)
    timers.cancel(.storeTrial)
    timers.cancel(.status)
    timers.cancel(.collection)
    timers.schedule(
      .drain, at: moment.instant.advanced(milliseconds: Limits.drainMilliseconds))
    for slot in connections.taken { windDown(slot) }
    writeSightings(isLast: true)
  }

  /// Ends what a connection has no business with any more.
  mutating func windDown(_ slot: Hub.Slot) {
    if let socket = connections[slot].socket {
      if socket.requests == 0 && !socket.chain.owesSaved { closeSocket(slot, RelayNode.isStopping) }
    } else if connections[slot].isStreaming {
      endStream(slot, RelayNode.isStopping)
    } else if connections[slot].http.exchange?.value.stage == .parked {
      answerEmpty(slot)
    }
  }

  /// Whether a request is under way; a connection that merely stands has nothing to lose.
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

  /// The time for stopping is up.
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

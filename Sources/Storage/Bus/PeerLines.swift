import LockstepModel

/// The lines of notices of all relays of a store, as one of them receives them.
///
/// Each relay numbers its notices, those to all relays and those to each one, and tells the numbers
/// a second after a notice and every few seconds (a beat, `BeatSchedule`). So a relay knows that it
/// has missed a notice when a number is left out, at the latest with the next beat, and asks the
/// store for its accounts only then. A relay that has stopped may have committed something that it
/// did not announce: the end of its beats counts as a missed notice.
///
/// Notices may come twice, late, or in another order; then the relay asks once too often.
package struct PeerLines: Sendable {
  package enum Event: Hashable, Sendable {
    /// Another relay's commit.
    case changed(BusPayload.Change)
    /// Notices were missed: the accounts must be looked up.
    case missed
    /// The other relays that are heard from now on, sorted.
    case heard([UInt64])
    /// True if a missed notice is noticed from now on. Until the first event it is not.
    case reliability(Bool)
  }

  private struct Line: Sendable {
    /// Number of the last notice to all relays that was sent, as far as known.
    var last: UInt64 = 0
    /// The same of the notices to this relay; nil until there is a number.
    var directed: UInt64?
    /// False if its beats tell that it does not register as a listener.
    var isListener = true
    var heardAt: Instant

    /// Records that a notice, or a beat after it, was received. Returns true if one before it was
    /// missed.
    mutating func receive(_ number: UInt64, isNotice: Bool) -> Bool {
      defer { last = max(last, number) }
      return number > (isNotice ? last &+ 1 : last)
    }

    /// Does the same for a notice to this relay. If none was known, one may have been missed.
    mutating func receiveDirected(_ number: UInt64, isNotice: Bool) -> Bool {
      defer { directed = max(directed ?? 0, number) }
      guard let directed else { return true }
      return number > (isNotice ? directed &+ 1 : directed)
    }
  }

  /// Number that identifies this relay's notices.
  private let relay: UInt64
  private var lines: [UInt64: Line] = [:]
  /// Time of the last notice without a number, from a relay of an older version.
  private var unnumberedAt: Instant?
  private var isReliable = false
  private var heard: [UInt64] = []
  /// Relays that have told that they end, with the time until which the store may still name them.
  private var ended: [UInt64: Instant] = [:]

  package init(relay: UInt64) { self.relay = relay }

  package mutating func handle(_ event: BusEvent, at instant: Instant) -> [Event] {
    switch event {
    case .received(let payload): handle(payload, at: instant)
    case .lost: forget()
    // What was sent meanwhile, and by whom, is not known.
    case .back: forget() + [.missed]
    }
  }

  /// Handles the time that has passed.
  package mutating func advance(to instant: Instant) -> [Event] {
    let silent = lines.filter {
      instant.milliseconds(since: $0.value.heardAt) > Limits.silentLineMilliseconds
    }.keys.sorted()
    for relay in silent { lines[relay] = nil }
    let count = ended.count
    ended = ended.filter { instant < $0.value }
    let isChanged = !silent.isEmpty || ended.count != count
    return (silent.isEmpty ? [] : [.missed]) + (isChanged ? compareHeard() : [])
      + judge(at: instant)
  }

  /// Time at which `advance` has an effect, if nothing is received until then.
  package var nextDeadline: Instant? {
    lines.min { $0.value.heardAt < $1.value.heardAt }?.value.heardAt
      .advanced(milliseconds: Limits.silentLineMilliseconds + 1)
  }

  private mutating func handle(_ payload: BusPayload, at instant: Instant) -> [Event] {
    var events: [Event] = []
    if payload.relay != relay { events = payload.changes.map { .changed($0) } }
    let (wasHeard, endedBefore) = (lines[payload.relay] != nil, ended.count)
    if payload.place == .unknown {
      if payload.relay != relay { unnumberedAt = instant }
    } else if receive(payload, at: instant) {
      events.append(.missed)
    }
    // Usually nothing has changed, and then nothing is compared.
    let isHeard = lines[payload.relay] != nil
    if isHeard != wasHeard || ended.count != endedBefore { events += compareHeard() }
    return events + judge(at: instant)
  }

  /// Returns true if a notice was missed. Of a line that is new, all notices before were.
  private mutating func receive(_ payload: BusPayload, at instant: Instant) -> Bool {
    var line = lines[payload.relay] ?? Line(heardAt: instant)
    line.heardAt = instant
    let hasMissed: Bool
    switch payload.place {
    case .unknown: return false
    case .notice(let number): hasMissed = line.receive(number, isNotice: true)
    case .directed(let number): hasMissed = line.receiveDirected(number, isNotice: true)
    case .beat(let beat):
      line.isListener = beat.isListener
      let hasMissedNotice = line.receive(beat.last, isNotice: false)
      let directed = beat.directed.first { $0.receiver == relay }
      let hasMissedDirected =
        directed.map { line.receiveDirected($0.last, isNotice: false) } ?? false
      hasMissed = hasMissedNotice || hasMissedDirected
    }
    if case .beat(let beat) = payload.place, beat.isLast {
      lines[payload.relay] = nil
      if ended.count >= Limits.lines { ended = [:] }
      ended[payload.relay] = instant.advanced(milliseconds: Limits.seenRelayMilliseconds)
    } else {
      if lines[payload.relay] == nil { makeRoom() }
      lines[payload.relay] = line
    }
    return hasMissed
  }

  /// Drops the longest silent line if there are more relays than there can be.
  private mutating func makeRoom() {
    guard lines.count >= Limits.lines else { return }
    let oldest = lines.min { ($0.value.heardAt, $0.key) < ($1.value.heardAt, $1.key) }
    if let oldest { lines[oldest.key] = nil }
  }

  /// True if relays are there that do not register as listeners, so that they must be told of all
  /// commits.
  package func hasOlderRelays(at instant: Instant) -> Bool {
    hasUnnumbered(at: instant) || lines.contains { !$0.value.isListener }
  }

  private func hasUnnumbered(at instant: Instant) -> Bool {
    unnumberedAt.map { instant.milliseconds(since: $0) < Limits.unnumberedMilliseconds } ?? false
  }

  /// Compares what is known with what was reported. This relay's own beats show that the bus
  /// delivers.
  private mutating func judge(at instant: Instant) -> [Event] {
    setReliable(lines[relay] != nil && !hasUnnumbered(at: instant))
  }

  private mutating func forget() -> [Event] {
    lines = [:]
    return compareHeard() + setReliable(false)
  }

  private mutating func compareHeard() -> [Event] {
    let now = Set(lines.keys).union(ended.keys).subtracting([relay]).sorted()
    guard now != heard else { return [] }
    heard = now
    return [.heard(now)]
  }

  private mutating func setReliable(_ isReliable: Bool) -> [Event] {
    guard isReliable != self.isReliable else { return [] }
    self.isReliable = isReliable
    return [.reliability(isReliable)]
  }
}

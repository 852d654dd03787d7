import LockstepModel
import LockstepStorage
import Testing

/// A relay notices that it has missed a notice, and otherwise need not ask.
struct PeerLinesTests {
  private static let own: UInt64 = 1
  private static let peer: UInt64 = 2
  private let change = BusPayload.Change(
    account: AccountID(rawValue: 5), token: ChangeToken(generation: 1, sequence: 7),
    hasMembershipChange: false)
  private var lines = PeerLines(relay: own)

  private mutating func beat(
    _ number: UInt64, of relay: UInt64 = peer, at milliseconds: Int64 = 0
  ) -> [PeerLines.Event] {
    handle(
      .received(BusPayload(relay: relay, BusPayload.Beat(last: number))), at: time(milliseconds))
  }

  /// Handles a beat that tells the number of the last notice to this relay.
  private mutating func beat(directed number: UInt64, to receiver: UInt64 = own)
    -> [PeerLines.Event]
  {
    let line = BusPayload.Beat.Line(receiver: receiver, last: number)
    let beat = BusPayload.Beat(last: 0, directed: [line])
    return handle(.received(BusPayload(relay: Self.peer, beat)), at: time(0))
  }

  private mutating func directedNotice(_ number: UInt64) -> [PeerLines.Event] {
    var payload = BusPayload(relay: Self.peer, [change])
    payload.place = .directed(number)
    return handle(.received(payload), at: time(0))
  }

  private mutating func notice(
    _ number: UInt64, of relay: UInt64 = peer, at milliseconds: Int64 = 0
  ) -> [PeerLines.Event] {
    var payload = BusPayload(relay: relay, [change])
    payload.place = .notice(number)
    return handle(.received(payload), at: time(milliseconds))
  }

  private mutating func handle(_ event: BusEvent, at instant: Instant) -> [PeerLines.Event] {
    withoutHeard(lines.handle(event, at: instant))
  }

  private mutating func advance(to instant: Instant) -> [PeerLines.Event] {
    withoutHeard(lines.advance(to: instant))
  }

  private func withoutHeard(_ events: [PeerLines.Event]) -> [PeerLines.Event] {
    events.filter { if case .heard = $0 { false } else { true } }
  }

  private func time(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: 1_000_000_000).advanced(milliseconds: milliseconds)
  }

  @Test mutating func noticesInTheirOrderAreNotMissed() {
    #expect(beat(0, of: Self.own) == [.reliability(true)])
    #expect(beat(0) == [])
    #expect(notice(1) == [.changed(change)])
    #expect(notice(2) == [.changed(change)])
    #expect(beat(2) == [])
    #expect(notice(3) == [.changed(change)])
  }

  @Test mutating func aNoticeThatIsLeftOutIsMissedAtTheNextOneOrAtTheNextBeat() {
    #expect(beat(0) == [])
    #expect(notice(2) == [.changed(change), .missed])
    #expect(notice(3) == [.changed(change)])
    #expect(beat(4) == [.missed])
    #expect(beat(4) == [], "once")
    // What comes late or twice is passed on.
    #expect(notice(4) == [.changed(change)])
    #expect(notice(4) == [.changed(change)])
    #expect(beat(4) == [])
  }

  @Test mutating func noticesToThisRelayAreCountedForThemselves() {
    #expect(beat(0) == [])
    // A line that begins may have lost its first notice.
    #expect(beat(directed: 4) == [.missed])
    #expect(directedNotice(5) == [.changed(change)])
    #expect(notice(1) == [.changed(change)])
    #expect(beat(directed: 5) == [])
    #expect(directedNotice(7) == [.changed(change), .missed])
    #expect(directedNotice(6) == [.changed(change)], "late")
    #expect(beat(directed: 8) == [.missed])
    #expect(beat(directed: 12, to: 3) == [], "another relay's")
    #expect(beat(directed: 8) == [])
  }

  @Test mutating func itIsToldWhichRelaysAreHeard() {
    func beat(of relay: UInt64) -> BusEvent {
      .received(BusPayload(relay: relay, BusPayload.Beat(last: 0)))
    }
    #expect(lines.handle(beat(of: 9), at: time(0)) == [.heard([9])])
    #expect(lines.handle(beat(of: Self.own), at: time(0)) == [.reliability(true)])
    #expect(lines.handle(beat(of: 2), at: time(1_000)) == [.heard([2, 9])])
    #expect(lines.handle(beat(of: 9), at: time(1_000)) == [])
    #expect(lines.handle(beat(of: 2), at: time(5_000)) == [])
    #expect(
      lines.advance(to: time(7_000)) == [.missed, .heard([2]), .reliability(false)])
    #expect(lines.handle(.lost(""), at: time(7_000)) == [.heard([])])
  }

  /// It has announced all its commits, and nothing is asked because of it.
  @Test mutating func aRelayThatEndsProperlyIsNotMissed() {
    #expect(beat(0, of: Self.own) == [.reliability(true)])
    #expect(beat(4) == [.missed])
    let last = BusPayload(relay: Self.peer, BusPayload.Beat(last: 4, isLast: true))
    #expect(lines.handle(.received(last), at: time(500)) == [], "the store still names it")
    #expect(beat(0, of: Self.own, at: 2_400) == [])
    #expect(advance(to: time(4_000)) == [])
    for second in 5...Limits.seenRelayMilliseconds / 1_000 {
      #expect(beat(0, of: Self.own, at: second * 1_000) == [])
    }
    let end = time(500 + Limits.seenRelayMilliseconds)
    #expect(lines.advance(to: end) == [.heard([])])
  }

  @Test mutating func aRelayOfWhichOnlyTheEndIsHeardIsNotAskedFor() {
    let last = BusPayload(relay: Self.peer, BusPayload.Beat(last: 0, isLast: true))
    #expect(lines.handle(.received(last), at: time(0)) == [.heard([Self.peer])])
  }

  @Test mutating func theLastBeatTellsOfLostNoticesToo() {
    #expect(beat(4) == [.missed])
    let last = BusPayload(relay: Self.peer, BusPayload.Beat(last: 5, isLast: true))
    #expect(handle(.received(last), at: time(500)) == [.missed])
  }

  @Test mutating func relaysThatDoNotListenAreToldOfAll() {
    #expect(!lines.hasOlderRelays(at: time(0)))
    _ = beat(0)
    #expect(!lines.hasOlderRelays(at: time(0)))
    let beat = BusPayload.Beat(last: 0, isListener: false)
    _ = handle(.received(BusPayload(relay: 6, beat)), at: time(0))
    #expect(lines.hasOlderRelays(at: time(0)))
    _ = advance(to: time(Limits.silentLineMilliseconds + 1))
    #expect(!lines.hasOlderRelays(at: time(Limits.silentLineMilliseconds + 1)))
    _ = handle(.received(BusPayload(relay: 7, [change])), at: time(3_000))
    #expect(lines.hasOlderRelays(at: time(3_001)))
    #expect(!lines.hasOlderRelays(at: time(3_000 + Limits.unnumberedMilliseconds)))
  }

  @Test mutating func whatARelayHasSentBeforeItWasHeardIsMissed() {
    #expect(beat(3) == [.missed])
    #expect(notice(1, of: 8) == [.changed(change)], "the first of all")
    #expect(notice(9, of: 9) == [.changed(change), .missed])
  }

  @Test mutating func ownNoticesAreCountedAndNotPassedOn() {
    #expect(beat(0, of: Self.own) == [.reliability(true)])
    #expect(notice(1, of: Self.own) == [])
    #expect(beat(2, of: Self.own) == [.missed])
  }

  @Test mutating func aRelayThatStopsMayHaveCommittedSomethingUnannounced() throws {
    _ = beat(0, of: Self.own)
    #expect(beat(4, at: 1_000) == [.missed])
    #expect(advance(to: time(Limits.silentLineMilliseconds)) == [])
    let end = try #require(lines.nextDeadline)
    #expect(end == time(Limits.silentLineMilliseconds + 1))
    // Both are silent: nothing is delivered any more.
    #expect(advance(to: time(7_000)) == [.missed, .reliability(false)])
    #expect(advance(to: time(60_000)) == [])
    #expect(lines.nextDeadline == nil)
    #expect(beat(0, of: Self.own, at: 61_000) == [.reliability(true)])
    #expect(beat(4, at: 61_000) == [.missed])
  }

  @Test mutating func aLostConnectionIsNotReliableUntilItDelivers() {
    _ = beat(0, of: Self.own)
    #expect(handle(.lost(""), at: time(0)) == [.reliability(false)])
    #expect(handle(.back, at: time(0)) == [.missed])
    #expect(beat(0, of: Self.own) == [.reliability(true)])
    // A connection that was replaced without a report.
    #expect(handle(.back, at: time(0)) == [.reliability(false), .missed])
  }

  @Test mutating func besideARelayOfAnOlderVersionNothingIsReliable() {
    _ = beat(0, of: Self.own)
    let payload = BusPayload(relay: 6, [change])
    #expect(
      handle(.received(payload), at: time(500)) == [.changed(change), .reliability(false)])
    #expect(beat(0, of: Self.own, at: 1_000) == [])
    let later = 500 + Limits.unnumberedMilliseconds
    _ = advance(to: time(later - 1))
    #expect(beat(0, of: Self.own, at: later) == [.reliability(true)])
  }

  @Test mutating func strangersDoNotFillTheMemory() {
    for relay in 10..<UInt64(10 + 2 * Limits.lines) { _ = beat(0, of: relay, at: Int64(relay)) }
    let oldest = 10 + Int64(Limits.lines)
    #expect(lines.nextDeadline == time(oldest + Limits.silentLineMilliseconds + 1))
  }
}

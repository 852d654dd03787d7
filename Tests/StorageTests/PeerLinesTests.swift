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
    lines.handle(
      .received(BusPayload(relay: relay, beatAfter: number)), at: time(milliseconds))
  }

  private mutating func notice(
    _ number: UInt64, of relay: UInt64 = peer, at milliseconds: Int64 = 0
  ) -> [PeerLines.Event] {
    var payload = BusPayload(relay: relay, beatAfter: 0)
    payload.place = .notice(number)
    payload.changes = [change]
    return lines.handle(.received(payload), at: time(milliseconds))
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
    #expect(lines.advance(to: time(2_400)) == [])
    let end = try #require(lines.nextDeadline)
    #expect(end == time(Limits.silentLineMilliseconds + 1))
    // Both are silent: nothing is delivered any more.
    #expect(lines.advance(to: time(4_000)) == [.missed, .reliability(false)])
    #expect(lines.advance(to: time(60_000)) == [])
    #expect(lines.nextDeadline == nil)
    #expect(beat(0, of: Self.own, at: 61_000) == [.reliability(true)])
    #expect(beat(4, at: 61_000) == [.missed])
  }

  @Test mutating func aLostConnectionIsNotReliableUntilItDelivers() {
    _ = beat(0, of: Self.own)
    #expect(lines.handle(.lost, at: time(0)) == [.reliability(false)])
    #expect(lines.handle(.back, at: time(0)) == [.missed])
    #expect(beat(0, of: Self.own) == [.reliability(true)])
    // A connection that was replaced without a report.
    #expect(lines.handle(.back, at: time(0)) == [.reliability(false), .missed])
  }

  @Test mutating func besideARelayOfAnOlderVersionNothingIsReliable() {
    _ = beat(0, of: Self.own)
    var payload = BusPayload(relay: 6, beatAfter: 0)
    payload.place = .unknown
    payload.changes = [change]
    #expect(
      lines.handle(.received(payload), at: time(500)) == [.changed(change), .reliability(false)])
    #expect(beat(0, of: Self.own, at: 1_000) == [])
    let later = 500 + Limits.unnumberedMilliseconds
    _ = lines.advance(to: time(later - 1))
    #expect(beat(0, of: Self.own, at: later) == [.reliability(true)])
  }

  @Test mutating func strangersDoNotFillTheMemory() {
    for relay in 10..<UInt64(10 + 2 * Limits.lines) { _ = beat(0, of: relay, at: Int64(relay)) }
    let oldest = 10 + Int64(Limits.lines)
    #expect(lines.nextDeadline == time(oldest + Limits.silentLineMilliseconds + 1))
  }
}

import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepRelay

struct PresenceTests {
  private let key = Presence.Key(account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2))

  @Test func aDeviceIsConnectedWhileAnyOfItsConnectionsIs() {
    var presence = Presence(node: 0)
    expect(presence.recordSignIn(key, wall: 1), is: true)
    expect(presence.recordSignIn(key, wall: 2), is: false)
    expect(presence.recordSignOut(key, wall: 3), is: false)
    #expect(presence.isConnected(key))
    expect(presence.recordSignOut(key, wall: 4), is: true)
    #expect(!presence.isConnected(key))
  }

  @Test func otherNodesCount() {
    var presence = Presence(node: 0)
    presence.recordPresence(of: key, isConnected: true, on: 1)
    presence.recordPresence(of: key, isConnected: true, on: 63)
    presence.recordPresence(of: key, isConnected: false, on: 1)
    #expect(presence.isConnected(key))
    presence.recordPresence(of: key, isConnected: false, on: 63)
    #expect(!presence.isConnected(key))
  }

  @Test func accountsAndDevicesAreCountedOnceWhereverTheyAre() {
    var presence = Presence(node: 0)
    let other = Presence.Key(account: key.account, device: DeviceID(rawValue: 3))
    _ = presence.recordSignIn(key, wall: 1)
    _ = presence.recordSignIn(key, wall: 1)
    presence.recordPresence(of: key, isConnected: true, on: 1)
    presence.recordPresence(of: other, isConnected: true, on: 2)
    #expect(presence.connectedAccounts == 1)
    #expect(presence.connectedDevices == 2)
    presence.recordPresence(of: other, isConnected: false, on: 2)
    _ = presence.recordSignOut(key, wall: 2)
    _ = presence.recordSignOut(key, wall: 2)
    #expect(presence.connectedDevices == 1, "it is still on the other node")
    presence.recordPresence(of: key, isConnected: false, on: 1)
    #expect(presence.connectedAccounts == 0)
    #expect(presence.connectedDevices == 0)
  }

  /// Writes of the only relay of a store.
  @Test func sightingsAreWrittenOnceAMinuteAtMostAndOnceAfterTheEnd() {
    var presence = Presence(node: 0)
    var now = Instant(nanoseconds: 0)
    #expect(presence.nextWrite(at: now) == nil)
    _ = presence.recordSignIn(key, wall: 10)
    expect(presence.sightings(at: now, wall: 20, isLast: false).map(\.lastSeen), is: [20])
    _ = presence.recordSignOut(key, wall: 30)
    expect(presence.sightings(at: now, wall: 40, isLast: false).isEmpty, is: true)
    now = now.advanced(milliseconds: Limits.sightingMilliseconds)
    #expect(presence.nextWrite(at: now) == now)
    expect(presence.sightings(at: now, wall: 50, isLast: false).map(\.lastSeen), is: [30])
    now = now.advanced(milliseconds: Limits.sightingMilliseconds)
    expect(presence.sightings(at: now, wall: 60, isLast: false).isEmpty, is: true)
    #expect(presence.nextWrite(at: now) == nil)
  }

  @Test func theLastWritingWaitsForNothing() {
    var presence = Presence(node: 0)
    let now = Instant(nanoseconds: 0)
    _ = presence.recordSignIn(key, wall: 10)
    _ = presence.sightings(at: now, wall: 20, isLast: false)
    expect(presence.sightings(at: now, wall: 30, isLast: true).map(\.lastSeen), is: [30])
  }

  // MARK: a shared store

  /// Runs all writes that are due in this time. Returns when each was, in seconds, with what it
  /// tells of the device.
  private func writes(
    _ presence: inout Presence, from start: inout Instant, seconds: Int64
  ) -> [String] {
    let end = start.advanced(milliseconds: seconds * 1_000)
    var found: [String] = []
    while let next = presence.nextWrite(at: start), !(end < next) {
      start = next
      let second = start.nanoseconds / 1_000_000_000
      for sighting in presence.sightings(at: start, wall: Int64(second), isLast: false) {
        found.append("\(second) \(sighting.isConnected)")
      }
    }
    start = end
    return found
  }

  /// The store skips a device that another relay is changing at that moment.
  @Test func whatOtherRelaysReadIsWrittenTwice() {
    var presence = Presence(node: 0, isShared: true)
    var now = Instant(nanoseconds: 0)
    _ = presence.recordSignIn(key, wall: 0)
    #expect(writes(&presence, from: &now, seconds: 70) == ["1 true", "61 true"])
    _ = presence.recordSignOut(key, wall: 70)
    #expect(writes(&presence, from: &now, seconds: 200) == ["71 false", "131 false"])
    #expect(presence.nextWrite(at: now) == nil, "nothing is left to do")
  }

  @Test func aConnectedDeviceIsWrittenAboutEveryHalfHour() {
    var presence = Presence(node: 0, isShared: true)
    var now = Instant(nanoseconds: 0)
    let keys = (0..<90).map {
      Presence.Key(account: key.account, device: DeviceID(rawValue: UInt64($0)))
    }
    for key in keys { _ = presence.recordSignIn(key, wall: 0) }
    #expect(writes(&presence, from: &now, seconds: 70).count >= 180)
    let hours = 2
    let found = writes(&presence, from: &now, seconds: Int64(hours * 3_600))
    #expect(found.count == 2 * hours * keys.count)
    // Each minute has its part of them, not one minute all.
    #expect(Dictionary(grouping: found, by: { $0 }).values.allSatisfy { $0.count == 3 })
    // Who has been there as long as all leaves like the others.
    _ = presence.recordSignOut(keys[7], wall: 0)
    let left = writes(&presence, from: &now, seconds: 62).filter { $0.hasSuffix("false") }
    #expect(left.count == 2)
  }

  /// More devices are written in smaller parts, because commits wait for each other.
  @Test func aPartIsSmall() {
    var presence = Presence(node: 0, isShared: true)
    var now = Instant(nanoseconds: 0)
    let count = 3 * Limits.sightingParts * Limits.sightingsAtOnce
    for number in 0..<count {
      let key = Presence.Key(account: key.account, device: DeviceID(rawValue: UInt64(number)))
      _ = presence.recordSignIn(key, wall: 0)
    }
    _ = presence.sightings(at: now, wall: 0, isLast: false)
    now = now.advanced(milliseconds: 2 * Limits.sightingMilliseconds)
    _ = presence.sightings(at: now, wall: 0, isLast: false)
    var (least, most, sum) = (Int.max, 0, 0)
    for _ in 0..<120 {
      guard let next = presence.nextWrite(at: now) else { break }
      now = next
      let size = presence.sightings(at: now, wall: 0, isLast: false).count
      (least, most, sum) = (min(least, size), max(most, size), sum + size)
    }
    #expect(most <= Limits.sightingsAtOnce && least > Limits.sightingsAtOnce / 2)
    #expect(sum == count, "120 writes of a quarter of a minute are half an hour")
  }

  /// The store was away for as long as a device took to leave.
  @Test func whatWasNotWrittenIsWrittenOnceItCanBe() {
    var presence = Presence(node: 0, isShared: true)
    var now = Instant(nanoseconds: 0)
    _ = presence.recordSignIn(key, wall: 0)
    _ = presence.recordSignOut(key, wall: 0)
    for _ in 0..<20 {
      let sightings = presence.sightings(at: now, wall: 0, isLast: false)
      expect(sightings.map(\.isConnected), is: [false])
      presence.recordFailure(of: sightings, at: now)
      presence.recordFailure(of: sightings, at: now)
      now = presence.nextWrite(at: now) ?? now
    }
    #expect(writes(&presence, from: &now, seconds: 130).count == 2)
    #expect(presence.nextWrite(at: now) == nil)
    // One that was forgotten already is not lost either.
    presence.recordFailure(
      of: [DeviceSighting(account: key.account, device: key.device, lastSeen: 5)], at: now)
    #expect(writes(&presence, from: &now, seconds: 130).map { $0.suffix(5) } == ["false", "false"])
  }
}

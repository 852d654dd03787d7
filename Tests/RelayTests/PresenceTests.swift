import LockstepModel
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

  @Test func sightingsAreWrittenOnceAMinuteAndOnceAfterTheEnd() {
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
}

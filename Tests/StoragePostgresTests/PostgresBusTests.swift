import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PostgresBusTests {
  private let account = AccountID(rawValue: 1)

  private func change(_ sequence: Int64?, hasMembershipChange: Bool = false) -> BusPayload.Change {
    BusPayload.Change(
      account: account,
      token: sequence.map { ChangeToken(generation: 1, sequence: $0) },
      hasMembershipChange: hasMembershipChange)
  }

  /// Returns the next notice of another relay than `relay`: its number and its changes.
  private func notice(
    _ bus: PostgresBus, besides relay: UInt64
  ) throws -> (place: BusPayload.Place, changes: [BusPayload.Change]) {
    for _ in 0..<20 {
      for case .received(let payload) in bus.wait(milliseconds: 20_000)
      where payload.relay != relay {
        return (payload.place, payload.changes)
      }
    }
    throw MissingNotice()
  }

  private struct MissingNotice: Error {}

  @Test func aRelayReceivesTheNumberedNoticesOfOthers() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    let (ours, theirs) = (try database.bus(of: one), try database.bus(of: other))
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    _ = try one.commit([TestRequests.save("a", "b", in: account)], wall: 0)
    var notice = try notice(theirs, besides: other.relay)
    #expect(notice == (.notice(1), [change(2)]))
    #expect(one.noticesSent == 1)
    _ = try other.commit(
      [.setPlan(account, .everything), TestRequests.save("c", in: account)], wall: 0)
    notice = try self.notice(ours, besides: one.relay)
    #expect(notice == (.notice(1), [change(3, hasMembershipChange: true)]))
    _ = try one.commit([.revokeDevice(account, TestRequests.device)], wall: 0)
    notice = try self.notice(theirs, besides: other.relay)
    #expect(notice == (.notice(2), [change(nil, hasMembershipChange: true)]))
    let known = AccountVersion(
      account: account, token: ChangeToken(generation: 1, sequence: 3), membershipVersion: 2)
    let reader = try one.makeReader()
    #expect(
      try reader.read(.accountVersions([account, AccountID(rawValue: 2)]))
        == .accountVersions([known]))
    _ = try one.commit([.removeAccount(account)], wall: 0)
    notice = try self.notice(theirs, besides: other.relay)
    #expect(notice == (.notice(3), [change(nil, hasMembershipChange: true)]))
    #expect(try reader.read(.accountVersions([account])) == .accountVersions([]))
  }

  @Test func aBeatReachesAllRelaysAndItsOwn() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    let (ours, theirs) = (try database.bus(of: one), try database.bus(of: other))
    let beat = BusEvent.received(BusPayload(relay: one.relay, beatAfter: 12))
    #expect(ours.beat(after: 12))
    #expect(ours.wait(milliseconds: 20_000) == [beat])
    #expect(theirs.wait(milliseconds: 20_000) == [beat])
    try database.endSessions()
    #expect(!ours.beat(after: 12))
    #expect(ours.wait(milliseconds: 20_000) == [.back])
    #expect(ours.beat(after: 12))
  }

  @Test func aBusHearsTheNoticesOfItsStore() throws {
    let database = try TestDatabase()
    let store = try database.store()
    #expect(try database.bus(of: store).hearsStore)
    #expect(try store.makeBus(at: database.address).hearsStore)
    if TestDatabase.isPooled { #expect(try !store.makeBus().hearsStore) }
  }

  @Test func aBusOfAnotherDatabaseOrSchemaIsRefused() throws {
    let (database, foreign) = (try TestDatabase(), try TestDatabase())
    let store = try database.store()
    let error = #expect(throws: StorageError.self) { try store.makeBus(at: foreign.address) }
    #expect(error?.description.contains("neither servers nor databases") == true)
    for name in ["template1", "no_such_database"] {
      let other = database.address.setting("dbname", to: name)
      #expect(throws: StorageError.self) { try store.makeBus(at: other) }
    }
  }

  @Test func noticesOfAnotherSchemaAreNotReceived() throws {
    let (database, foreign) = (try TestDatabase(), try TestDatabase())
    let bus = try database.bus(of: database.store())
    let store = try foreign.store()
    _ = try store.commit(
      [TestRequests.create(account), TestRequests.save("a", in: account)], wall: 0)
    #expect(bus.wait(milliseconds: 100).isEmpty)
  }

  @Test func aLostConnectionAndItsReturnAreReportedOnce() throws {
    let database = try TestDatabase()
    let bus = try database.bus(of: database.store())
    try database.endSessions()
    #expect(bus.wait(milliseconds: 20_000) == [.lost])
    #expect(bus.wait(milliseconds: 0) == [.back])
    #expect(bus.wait(milliseconds: 0).isEmpty)
    bus.close()
    #expect(bus.wait(milliseconds: 0).isEmpty)
  }

  @Test func theBellEndsAWaitFromAnotherThread() throws {
    let database = try TestDatabase()
    let bus = try database.bus(of: database.store())
    let wakeup = bus.wakeup
    wakeup.signal()
    wakeup.signal()
    #expect(bus.wait(milliseconds: 600_000).isEmpty)
    #expect(bus.wait(milliseconds: 1).isEmpty)
  }

  @Test func aDeviceThatIsConnectedToOneRelayIsShownByTheOthers() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    func touch(_ store: PostgresZoneStore, at time: Int64, _ isConnected: Bool) throws {
      let sighting = DeviceSighting(
        account: account, device: TestRequests.device, lastSeen: time, isConnected: isConnected)
      _ = try store.commit([.touchDevices([sighting])], wall: time)
    }
    func isShown(by store: PostgresZoneStore) throws -> Bool {
      guard case .devices(let devices) = try store.makeReader().read(.devices(account)) else {
        return false
      }
      return devices.first?.connected == true
    }
    #expect(try !isShown(by: other))
    try touch(one, at: 10, true)
    #expect(try isShown(by: other))
    #expect(try !isShown(by: one), "it knows of its own")
    // The device is connected to both for a while; an update from one relay does not undo that of
    // the other.
    try touch(other, at: 20, true)
    try touch(one, at: 30, false)
    #expect(try isShown(by: one))
    try touch(other, at: 30, false)
    #expect(try !isShown(by: one))
  }

  @Test func aChannelsNameFits() {
    #expect(PostgresBus.channel(of: "public") == "lockstep_public")
    let long = String(repeating: "s", count: 63)
    #expect(PostgresBus.channel(of: long).utf8.count == 25)
    #expect(PostgresBus.channel(of: long) != PostgresBus.channel(of: long + "t"))
  }
}

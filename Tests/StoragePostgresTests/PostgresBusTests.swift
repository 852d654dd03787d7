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

  private func listens(
    _ store: PostgresZoneStore, to accounts: [AccountID], leaving: [AccountID] = [], node: Int = 0
  ) throws -> [AccountVersion] {
    let request = ReadRequest.followAccounts(accounts, leaving: leaving, node: node)
    guard case .accountVersions(let versions, _, _) = try store.makeReader().read(request) else {
      throw MissingNotice()
    }
    return versions
  }

  private func version(_ sequence: Int64, memberships: Int64) -> AccountVersion {
    AccountVersion(
      account: account, token: ChangeToken(generation: 1, sequence: sequence),
      membershipVersion: memberships)
  }

  @Test func aCommitIsAnnouncedToTheRelaysThatListen() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    let (ours, theirs) = (try database.bus(of: one), try database.bus(of: other))
    var sender = NoticeSender(relay: one.relay)
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    _ = try one.commit([TestRequests.save("a", "b", in: account)], wall: 0)
    var announced = one.takeAnnouncements()
    #expect(announced.notices == [CommitNotice(change(2), listeners: [])])
    #expect(sender.messages(of: announced.notices).isEmpty, "nobody listens")
    // What came before is told by the version.
    #expect(try listens(other, to: [account]) == [version(2, memberships: 0)])
    #expect(try listens(one, to: [account]) == [version(2, memberships: 0)])
    _ = try one.commit(
      [.setPlan(account, .everything), TestRequests.save("c", in: account)], wall: 0)
    announced = one.takeAnnouncements()
    let moved = change(3, hasMembershipChange: true)
    #expect(announced.notices == [CommitNotice(moved, listeners: [other.relay])])
    #expect(ours.send(sender.messages(of: announced.notices)))
    let notice = try notice(theirs, besides: other.relay)
    #expect(notice == (.directed(1), [moved]))
    #expect(ours.wait(milliseconds: 100).isEmpty, "it is not for this relay")
    _ = try one.commit([.removeAccount(account)], wall: 0)
    let removed = CommitNotice(change(nil, hasMembershipChange: true), listeners: [other.relay])
    #expect(one.takeAnnouncements().notices == [removed])
    #expect(try listens(other, to: [account]) == [])
  }

  @Test func aRelayListensUntilAllItsNodesHaveLeft() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    _ = try database.bus(of: one)
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    func listeners() throws -> [UInt64]? {
      _ = try one.commit([.setPlan(account, .everything)], wall: 0)
      return one.takeAnnouncements().notices.first?.listeners
    }
    for node in 0..<2 { _ = try listens(other, to: [account], node: node) }
    #expect(try listeners() == [other.relay])
    _ = try listens(other, to: [], leaving: [account], node: 0)
    #expect(try listeners() == [other.relay])
    _ = try listens(other, to: [], leaving: [account], node: 1)
    #expect(try listeners() == [])
    // Leaving and following in one request is following.
    _ = try listens(other, to: [account], leaving: [account])
    #expect(try listeners() == [other.relay])
  }

  @Test(.disabled(if: TestDatabase.isPooled, TestDatabase.needsSessions))
  func afterALostSessionAllMustListenAgain() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    _ = try database.bus(of: one)
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    _ = try listens(other, to: [account])
    #expect(!one.takeAnnouncements().mayLackListeners)
    try database.endSessions()
    _ = try one.commit([.setPlan(account, .everything)], wall: 0)
    #expect(one.takeAnnouncements().mayLackListeners)
    _ = try one.commit([.setPlan(account, .everything)], wall: 0)
    #expect(!one.takeAnnouncements().mayLackListeners)
  }

  /// Behind a pooler, sessions outlive a crash of the server.
  @Test func afterACrashAllMustListenAgain() throws {
    let database = try TestDatabase()
    let store = try database.store()
    _ = try database.bus(of: store)
    func mayLackListeners() throws -> Bool {
      _ = try store.commit([.setPlan(account, .everything)], wall: 0)
      return store.takeAnnouncements().mayLackListeners
    }
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    #expect(try !mayLackListeners(), "it does not listen yet")
    _ = try listens(store, to: [account])
    #expect(try !mayLackListeners())
    try database.runHere("DELETE FROM listeners")
    try database.runHere("DELETE FROM relays")
    #expect(try mayLackListeners())
    #expect(try !mayLackListeners(), "once")
  }

  @Test func aRelayThatHasEndedIsForgotten() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    _ = try database.bus(of: one)
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    _ = try listens(other, to: [account])
    let past = Limits.deadRelayMilliseconds + 60_000
    try database.runHere("UPDATE relays SET seen_at = seen_at - interval '\(past) milliseconds'")
    _ = try listens(one, to: [account])
    _ = try one.commit([.setPlan(account, .everything)], wall: 0)
    #expect(one.takeAnnouncements().notices.map(\.listeners) == [[]])
    // It was only slow.
    _ = try listens(other, to: [account])
    _ = try one.commit([.setPlan(account, .everything)], wall: 0)
    #expect(one.takeAnnouncements().notices.map(\.listeners) == [[other.relay]])
  }

  @Test func aCommitOfAnAccountWithSleepingDevicesIsReported() throws {
    let database = try TestDatabase()
    let store = try database.store()
    _ = try database.bus(of: store)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    #expect(store.takeAnnouncements().sleeping == [])
    try database.runHere(
      "INSERT INTO wakes (account, device, content) VALUES (\(account.rawValue), 1, '[]')")
    _ = try store.commit([TestRequests.save("b", in: account)], wall: 0)
    #expect(store.takeAnnouncements().sleeping == [account])
  }

  /// A command of the owner has no bus.
  @Test func aCommandTellsAllRelaysItself() throws {
    let database = try TestDatabase()
    let (command, relay) = (try database.store(), try database.store())
    let bus = try database.bus(of: relay)
    _ = try command.commit([TestRequests.create(account)], wall: 0)
    _ = try command.commit([.setPlan(account, .everything)], wall: 0)
    let notice = try notice(bus, besides: relay.relay)
    #expect(notice == (.notice(1), [change(nil, hasMembershipChange: true)]))
    #expect(command.takeAnnouncements().isEmpty)
  }

  @Test func aMessageToAllReachesAllAndOneToARelayOnlyThat() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    let (ours, theirs) = (try database.bus(of: one), try database.bus(of: other))
    let beats = NoticeSender(relay: one.relay).beats()
    let beat = BusEvent.received(BusPayload(relay: one.relay, BusPayload.Beat(last: 0)))
    #expect(ours.send(beats))
    #expect(ours.send([]))
    #expect(ours.wait(milliseconds: 20_000) == [beat])
    #expect(theirs.wait(milliseconds: 20_000) == [beat])
    try database.endSessions()
    #expect(!ours.send(beats))
    guard case .lost? = ours.wait(milliseconds: 20_000).first else {
      Issue.record("it was not told")
      return
    }
    #expect(ours.wait(milliseconds: 20_000) == [.back])
    #expect(ours.send(beats))
  }

  @Test func aMessageThatTheServerRefusesDoesNotEndTheBus() throws {
    let database = try TestDatabase()
    let store = try database.store()
    let bus = try database.bus(of: store)
    let tooLong = BusMessage(to: .all, String(repeating: "x", count: 9_000))
    #expect(!bus.send([tooLong]))
    #expect(bus.send(NoticeSender(relay: store.relay).beats()))
    #expect(bus.wait(milliseconds: 20_000).count == 1)
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
    guard case .lost? = bus.wait(milliseconds: 20_000).first else {
      Issue.record("it was not noticed")
      return
    }
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

  /// A report is repeated every half hour. Meanwhile the relay that made it shows by its checks
  /// that it runs; a relay that was killed shows nothing.
  @Test func aDeviceStaysConnectedAsLongAsItsRelayRuns() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    let id = SleeperID(account: account, device: TestRequests.device)
    let made = try one.commit(
      [
        TestRequests.create(account), TestRequests.putWake(in: account),
        .verifyWake(account, id.device, Name(trusted: "w"), codeHash: [7]),
        TestRequests.save("a", in: account),
      ], wall: 0)
    #expect(made[2] == .done)
    func touch(_ isConnected: Bool) throws {
      let sighting = DeviceSighting(
        account: account, device: id.device, lastSeen: 1, isConnected: isConnected)
      _ = try one.commit([.touchDevices([sighting])], wall: 1)
    }
    func pass(_ milliseconds: Int64) throws {
      let past = "- interval '\(milliseconds) milliseconds'"
      try database.runHere("UPDATE devices SET connected_until = connected_until \(past)")
      try database.runHere("UPDATE relays SET seen_at = seen_at \(past)")
    }
    func isShown() throws -> Bool {
      let reader = try other.makeReader()
      guard case .devices(let devices) = try reader.read(.devices(account)),
        case .sleepers(let sleepers, _) = try reader.read(.sleepers(.accounts([account])))
      else { throw MissingNotice() }
      let isShown = devices.first?.connected == true
      #expect(sleepers.first?.isConnectedElsewhere == isShown)
      return isShown
    }
    func claim() throws -> [SleeperID] {
      let request = CommitRequest.claimWakes([id], keys: TestRequests.wakeKeys)
      guard case .wakesClaimed(let claimed) = try other.commit([request], wall: 10_000)[0]
      else { throw MissingNotice() }
      return claimed.map(\.id)
    }
    try touch(true)
    #expect(try isShown(), "before its relay's first check")
    _ = try listens(one, to: [account])
    try pass(Limits.connectedMilliseconds + 1)
    #expect(try !isShown(), "its relay has not checked for two minutes")
    _ = try listens(one, to: [])
    #expect(try isShown())
    #expect(try claim() == [], "a device that is connected is not woken")
    try touch(false)
    #expect(try !isShown(), "it has left")
    try touch(true)
    try pass(Limits.trustedReportMilliseconds + 1)
    _ = try listens(one, to: [])
    #expect(try !isShown(), "the report that it left may have been lost")
    #expect(try claim() == [id])
  }

  /// A command does not know on which bus the relays are; and a relay's tables may be emptied.
  @Test func aRelayIsToldThatItMayHaveMissedSomething() throws {
    let database = try TestDatabase()
    let (one, other, command) = (
      try database.store(), try database.store(), try database.store()
    )
    for store in [one, other] { store.announceByBus() }
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    func wasRegistered(_ store: PostgresZoneStore) throws -> Bool {
      let request = ReadRequest.followAccounts([], leaving: [], node: 0)
      let found = try store.makeReader().read(request)
      guard case .accountVersions(_, let relays, let wasRegistered) = found else {
        throw MissingNotice()
      }
      #expect(relays.allSatisfy { $0.relay != 0 }, "a command is not a relay")
      return wasRegistered
    }
    func pass() throws {
      try database.runHere("UPDATE relays SET seen_at = seen_at - interval '60 seconds'")
    }
    #expect(try !wasRegistered(one) && !wasRegistered(other), "both are new")
    #expect(try wasRegistered(one) && wasRegistered(other))
    // Its own commits are announced.
    _ = try one.commit([.setPlan(account, .everything)], wall: 0)
    try pass()
    #expect(try wasRegistered(one) && wasRegistered(other))
    try pass()
    _ = try command.commit([.setPlan(account, .everything)], wall: 0)
    #expect(try !wasRegistered(one) && !wasRegistered(other))
    // A check that came seconds after the command may not have found what it did.
    #expect(try !wasRegistered(one) && !wasRegistered(other))
    try pass()
    #expect(try !wasRegistered(one) && !wasRegistered(other), "the check before was at once")
    #expect(try wasRegistered(one) && wasRegistered(other))
    try command.recordCommand()
    #expect(try !wasRegistered(one))
    try database.runHere("DELETE FROM relays")
    #expect(try !wasRegistered(other))
  }

  @Test func aChannelsNameFits() {
    #expect(PostgresBus.channel(of: "public", .all) == "lockstep_public")
    #expect(PostgresBus.channel(of: "public", .relay(10)) == "lockstep_public_000000000000000a")
    let long = String(repeating: "s", count: 63)
    #expect(PostgresBus.channel(of: long, .all).utf8.count == 25)
    #expect(PostgresBus.channel(of: long, .relay(10)).utf8.count == 42)
    #expect(PostgresBus.channel(of: long, .all) != PostgresBus.channel(of: long + "t", .all))
    let middle = String(repeating: "s", count: 50)
    #expect(PostgresBus.channel(of: middle, .all) == "lockstep_" + middle)
    #expect(PostgresBus.channel(of: middle, .relay(10)).utf8.count == 42)
  }
}

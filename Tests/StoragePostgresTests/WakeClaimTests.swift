import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

/// Wakes of several relays on one database.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct WakeClaimTests {
  private let device = TestRequests.device
  private let other = DeviceID(rawValue: 2)

  /// Makes accounts whose device has registered, and another device that has saved since.
  private func register(_ count: UInt64, in store: PostgresZoneStore) throws -> [SleeperID] {
    let ids = (1...count).map {
      SleeperID(account: AccountID(rawValue: $0 << 40), device: device)
    }
    for id in ids {
      let results = try store.commit(
        [
          TestRequests.create(id.account), TestRequests.putWake(in: id.account),
          .verifyWake(id.account, device, Name(trusted: "w"), codeHash: [7]),
          TestRequests.save("a", in: id.account),
        ], wall: 0)
      #expect(results[2] == .done)
    }
    return ids
  }

  private func claim(
    _ ids: [SleeperID], in store: PostgresZoneStore, wall: Int64 = 10_000
  ) throws -> [SleeperID] {
    let results = try store.commit([.claimWakes(ids, keys: TestRequests.wakeKeys)], wall: wall)
    guard case .wakesClaimed(let claimed) = results.first else { return [] }
    return claimed.map(\.id)
  }

  @Test func ofRelaysThatClaimAtOnceOnlyOneHasEachWake() throws {
    let database = try TestDatabase()
    let ids = try register(30, in: try database.store())
    let claims = try inParallel(2) { relay in
      let store = try database.store()
      defer { store.close() }
      // What one relay skips because the other one has locked it stays due, if it is not claimed.
      return try (0..<20).flatMap { _ in try claim(relay == 0 ? ids : ids.reversed(), in: store) }
    }
    #expect(claims.joined().sorted() == ids)
  }

  @Test(.disabled(if: TestDatabase.isPooled, TestDatabase.needsSessions))
  func aRowThatIsLockedIsSkippedWithoutAWait() throws {
    let database = try TestDatabase()
    let store = try database.store()
    let ids = try register(3, in: store)
    let holder = PostgresConnection(database.address)
    try holder.perform("hold") { () throws(PostgresFault) in
      _ = try holder.run(.begin)
      _ = try holder.run(
        PostgresStatement(
          "", "SELECT device FROM wakes WHERE account = \(ids[1].account.rawValue) FOR UPDATE"))
    }
    #expect(try claim(ids, in: store) == [ids[0], ids[2]])
    holder.close()
    try database.endSessions()
    #expect(try claim(ids, in: store) == [ids[1]])
  }

  @Test func aDeviceThatIsConnectedToAnotherRelayIsNotWoken() throws {
    let database = try TestDatabase()
    let (one, two) = (try database.store(), try database.store())
    let id = try register(1, in: one)[0]
    func touch(_ isConnected: Bool) throws {
      let sighting = DeviceSighting(
        account: id.account, device: id.device, lastSeen: 1, isConnected: isConnected)
      _ = try two.commit([.touchDevices([sighting])], wall: 1)
    }
    func isShown(by store: PostgresZoneStore) throws -> Bool {
      guard case .sleepers(let sleepers, _) = try store.read(.sleepers(.accounts([id.account])))
      else { return false }
      return sleepers.first?.isConnectedElsewhere == true
    }
    try touch(true)
    #expect(try isShown(by: one) && !isShown(by: two))
    #expect(try claim([id], in: one).isEmpty)
    try touch(false)
    #expect(try !isShown(by: one))
    #expect(try claim([id], in: one) == [id])
  }

  /// A contact must not get lost: the device would wait for its next wake for half an hour.
  @Test func aContactWaitsForTheRelayThatHasLockedTheRow() throws {
    let database = try TestDatabase()
    let ids = try register(8, in: try database.store())
    let rounds = 20
    _ = try inParallel(3) { relay in
      let store = try database.store()
      defer { store.close() }
      for round in 1...rounds {
        let wall = Int64(round) * 100_000
        let mark = WakeMark(generation: 1, sequence: Int64(round))
        switch relay {
        case 0: _ = try claim(ids, in: store, wall: wall)
        case 1:
          let reports = ids.reversed().map { WakeReport(id: $0, event: .finished(.change, [])) }
          _ = try store.commit([.reportWakes(reports)], wall: wall)
        default:
          let sightings = ids.map {
            DeviceSighting(
              account: $0.account, device: $0.device, lastSeen: wall,
              contact: WakeContact(seen: mark))
          }
          _ = try store.commit([.touchDevices(sightings)], wall: wall)
        }
      }
    }
    guard
      case .sleepers(let sleepers, _) = try database.store().read(.sleepers(.after(nil, limit: 9)))
    else {
      Issue.record("not listed")
      return
    }
    #expect(sleepers.compactMap(\.wakes.progress.seen?.sequence) == ids.map { _ in Int64(rounds) })
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    #expect(try database.number(deadlocks) == 0)
  }

  @Test func relaysThatStartAtOnceAddOneFirstKey() throws {
    let database = try TestDatabase()
    let keys = try inParallel(4) { relay in
      let store = try database.store()
      defer { store.close() }
      let key = WakeKey(
        madeAt: Int64(relay), privateKey: [UInt8](repeating: UInt8(relay), count: 32))
      return try store.commit([.addWakeKey(key, onlyFirst: true)], wall: 0)[0]
    }
    guard case .wakeKeys(let held) = try database.store().read(.wakeKeys) else {
      Issue.record("no keys")
      return
    }
    #expect(held.count == 1)
    #expect(keys == Array(repeating: .wakeKeys(held), count: 4))
  }

  /// The other relays read the device's registrations again.
  @Test func aRegistrationIsAMembershipChange() throws {
    let database = try TestDatabase()
    let store = try database.store()
    let account = AccountID(rawValue: 1)
    func version() throws -> Int64? {
      let request = ReadRequest.followAccounts([account], leaving: [], node: 0)
      guard case .accountVersions(let versions, _, _) = try store.read(request) else { return nil }
      return versions.first?.membershipVersion
    }
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    let before = try #require(try version())
    _ = try store.commit([TestRequests.putWake(in: account)], wall: 0)
    #expect(try version() == before + 1)
    _ = try store.commit([.removeWake(account, device, Name(trusted: "w"))], wall: 0)
    #expect(try version() == before + 2)
  }
}

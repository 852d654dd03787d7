import Changes
import Storage
import Testing

@testable import StoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PostgresBusTests {
  private let account = AccountID(rawValue: 1)

  private func movement(_ sequence: Int64?, affairs: Bool = false) -> BusNotice {
    .moved(
      BusPayload.Movement(
        account: account,
        token: sequence.map { ChangeToken(generation: 1, sequence: $0) }, hasNewAffairs: affairs))
  }

  @Test func aRelayHearsOfTheOthersAndNotOfItself() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(), try database.store())
    let (ours, theirs) = (try one.makeBus(), try other.makeBus())
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    _ = try one.commit([TestRequests.save("a", "b", in: account)], wall: 0)
    #expect(theirs.wait(milliseconds: 20_000) == [movement(2)])
    _ = try other.commit(
      [.setPlan(account, .everything), TestRequests.save("c", in: account)], wall: 0)
    #expect(ours.wait(milliseconds: 20_000) == [movement(3, affairs: true)])
    _ = try one.commit([.revokeDevice(account, TestRequests.device)], wall: 0)
    #expect(theirs.wait(milliseconds: 20_000) == [movement(nil, affairs: true)])
    #expect(ours.wait(milliseconds: 0).isEmpty)
    let known = AccountMovement(
      account: account, token: ChangeToken(generation: 1, sequence: 3), affairs: 2)
    #expect(try ours.movements(of: [account, AccountID(rawValue: 2)]) == [known])
    #expect(try one.makeReader().movements(of: [account]) == [known])
    _ = try one.commit([.removeAccount(account)], wall: 0)
    #expect(theirs.wait(milliseconds: 20_000) == [movement(nil, affairs: true)])
    #expect(try ours.movements(of: [account]).isEmpty)
  }

  @Test func relaysOfAnotherSchemaAreNotHeard() throws {
    let (database, foreign) = (try TestDatabase(), try TestDatabase())
    let bus = try database.store().makeBus()
    let store = try foreign.store()
    _ = try store.commit(
      [TestRequests.create(account), TestRequests.save("a", in: account)], wall: 0)
    #expect(bus.wait(milliseconds: 100).isEmpty)
  }

  @Test func aLostConnectionIsToldOnceAndItsReturnToo() throws {
    let database = try TestDatabase()
    let bus = try database.store().makeBus()
    try database.endSessions()
    #expect(bus.wait(milliseconds: 20_000) == [.lost])
    #expect(bus.wait(milliseconds: 0) == [.back])
    #expect(bus.wait(milliseconds: 0).isEmpty)
    // Also where another question has made the connection anew.
    try database.endSessions()
    _ = try bus.movements(of: [])
    #expect(bus.wait(milliseconds: 0) == [.back])
    bus.close()
    #expect(bus.wait(milliseconds: 0).isEmpty)
  }

  @Test func theBellEndsAWaitFromAnotherThread() throws {
    let database = try TestDatabase()
    let bus = try database.store().makeBus()
    let bell = bus.bell
    bell.ring()
    bell.ring()
    #expect(bus.wait(milliseconds: 600_000).isEmpty)
    #expect(bus.wait(milliseconds: 1).isEmpty)
  }
}

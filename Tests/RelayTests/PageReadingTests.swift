import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Many devices that read at once: memory is bounded, and none of them starves.
struct PageReadingTests {
  private func pagesAsked(_ relay: TestRelay) -> Int {
    relay.entries[0].reads.count { if case .page = $0.1 { true } else { false } }
  }

  /// Creates sockets of one account that have each requested a page, which the store has not read.
  private func readers(_ count: Int, _ relay: TestRelay, _ device: TestDevice) throws
    -> [SocketClient]
  {
    let sockets = try (0..<count).map { _ in try SocketClient(relay, as: device) }
    for socket in sockets { socket.sendMessage(.fetch(id: "f", FetchQuery())) }
    return sockets
  }

  @Test func onlySoManyPagesAreReadAtOnceAndAllAreRead() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let sockets = try readers(3 * Limits.pagesUnderWay, relay, device)
    #expect(pagesAsked(relay) == Limits.pagesUnderWay)
    // Each page that was read makes room for the next.
    #expect(relay.runRead(0) && relay.deliverRead(0))
    #expect(pagesAsked(relay) == Limits.pagesUnderWay)
    relay.runUntilIdle()
    for socket in sockets {
      guard case .changes("f", _)? = try socket.next() else {
        Issue.record("a page was forgotten")
        return
      }
    }
  }

  @Test func aNewcomerIsLetInWhileOthersWaitForTheirPages() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    _ = try readers(3 * Limits.pagesUnderWay, relay, device)
    let newcomer = HTTPClient(relay)
    newcomer.send("GET", "/v1/devices", token: device.token)
    let last = try #require(relay.entries[0].reads.last)
    guard case .read(.authenticate) = last.1 else {
      Issue.record("the store was asked for \(last.1)")
      return
    }
  }

  @Test func anotherAccountsPageDoesNotWaitForAllOfThem() throws {
    let relay = TestRelay()
    let crowd = try relay.newAccount()
    let other = try relay.newAccount()
    let single = try SocketClient(relay, as: other)
    _ = try readers(3 * Limits.pagesUnderWay, relay, crowd)
    single.sendMessage(.fetch(id: "g", FetchQuery()))
    #expect(relay.runRead(0) && relay.deliverRead(0))
    #expect(relay.runRead(0) && relay.deliverRead(0))
    let asked = relay.entries[0].reads.contains { entry in
      if case .page(.changes(other.credentials.account, _, _, _), _) = entry.1 {
        true
      } else {
        false
      }
    }
    #expect(asked)
  }

  @Test func pagesOfThoseWhoWentAwayAreNotRead() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let sockets = try readers(3 * Limits.pagesUnderWay, relay, device)
    for socket in sockets.dropLast() { relay.cut(socket.id) }
    let before = relay.readsDone
    relay.runUntilIdle()
    // The pages under way, and the one of the connection that is still open.
    #expect(relay.readsDone - before == Limits.pagesUnderWay + 1)
    guard case .changes("f", _)? = try sockets.last?.next() else {
      Issue.record("who stayed was forgotten")
      return
    }
  }

  @Test func whoWaitsWhileThereIsNoRoomIsPutOffByName() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.bodyBudgetBytes = 5_000
    }
    let device = try relay.newAccount()
    let credentials = device.credentials
    var large = save("r", id: batch(1))
    large.mutations[0].fields = Array(
      #"{"v":"\#(String(repeating: "x", count: 9_000))"}"#.utf8)
    _ = try relay.store.commit(
      [
        .save(
          SaveCommit(
            account: credentials.account, device: credentials.device, request: large, digest: [1]))
      ], wall: 1)
    let sockets = try readers(Limits.pagesUnderWay + 2, relay, device)
    // The pages of clients that read nothing stay in memory.
    for socket in sockets.dropLast() { relay.setTakesBytes(socket.id, false) }
    relay.runUntilIdle()
    let last = try #require(try sockets.last?.next())
    guard case .error("f", let refusal) = last else {
      Issue.record("\(last) although there is no room")
      return
    }
    #expect(refusal.code == .overloaded)
    #expect(
      relay.entries[0].node.services.currentStatus.bodyBytes < (Limits.pagesUnderWay + 2) * 10_000)
  }
}

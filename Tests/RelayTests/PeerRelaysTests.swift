import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Two relays on one store, which tell each other only the account that moved, and its token.
struct PeerRelaysTests {
  private func peerRelays() -> TestRelay {
    TestRelay(nodes: 2, areSeparateRelays: true) {
      $0.isOpen = true
      // The devices of these tests answer no pings.
      $0.keepAliveMilliseconds = 3_600_000
    }
  }

  /// Returns two relays, and two devices of one account.
  private func peerRelaysWithTwoDevices() throws -> (TestRelay, TestDevice, TestDevice) {
    let relay = peerRelays()
    let phone = try relay.newAccount()
    return (relay, phone, try relay.newDevice(beside: phone))
  }

  /// Drops the next hints to that relay.
  private func loseHints(to node: Int, _ relay: TestRelay) {
    relay.runCommits(relay.commits.count)
    relay.entries[node].remoteNews.removeAll()
    relay.runUntilIdle()
  }

  private func park(_ relay: TestRelay, _ device: TestDevice, since: ChangeToken) -> HTTPClient {
    let client = HTTPClient(relay, node: 1)
    client.send("GET", "/v1/changes?wait=60&since=\(since.text)", token: device.token)
    relay.runUntilIdle()
    return client
  }

  private func newest(_ relay: TestRelay, _ device: TestDevice) throws -> ChangeToken {
    guard case .token(let token) = try relay.store.read(.newestToken(device.credentials.account))
    else { return try #require(nil, "there is no newest token") }
    return token
  }

  private func pushes(_ socket: SocketClient) throws -> [ChangePage] {
    try socket.all().compactMap { if case .changes(nil, let page) = $0 { page } else { nil } }
  }

  /// The database is set back below the relays, and nothing in it shows that. There are no saves.
  @Test func whoIsConnectedLearnsThatTheStoreWentBack() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    relay.store.begin(run: OpeningNumber.make(wall: relay.moment.wall, random: 1))
    let kept = try newest(relay, phone)
    let copy = relay.store.copy()
    let writer = try SocketClient(relay, node: 0, as: phone, since: kept)
    writer.call(.save(save("r", zone: "z", id: batch(1))))
    let lost = try newest(relay, phone)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: lost)
    let poll = park(relay, laptop, since: lost)
    // A check that is only late ends nothing.
    relay.advance(Limits.versionCheckMilliseconds)
    #expect(!socket.isClosed)
    copy.begin(run: OpeningNumber.make(wall: relay.moment.wall, random: 2))
    relay.store = copy
    relay.advance(Limits.versionCheckMilliseconds)
    relay.advance(Limits.versionCheckMilliseconds)
    #expect(socket.isClosed)
    #expect(try poll.next()?.json?["changes"]?.array?.count == 0)
    let again = HTTPClient(relay, node: 1)
    again.send("GET", "/v1/changes?wait=60&since=\(lost.text)", token: laptop.token)
    relay.runUntilIdle()
    #expect(try again.next()?.status == 410)
  }

  @Test func whatOneSavesTheOtherPushesAfterOneRead() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    let sockets = try (0..<3).map { _ in
      try SocketClient(relay, node: 1, as: laptop, since: since)
    }
    let poll = park(relay, laptop, since: since)
    let stream = EventsClient(relay, node: 1, as: laptop, since: since)
    _ = try stream.all()
    let reads = relay.readsDone
    writer.call(.save(save("r", zone: "z", id: batch(1))))
    #expect(relay.readsDone == reads + 1)
    for socket in sockets {
      let page = try #require(try pushes(socket).first)
      #expect(page.since == since)
      #expect(page.changes.map(\.name.text) == ["r"])
    }
    #expect(try poll.next()?.json?["changes"]?.array?.count == 1)
    guard case .changes(let page)? = try stream.all().last else {
      Issue.record("the stream was told nothing")
      return
    }
    #expect(page.changes.map(\.name.text) == ["r"])
  }

  @Test func anIdleDeviceAsksFromWhereItStoodAndIsAnswered() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    // The device has polled here before, and does not now: no connection waits when the hint comes.
    let client = HTTPClient(relay, node: 1)
    _ = try client.call("GET", "/v1/changes?since=\(since.text)", token: laptop.token)
    let writer = try SocketClient(relay, node: 0, as: phone)
    writer.call(.save(save("r", zone: "z", id: batch(1))))
    let answer = try client.call(
      "GET", "/v1/changes?wait=60&since=\(since.text)", token: laptop.token)
    #expect(answer.json?["changes"]?.array?.count == 1)
  }

  @Test func whatWasLostIsFoundByLooking() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: since)
    writer.sendMessage(.save(save("r", zone: "z", id: batch(1))))
    loseHints(to: 1, relay)
    #expect(try pushes(socket).isEmpty)
    relay.advance(Limits.versionCheckMilliseconds)
    #expect(try pushes(socket).map { $0.changes.count } == [1])
  }

  @Test func whereHintsMayHaveBeenLostItLooksAtOnce() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: since)
    writer.sendMessage(.save(save("r", zone: "z", id: batch(1))))
    loseHints(to: 1, relay)
    relay.deliver(1, .news(.remoteNewsLost))
    relay.runUntilIdle()
    #expect(try pushes(socket).map { $0.changes.count } == [1])
  }

  @Test(arguments: [false, true])
  func whereALossIsReportedItLooksOnceAMinuteOnly(becomesUnreliable: Bool) throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: since)
    relay.deliver(1, .news(.remoteNewsReliability(true)))
    // What was lost before the report is found by two checks.
    for _ in 0..<3 { relay.advance(Limits.versionCheckMilliseconds) }
    writer.sendMessage(.save(save("r", zone: "z", id: batch(1))))
    loseHints(to: 1, relay)
    for _ in 0..<3 { relay.advance(Limits.versionCheckMilliseconds) }
    #expect(try pushes(socket).isEmpty, "nothing says that a hint was lost")
    if becomesUnreliable {
      relay.deliver(1, .news(.remoteNewsReliability(false)))
      relay.runUntilIdle()
    } else {
      relay.advance(Limits.reliableVersionCheckMilliseconds)
    }
    #expect(try pushes(socket).map { $0.changes.count } == [1])
    // Then a loss is found as soon as before.
    guard becomesUnreliable else { return }
    writer.sendMessage(.save(save("s", zone: "z", id: batch(2))))
    loseHints(to: 1, relay)
    relay.advance(Limits.versionCheckMilliseconds)
    #expect(try pushes(socket).map { $0.changes.count } == [1])
  }

  /// Of many accounts, each minute's check has a part.
  @Test func whereALossIsReportedAllAccountsHaveTheirTurn() throws {
    let relay = peerRelays()
    let count = 3 * Limits.reliableVersionCheckAccounts
    let devices = try (0..<count).map { try relay.newAccount(from: "192.0.2.\($0 / 20)") }
    let sockets = try devices.map { try SocketClient(relay, node: 1, as: $0) }
    relay.deliver(1, .news(.remoteNewsReliability(true)))
    for _ in 0..<3 { relay.advance(Limits.versionCheckMilliseconds) }
    let forgotten = relay.listeners
    relay.listeners = [:]
    for part in 1...3 {
      relay.advance(Limits.reliableVersionCheckMilliseconds)
      #expect(relay.listeners.count == part * Limits.reliableVersionCheckAccounts)
    }
    #expect(relay.listeners == forgotten)
    // Then it begins again, also if those whose turn it is have left.
    for socket in sockets.suffix(count - 1) { relay.cut(socket.id) }
    relay.runUntilIdle()
    relay.listeners = [:]
    for _ in 0..<2 { relay.advance(Limits.reliableVersionCheckMilliseconds) }
    #expect(relay.listeners[devices[0].credentials.account] == [1])
  }

  /// The database has crashed, and forgot the tables that it does not keep, and its relays are told
  /// of nothing: the first of them to find out looks up all accounts, and tells its other nodes.
  @Test func aRelayThatWasForgottenRegistersAgain() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let writer = try SocketClient(relay, node: 0, as: phone)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: newest(relay, phone))
    var others: [TestDevice] = []
    for number in 0..<(2 * Limits.reliableVersionCheckAccounts) {
      others.append(try relay.newAccount(from: "192.0.2.\(2 + number / 20)"))
      _ = try SocketClient(relay, node: 1, as: others[others.count - 1])
    }
    relay.deliver(1, .news(.remoteNewsReliability(true)))
    for _ in 0..<3 { relay.advance(Limits.versionCheckMilliseconds) }
    relay.listeners = [:]
    writer.call(.save(save("r", zone: "z", id: batch(1))))
    relay.forgottenNodes = [1]
    relay.advance(Limits.reliableVersionCheckMilliseconds)
    #expect(relay.listeners.count == others.count + 1)
    #expect(try pushes(socket).map { $0.changes.count } == [1])
  }

  // MARK: accounts

  @Test func aRelayIsToldOfAccountsWithDevicesThereOnly() throws {
    let relay = peerRelays()
    let phone = try relay.newAccount()
    let account = phone.credentials.account
    let laptop = try relay.newDevice(beside: phone)
    let writer = try SocketClient(relay, node: 0, as: phone)
    #expect(relay.listeners[account] == [0])
    let socket = try SocketClient(relay, node: 1, as: laptop)
    #expect(relay.listeners[account] == [0, 1])
    // Who has left may come back at once; it is told of one more commit.
    relay.cut(socket.id)
    relay.runUntilIdle()
    #expect(relay.listeners[account] == [0, 1])
    writer.call(.save(save("a", zone: "z", id: batch(1))))
    relay.advance(Limits.versionCheckMilliseconds)
    let other = try relay.newAccount()
    _ = try SocketClient(relay, node: 1, as: other)
    #expect(relay.listeners[account] == [0])
    let since = try newest(relay, phone)
    let back = try SocketClient(relay, node: 1, as: laptop, since: since)
    writer.call(.save(save("b", zone: "z", id: batch(2))))
    #expect(try pushes(back).map { $0.changes.map(\.name.text) } == [["b"]])
  }

  /// The commit comes after the device was looked up, and before its relay listens.
  @Test func aCommitBeforeTheRelayListensIsFound() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let writer = try SocketClient(relay, node: 0, as: phone)
    let since = try newest(relay, phone)
    let socket = try SocketClient(relay, node: 1)
    socket.sendMessage(.hello(token: laptop.token, since: since))
    while relay.listeners[phone.credentials.account]?.contains(1) != true,
      relay.entries[1].reads.isEmpty
    {
      #expect(relay.step())
    }
    while relay.runRead(1), relay.listeners[phone.credentials.account]?.contains(1) != true {
      writer.sendMessage(.save(save("r\(relay.readsDone)", zone: "z", id: batch(relay.readsDone))))
      relay.runCommits(relay.commits.count)
      while relay.deliverRead(1) {}
    }
    relay.runUntilIdle()
    let names = try pushes(socket).flatMap { $0.changes.map(\.name.text) }
    #expect(!names.isEmpty)
    #expect(try newest(relay, phone) != since)
  }

  @Test func anAccountThatCouldNotBeFollowedIsFollowedLater() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let account = phone.credentials.account
    let since = try newest(relay, phone)
    let socket = try SocketClient(relay, node: 1)
    socket.sendMessage(.hello(token: laptop.token, since: since))
    while relay.entries[1].reads.isEmpty { #expect(relay.step()) }
    _ = relay.runRead(1)
    relay.readFault = StorageError.unavailable(path: "db", detail: "it is down")
    relay.runUntilIdle()
    #expect(relay.listeners[account]?.contains(1) != true)
    relay.readFault = nil
    relay.advance(Limits.versionCheckMilliseconds)
    #expect(relay.listeners[account]?.contains(1) == true)
  }

  @Test func aRelayThatIsNotHeardIsNoticedAndTold() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: since)
    func isReported() -> Bool? {
      let reports = relay.reports.compactMap {
        if case .unheardRelays(let areThere) = $0 { areThere } else { nil }
      }
      return reports.last
    }
    func pass(_ checks: Int) {
      for _ in 0..<checks { relay.advance(Limits.versionCheckMilliseconds) }
    }
    relay.seenRelays = [
      RelaySighting(relay: 5, seenAt: 10_000), RelaySighting(relay: 6, seenAt: 10_000),
    ]
    relay.deliver(1, .news(.remoteNewsReliability(true)))
    relay.deliver(1, .news(.remoteRelaysHeard([5])))
    pass(3)
    // It may have ended a moment ago. Meanwhile a loss is found as soon as without the bus.
    writer.sendMessage(.save(save("r", zone: "z", id: batch(1))))
    loseHints(to: 1, relay)
    pass(2)
    #expect(try pushes(socket).map { $0.changes.count } == [1])
    #expect(isReported() == nil)
    relay.seenRelays[1].seenAt += Limits.versionCheckMilliseconds
    pass(2)
    #expect(isReported() == true)
    for node in 0..<2 {
      relay.deliver(node, .news(.remoteNewsReliability(true)))
      relay.deliver(node, .news(.remoteRelaysHeard([5, 6])))
    }
    pass(4)
    #expect(isReported() == false)
    // Nothing is missing any more.
    let before = relay.readsDone
    pass(4)
    #expect(relay.readsDone == before)
  }

  /// Hints are lost all the time: the store is asked no more often than without any report.
  @Test func reportsWithoutEndDoNotAskTheStoreWithoutEnd() throws {
    let relay = peerRelays()
    let phone = try relay.newAccount()
    _ = try SocketClient(relay, node: 1, as: phone, since: try newest(relay, phone))
    relay.deliver(1, .news(.remoteNewsReliability(true)))
    relay.runUntilIdle()
    let before = relay.readsDone
    for _ in 0..<60 {
      relay.deliver(1, .news(.remoteNewsLost))
      relay.runUntilIdle()
      relay.advance(100)
    }
    #expect(relay.readsDone - before <= 6)
  }

  /// A relay is sending one commit when the next one is announced elsewhere. Then a poll comes that
  /// has got neither: it must not be answered with the first one only.
  @Test(arguments: [0, 1])
  func aPollThatCameAfterACommitIsToldOfIt(firstAt node: Int) throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    // A poll waits there already, so the first commit is read for the account.
    let early = park(relay, laptop, since: since)
    let here = try SocketClient(relay, node: node, as: phone, since: since)
    let there = try SocketClient(relay, node: 0, as: phone, since: since)
    here.sendMessage(.save(save("first", zone: "z", id: batch(1))))
    relay.runCommits(relay.commits.count)
    // The store was read at relay 1, and the result is not delivered yet.
    while relay.deliverCommitEvent(1) || relay.deliverRemoteNews(1) {}
    while relay.runRead(1) {}
    there.sendMessage(.save(save("second", zone: "z", id: batch(2))))
    relay.runCommits(relay.commits.count)
    while relay.deliverCommitEvent(0) {}
    let late = HTTPClient(relay, node: 1)
    late.send("GET", "/v1/changes?wait=60&since=\(since.text)", token: laptop.token)
    relay.runUntilIdle()
    #expect(try early.next()?.json?["changes"]?.array != nil)
    #expect(try late.next()?.json?["changes"]?.array?.count == 2)
  }

  @Test func aPollsTimeEndsWithALookForWhatWasLost() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let client = HTTPClient(relay, node: 1)
    client.send("GET", "/v1/changes?wait=1&since=\(since.text)", token: laptop.token)
    relay.runUntilIdle()
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    writer.sendMessage(.save(save("r", zone: "z", id: batch(1))))
    loseHints(to: 1, relay)
    relay.advance(1_000)
    #expect(try client.next()?.json?["changes"]?.array?.count == 1)
  }

  @Test func moreThanIsReadAtOnceIsToldInParts() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: since)
    for number in 0...Limits.batchRecords {
      writer.sendMessage(.save(save("r\(number)", zone: "z", id: batch(number + 1))))
    }
    loseHints(to: 1, relay)
    relay.deliver(1, .news(.remoteNewsLost))
    relay.runUntilIdle()
    let pages = try pushes(socket)
    #expect(pages.map { $0.changes.count } == [Limits.batchRecords, 1])
    #expect(try newest(relay, phone) == pages.last?.token)
  }

  @Test(arguments: [false, true])
  func aDeviceThatIsRevokedAtOneIsGoneFromAll(isLost: Bool) throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let socket = try SocketClient(relay, node: 1, as: laptop)
    let bystander = try SocketClient(relay, node: 1, as: phone)
    // The first check reports the account's `membershipVersion`.
    relay.advance(Limits.versionCheckMilliseconds)
    let owner = HTTPClient(relay, node: 0)
    owner.send("DELETE", "/v1/devices/\(laptop.credentials.device.text)", token: phone.token)
    while relay.commits.isEmpty { #expect(relay.step()) }
    if isLost { loseHints(to: 1, relay) } else { relay.runUntilIdle() }
    #expect(socket.isClosed == !isLost)
    relay.advance(Limits.versionCheckMilliseconds)
    #expect(socket.isClosed)
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 4501)
    #expect(!bystander.isClosed)
  }

  @Test func aPlanThatIsChangedAtOneHoldsAtAll() throws {
    let relay = peerRelays()
    let phone = try relay.newAccount()
    let socket = try SocketClient(relay, node: 1, as: phone)
    let plan = CommitRequest.setPlan(phone.credentials.account, Plan(zones: []))
    _ = try relay.store.commit([plan], wall: relay.moment.wall)
    relay.deliver(1, .news(.remoteMembershipChange(phone.credentials.account)))
    relay.runUntilIdle()
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 4502)
  }

  @Test func whatWakesADeviceIsKnownToAll() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: since)
    let client = HTTPClient(relay, node: 0)
    let answer = try client.call(
      "PUT", "/v1/subscriptions/s", token: laptop.token, #"{"kind":"zone","zone":"a"}"#)
    #expect(answer.status == 201)
    let writer = try SocketClient(relay, node: 0, as: phone, since: since)
    writer.call(.save(save("r", zone: "b", id: batch(1))))
    #expect(try pushes(socket).isEmpty)
    writer.call(.save(save("r", zone: "a", id: batch(2))))
    #expect(try pushes(socket).map { $0.changes.count } == [2])
  }

  /// The relay's own commit, which matches no filter, follows an unheard one of another relay.
  @Test func whatWakesADeviceIsNotPassedOverWithWhatCameAfterIt() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let since = try newest(relay, phone)
    _ = try HTTPClient(relay, node: 1).call(
      "PUT", "/v1/subscriptions/s", token: laptop.token, #"{"kind":"zone","zone":"a"}"#)
    let socket = try SocketClient(relay, node: 1, as: laptop, since: since)
    let there = try SocketClient(relay, node: 0, as: phone, since: since)
    let here = try SocketClient(relay, node: 1, as: phone, since: since)
    there.sendMessage(.save(save("r", zone: "a", id: batch(1))))
    loseHints(to: 1, relay)
    here.call(.save(save("s", zone: "b", id: batch(2))))
    #expect(try pushes(socket).flatMap { $0.changes.map(\.name.text) } == ["r", "s"])
    // The device that saved has both changes too, and its answer.
    let said = try here.all()
    #expect(said.contains { if case .saved = $0 { true } else { false } })
  }

  /// The hint of another relay's commit comes while the device signs in.
  @Test func whoHasJustComeIsNotWokenByWhatItDoesNotWatch() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    _ = try HTTPClient(relay, node: 0).call(
      "PUT", "/v1/subscriptions/s", token: laptop.token, #"{"kind":"zone","zone":"a"}"#)
    let there = try SocketClient(relay, node: 0, as: phone)
    for steps in 0..<12 {
      let since = try newest(relay, phone)
      let client = try SocketClient(relay, node: 1)
      client.sendMessage(.hello(token: laptop.token, since: since))
      there.sendMessage(.save(save("r\(steps)", zone: "b", id: batch(3 * steps + 1))))
      for _ in 0..<steps { _ = relay.step() }
      relay.runUntilIdle()
      // Changes that it missed before its sign-in may be sent to it.
      _ = try client.all()
      there.call(.save(save("s\(steps)", zone: "b", id: batch(3 * steps + 2))))
      #expect(try client.all().isEmpty, "after \(steps) steps")
      there.call(.save(save("t\(steps)", zone: "a", id: batch(3 * steps + 3))))
      #expect(try !pushes(client).isEmpty)
    }
  }

  @Test func anAccountThatIsRemovedIsGoneFromAll() throws {
    let relay = peerRelays()
    let phone = try relay.newAccount()
    let socket = try SocketClient(relay, node: 1, as: phone)
    _ = try relay.store.commit(
      [.removeAccount(phone.credentials.account)], wall: relay.moment.wall)
    relay.advance(Limits.versionCheckMilliseconds)
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 4501)
  }

  @Test func whoIsConnectedToOneIsShownByAll() throws {
    let (relay, phone, laptop) = try peerRelaysWithTwoDevices()
    let socket = try SocketClient(relay, node: 1, as: laptop)
    relay.advance(Limits.sightingDelayMilliseconds)
    func shown() throws -> Bool? {
      let list = try HTTPClient(relay, node: 0).call("GET", "/v1/devices", token: phone.token)
      let devices = try DeviceList.decoded(body: list.body).devices
      return devices.first { $0.id == laptop.credentials.device }?.connected
    }
    #expect(try shown() == true)
    relay.cut(socket.id)
    relay.advance(Limits.sightingDelayMilliseconds)
    #expect(try shown() == false)
  }

  @Test func whereNobodyIsNothingIsAsked() throws {
    let relay = peerRelays()
    let phone = try relay.newAccount()
    let socket = try SocketClient(relay, node: 1, as: phone)
    relay.advance(Limits.versionCheckMilliseconds)
    relay.cut(socket.id)
    relay.advance(3 * Limits.sightingMilliseconds)
    let reads = relay.readsDone
    relay.advance(10 * Limits.versionCheckMilliseconds)
    #expect(relay.readsDone == reads)
  }
}

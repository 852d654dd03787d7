import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Waking of a sleeping device by Web Push: a phone, and a laptop that changes something.
struct WakeTests {
  private let relay: TestRelay
  private let service: PushService
  private let laptop: TestDevice
  private let phone: TestDevice

  init() throws {
    relay = TestRelay(nodes: 2) { PushService.configure(&$0) }
    service = PushService(relay)
    laptop = try relay.newAccount()
    phone = try relay.newDevice(beside: laptop)
    relay.advance(10_000)
  }

  /// A device saves a record, and leaves.
  private func save(
    _ device: TestDevice, _ number: Int, zone: String = "z", node: Int = 0
  ) throws {
    let client = HTTPClient(relay, node: node)
    let saved = try client.call(
      "POST", "/v1/zones/\(zone)/records", token: device.token,
      saveBody("r\(number)", id: batch(number)))
    try #require(saved.status == 200)
    relay.cut(client.id)
    relay.runUntilIdle()
  }

  /// A device reads everything after its token, page by page, and leaves.
  private func fetch(_ device: TestDevice, since: String?) throws -> String {
    let client = HTTPClient(relay)
    var token = since
    while true {
      let query = token.map { "?since=\($0)" } ?? ""
      let answer = try client.call("GET", "/v1/changes\(query)", token: device.token)
      try #require(answer.status == 200)
      let page = try ChangePage.decoded(body: answer.body)
      let isEnd = token == page.token.text
      token = page.token.text
      if isEnd { break }
    }
    relay.cut(client.id)
    relay.runUntilIdle()
    return try #require(token)
  }

  private func status(_ device: TestDevice) throws -> JSONValue? {
    let client = HTTPClient(relay)
    let answer = try client.call("GET", "/v1/wakes/browser", token: device.token)
    relay.cut(client.id)
    return answer.json
  }

  /// Answers the next push as soon as it comes.
  private func answerNextPush(_ status: Int, within seconds: Int) throws {
    for _ in 0..<seconds {
      relay.advance(1_000)
      if let push = try service.pushes().first { return service.answer(push, status) }
    }
    Issue.record("no push came in \(seconds) s")
  }

  // MARK: registration

  @Test func aRegistrationIsVerifiedByTheCodeOfItsFirstPush() throws {
    let client = HTTPClient(relay)
    let body = try service.subscribe("/p/1")
    #expect(try client.call("PUT", "/v1/wakes/a%2Fb", token: phone.token, body).status == 201)
    let state = try client.call("GET", "/v1/wakes/a%2Fb", token: phone.token)
    #expect(state.json == ["id": "a/b", "kind": "webpush", "state": "unverified"])
    let pushes = try service.pushes()
    try #require(pushes.count == 1)
    #expect(pushes[0].target == "/p/1")
    #expect(pushes[0].headers["TTL"] == "600")
    let code = try #require(try service.content(pushes[0])["c"]?.string)
    service.answer(pushes[0])
    let path = "/v1/wakes/a%2Fb/verification"
    let wrong = try client.call("POST", path, token: phone.token, #"{"code":"x"}"#)
    #expect(wrong.code == "badWakeCode")
    // Another device's code is not its own.
    #expect(
      try client.call("POST", path, token: laptop.token, #"{"code":"\#(code)"}"#).status == 404)
    #expect(
      try client.call("POST", path, token: phone.token, #"{"code":"\#(code)"}"#).status == 204)
    let list = try client.call("GET", "/v1/wakes", token: phone.token)
    #expect(list.json?["wakes"]?.array?.first?["state"] == "verified")
    #expect(try client.call("GET", "/v1/wakes", token: laptop.token).json == ["wakes": []])
    // The same subscription stays verified; another one does not.
    #expect(try client.call("PUT", "/v1/wakes/a%2Fb", token: phone.token, body).status == 204)
    #expect(try service.pushes().isEmpty)
    let other = try service.subscribe("/p/2")
    #expect(try client.call("PUT", "/v1/wakes/a%2Fb", token: phone.token, other).status == 202)
    #expect(try service.onlyPush()["c"] != nil)
    #expect(try client.call("DELETE", "/v1/wakes/a%2Fb", token: phone.token).status == 204)
    #expect(try client.call("DELETE", "/v1/wakes/a%2Fb", token: phone.token).status == 404)
  }

  @Test func endpointsOfTheOwnersNetworkAreRefused() throws {
    let client = HTTPClient(relay)
    for host in [
      "127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[::1]", "[fd00::1]", "localhost",
      "router", "push.example:8443", "0x7f.1", "2130706433", "user@push.example",
    ] {
      let body = try service.subscribe("/p", host: host)
      let answer = try client.call("PUT", "/v1/wakes/x", token: phone.token, body)
      #expect(
        answer.code == "wakeNotAllowed" || answer.code == "badRequest", "\(host): \(answer.status)")
    }
    #expect(relay.opened.isEmpty)
  }

  @Test func anAccountGetsFewCodesInAWhile() throws {
    let client = HTTPClient(relay)
    for number in 0..<Limits.wakeCodesAtOnce {
      let answer = try client.call(
        "PUT", "/v1/wakes/x", token: phone.token, try service.subscribe("/p/\(number)"))
      #expect([201, 202].contains(answer.status))
    }
    let more = try client.call(
      "PUT", "/v1/wakes/x", token: phone.token, try service.subscribe("/p/more"))
    #expect(more.status == 429)
  }

  @Test func aRelayThatWakesNobodySaysSo() throws {
    let silent = TestRelay()
    let device = try silent.newAccount()
    let client = HTTPClient(silent)
    let put = try client.call(
      "PUT", "/v1/wakes/x", token: device.token, try service.subscribe("/p"))
    #expect(put.code == "wakeNotAllowed")
    #expect(try client.call("GET", "/v1/limits").json?["wakeKey"] == nil)
    #expect(
      try HTTPClient(relay).call("GET", "/v1/limits").json?["wakeKey"]?.string?.utf8.count == 87)
  }

  // MARK: the owner's log

  @Test func theOwnerLearnsOfAServiceThatRejectsPushesOnceAnHour() throws {
    try service.register(phone)
    for number in 1...3 {
      try save(laptop, number)
      try answerNextPush(413, within: 2_000)
      relay.advance(1_000)
    }
    let reports = relay.reports.filter { if case .pushRejected = $0 { true } else { false } }
    #expect(reports == [.pushRejected(service: "https://push.example", status: 413)])
  }

  @Test func aRefusedKeyIsReportedOnlyIfItIsForSeveralAccounts() {
    var complaints = PushComplaints()
    let now = Instant(nanoseconds: 0)
    func refuse(_ account: UInt64, after milliseconds: Int64 = 0) -> RelayReport? {
      complaints.record(
        .keyRefused(status: 403), of: "https://push.example", for: AccountID(rawValue: account),
        at: now.advanced(milliseconds: milliseconds))
    }
    let report = RelayReport.pushKeyRefused(service: "https://push.example", status: 403)
    for account in [1, 1, 1, 2] as [UInt64] { #expect(refuse(account) == nil) }
    #expect(refuse(3) == report)
    #expect(refuse(4) == nil)
    for account in 1...2 as ClosedRange<UInt64> {
      #expect(refuse(account, after: 3_600_000) == nil)
    }
    #expect(refuse(3, after: 3_600_000) == report)
  }

  @Test func clientsThatNameManyServicesDoNotFillTheLog() {
    var complaints = PushComplaints()
    let reports = (0..<1_000).compactMap { number in
      complaints.record(
        .invalid(status: 400), of: "https://p\(number).example", for: AccountID(rawValue: 1),
        at: Instant(nanoseconds: 0))
    }
    #expect(reports.count == 10)
  }

  // MARK: keys

  @Test func aNewKeyIsToldToSleepingDevicesWhichSubscribeAgain() throws {
    try service.register(phone)
    let former = try #require(
      try HTTPClient(relay).call("GET", "/v1/limits").json?["wakeKey"]?.string)
    let owner = HTTPClient(relay, node: 1, listenerKind: .control)
    // The store has the first key as well, as every relay's does.
    _ = try relay.store.commit(
      [.addWakeKey(PushService.key, onlyFirst: true)], wall: relay.moment.wall)
    let rotated = try owner.call("POST", "/v1/admin/wake-keys")
    #expect(rotated.status == 201)
    let keys = try #require(rotated.json?["wakeKeys"]?.array)
    try #require(keys.count == 2)
    let new = try #require(keys[0]["wakeKey"]?.string)
    #expect(keys[1]["wakeKey"]?.string == former && keys[1]["endsAt"] != nil)
    #expect(try owner.call("GET", "/v1/admin/wake-keys").json == rotated.json)
    // Every node of the process uses it at once.
    for node in 0..<2 {
      let limits = try HTTPClient(relay, node: node).call("GET", "/v1/limits")
      #expect(limits.json?["wakeKey"]?.string == new)
    }
    relay.advance(1_000)
    let pushes = try service.pushes()
    try #require(pushes.count == 1)
    #expect(try service.content(pushes[0])["k"]?.string == new)
    #expect(pushes[0].headers["Authorization"]?.hasSuffix("k=\(former)") == true)
    #expect(pushes[0].body.count == 742, "as long as any other")
    service.answer(pushes[0])
    relay.advance(10_000)
    // A subscription for the former key is still taken, and one for no key of the relay is not.
    let client = HTTPClient(relay)
    for (key, status) in [(former, 202), ("BAAA", 400), (new, 202)] {
      let body = try service.subscribe("/p/\(key.utf8.count)\(status)", wakeKey: key)
      let put = try client.call("PUT", "/v1/wakes/browser", token: phone.token, body)
      #expect(put.status == status)
      for push in try service.pushes() {
        #expect(push.headers["Authorization"]?.hasSuffix("k=\(key)") == true)
        service.answer(push)
      }
    }
    relay.cut(client.id)
  }

  @Test func aRelayUsesTheKeyThatAnotherOneHasMade() throws {
    try service.register(phone)
    let key = WakeKey(
      madeAt: relay.moment.wall, privateKey: [UInt8](repeating: 0, count: 31) + [77])
    _ = try relay.store.commit(
      [.addWakeKey(PushService.key, onlyFirst: true), .addWakeKey(key, onlyFirst: false)],
      wall: relay.moment.wall)
    relay.advance(Limits.wakeSweepMilliseconds + 1_000)
    #expect(try service.onlyPush()["k"]?.string == key.publicText)
    let limits = try HTTPClient(relay).call("GET", "/v1/limits")
    #expect(limits.json?["wakeKey"]?.string == key.publicText)
  }

  /// The device heard of the key from another relay on the store.
  @Test func aSubscriptionForAKeyOfAnotherRelayIsTakenAtOnce() throws {
    try service.register(phone)
    let key = WakeKey(
      madeAt: relay.moment.wall, privateKey: [UInt8](repeating: 0, count: 31) + [77])
    _ = try relay.store.commit(
      [.addWakeKey(PushService.key, onlyFirst: true), .addWakeKey(key, onlyFirst: false)],
      wall: relay.moment.wall)
    let new = try #require(key.publicText)
    let client = HTTPClient(relay)
    let body = try service.subscribe("/p/new", wakeKey: new)
    let put = try client.call("PUT", "/v1/wakes/browser", token: phone.token, body)
    #expect(put.status == 202)
    let push = try #require(try service.pushes().first { $0.target == "/p/new" })
    #expect(push.headers["Authorization"]?.hasSuffix("k=\(new)") == true)
    for node in 0..<2 {
      let limits = try HTTPClient(relay, node: node).call("GET", "/v1/limits")
      #expect(limits.json?["wakeKey"]?.string == new)
    }
    // One that no relay has made is refused.
    let other = try service.subscribe("/p/other", wakeKey: "BAAA")
    let refused = try client.call("PUT", "/v1/wakes/browser", token: phone.token, other)
    #expect(refused.status == 400)
    relay.cut(client.id)
  }

  /// A pass over the devices reads the keys before the owner adds one, and ends after that.
  @Test func aReadOfTheFormerKeysDoesNotBringThemBack() throws {
    try service.register(phone)
    _ = try relay.store.commit(
      [.addWakeKey(PushService.key, onlyFirst: true)], wall: relay.moment.wall)
    let owner = HTTPClient(relay, listenerKind: .control)
    for _ in 0..<99 where relay.entries[0].reads.isEmpty {
      relay.runUntilIdle()
      let deadline = relay.entries[0].node.nextDeadline
      relay.moment.instant = max(deadline ?? relay.moment.instant, relay.moment.instant)
      relay.deliver(0, .deadlineReached)
    }
    guard case .dueWakes(.after(nil, _), _, _) = relay.entries[0].reads.first?.1 else {
      Issue.record("no pass has begun")
      return
    }
    #expect(relay.runRead(0))
    // The keys are not read again soon.
    relay.readFault = .failed(path: "store", operation: "read", detail: "I/O error")
    let rotated = try owner.call("POST", "/v1/admin/wake-keys")
    let new = rotated.json?["wakeKeys"]?.array?.first?["wakeKey"]?.string
    #expect(rotated.status == 201 && new != nil)
    #expect(relay.entries[0].readEvents.isEmpty, "the pass has ended")
    let limits = try HTTPClient(relay).call("GET", "/v1/limits")
    #expect(limits.json?["wakeKey"]?.string == new)
  }

  // MARK: wakes

  @Test func aWakeIsTheNotificationThatItsBrowserMayShow() throws {
    let notification = #"{"title":"Notes","navigate":"https://notes.example/"}"#
    try service.register(phone, notification: notification)
    try save(laptop, 1)
    relay.advance(Limits.wakeGatherMilliseconds + 1)
    let pushes = try service.pushes()
    try #require(pushes.count == 1)
    #expect(pushes[0].body.count == 742)
    let newest = try fetch(laptop, since: nil)
    #expect(
      try service.content(pushes[0]) == [
        "web_push": 8030, "mutable": true,
        "notification": [
          "title": "Notes", "navigate": "https://notes.example/", "tag": "lockstep changes",
          "data": ["v": 1, "t": .string(newest)],
        ],
      ])
  }

  @Test func aChangeWakesASleepingDeviceOnce() throws {
    try service.register(phone)
    try save(laptop, 1)
    #expect(try service.pushes().isEmpty)
    relay.advance(Limits.wakeGatherMilliseconds + 1)
    let pushes = try service.pushes()
    try #require(pushes.count == 1)
    #expect(pushes[0].headers["Topic"]?.utf8.count == 32)
    #expect(pushes[0].headers["Content-Encoding"] == "aes128gcm")
    #expect(pushes[0].body.count == 742)
    let newest = try fetch(laptop, since: nil)
    #expect(try service.content(pushes[0]) == ["v": 1, "t": .string(newest)])
    service.answer(pushes[0])
    // The phone does not answer: nothing more is sent.
    try save(laptop, 2)
    relay.advance(60_000)
    #expect(try service.pushes().isEmpty)
    // Once it has, the next change wakes it again.
    _ = try fetch(phone, since: nil)
    relay.advance(60_000)
    #expect(try service.pushes().isEmpty)
    try save(laptop, 3)
    relay.advance(10_000)
    _ = try service.onlyPush()
    let state = try status(phone)
    #expect(state?["answeredAt"] != nil)
    #expect(state?["sentAt"] != nil)
  }

  @Test func anUnansweredWakeIsRepeatedLessAndLess() throws {
    try service.register(phone)
    try save(laptop, 1)
    relay.advance(10_000)
    _ = try service.onlyPush()
    for minutes: Int64 in [30, 60, 120, 240, 480, 960, 1_440, 1_440] {
      relay.advance((minutes - 2) * 60_000)
      #expect(try service.pushes().isEmpty, "before \(minutes) minutes")
      relay.advance(2 * 60_000)
      _ = try service.onlyPush()
    }
  }

  @Test func ownChangesAndThoseOfOtherZonesWakeNobody() throws {
    let client = HTTPClient(relay)
    let put = try client.call(
      "PUT", "/v1/subscriptions/s", token: phone.token, #"{"kind":"zone","zone":"y"}"#)
    #expect(put.status == 201)
    relay.cut(client.id)
    try service.register(phone)
    try save(phone, 1, zone: "y")
    try save(laptop, 2, zone: "z")
    relay.advance(100_000)
    #expect(try service.pushes().isEmpty)
    try save(laptop, 3, zone: "y")
    relay.advance(10_000)
    _ = try service.onlyPush()
  }

  @Test func aConnectedDeviceIsNotWokenAndOneThatLeavesIsAWhileLater() throws {
    try service.register(phone)
    let token = try fetch(phone, since: nil)
    let socket = try SocketClient(relay, node: 1, as: phone, since: ChangeToken(text: token))
    try save(laptop, 1)
    relay.advance(20_000)
    #expect(try service.pushes().isEmpty)
    guard case .changes(nil, let page)? = try socket.next() else {
      Issue.record("the change was not pushed")
      return
    }
    // It says what it has, and leaves: nothing wakes it.
    relay.send(
      socket.id, WebSocketFrame.close(code: 1000, reason: page.token.text, mask: 1))
    relay.runUntilIdle()
    relay.advance(3_600_000)
    #expect(try service.pushes().isEmpty)
    // A change right after that wakes it, but not within three seconds of its leaving.
    let again = try SocketClient(relay, node: 1, as: phone, since: page.token)
    relay.send(again.id, WebSocketFrame.close(code: 1000, reason: page.token.text, mask: 1))
    relay.runUntilIdle()
    try save(laptop, 2)
    relay.advance(2_500)
    #expect(try service.pushes().isEmpty)
    relay.advance(1_000)
    _ = try service.onlyPush()
  }

  /// A browser keeps the connection of a page that is closed for minutes.
  @Test func aConnectionThatIsOnlyKeptDoesNotKeepADeviceAwake() throws {
    try service.register(phone)
    let client = HTTPClient(relay)
    #expect(try client.call("GET", "/v1/wakes", token: phone.token).status == 200)
    try save(laptop, 1)
    relay.advance(8_000)
    #expect(client.isClosed)
    _ = try service.onlyPush()
  }

  /// A browser has several connections, and does not use all of them after the page has registered.
  @Test(arguments: [0, 1]) func connectionsFromBeforeTheRegistrationEndToo(node: Int) throws {
    let client = HTTPClient(relay, node: node)
    #expect(try client.call("GET", "/v1/devices", token: phone.token).status == 200)
    relay.runUntilIdle()
    try service.register(phone)
    try save(laptop, 1)
    relay.advance(8_000)
    #expect(client.isClosed)
    _ = try service.onlyPush()
  }

  @Test func whatWasSentWithoutAProofIsAnnouncedLater() throws {
    try service.register(phone)
    let token = try fetch(phone, since: nil)
    let socket = try SocketClient(relay, as: phone, since: ChangeToken(text: token))
    socket.answersPings = false
    try save(laptop, 1)
    // The phone's battery is empty: nobody knows if the push has arrived.
    relay.cut(socket.id, .failed("reset"))
    relay.advance(29 * 60_000)
    #expect(try service.pushes().isEmpty)
    relay.advance(2 * 60_000)
    _ = try service.onlyPush()
  }

  /// Two connections on different threads; the one that has shown less ends last.
  @Test func aConnectionThatEndsLateTakesNothingBack() throws {
    try service.register(phone)
    let token = try fetch(phone, since: nil)
    let late = HTTPClient(relay, node: 1)
    #expect(
      try late.call("GET", "/v1/changes?since=\(token)", token: phone.token).status == 200)
    late.send(
      "GET", "/v1/changes?zone=elsewhere&wait=60", token: phone.token)
    relay.advance(1_000)
    try save(laptop, 1)
    _ = try fetch(phone, since: token)
    relay.cut(late.id)
    relay.advance(20_000)
    #expect(try service.pushes().isEmpty)
  }

  /// The last request of a page that is closed may arrive after a change, and nobody reads the
  /// answer.
  @Test func aRequestForTheHeadOfAnAnswerTellsADeviceNothing() throws {
    try service.register(phone)
    let token = try fetch(phone, since: nil)
    try save(laptop, 1)
    let client = HTTPClient(relay)
    let head = try client.call("HEAD", "/v1/changes?since=\(token)&limit=1", token: phone.token)
    #expect(head.status == 200)
    relay.cut(client.id)
    relay.advance(10_000)
    _ = try service.onlyPush()
  }

  @Test func anAnsweredPingProvesWhatWasSentBefore() throws {
    try service.register(phone)
    let token = try fetch(phone, since: nil)
    let socket = try SocketClient(relay, as: phone, since: ChangeToken(text: token))
    try save(laptop, 1)
    for _ in 0..<3 {
      relay.advance(Limits.keepAliveMilliseconds)
      _ = try socket.all()
      relay.runUntilIdle()
    }
    #expect(socket.pings > 0)
    relay.cut(socket.id, .failed("reset"))
    relay.advance(3_600_000)
    #expect(try service.pushes().isEmpty)
  }

  // MARK: push services

  @Test func aSubscriptionThatHasEndedIsRemovedAfterOneMoreAttempt() throws {
    try service.register(phone)
    try save(laptop, 1)
    relay.advance(10_000)
    _ = try service.onlyPush(410)
    #expect(try status(phone)?["state"] == "verified")
    // That was a contact; the next attempt follows.
    try answerNextPush(404, within: 120)
    #expect(try status(phone)?["code"] == "notFound")
    try save(laptop, 2)
    relay.advance(24 * 3_600_000)
    #expect(try service.pushes().isEmpty)
  }

  @Test func aServiceThatAsksToWaitIsLeftAlone() throws {
    try service.register(phone)
    try save(laptop, 1)
    relay.advance(10_000)
    let pushes = try service.pushes()
    try #require(pushes.count == 1)
    service.answer(pushes[0], 429, retryAfter: 7_200)
    try save(laptop, 2)
    relay.advance(7_100_000)
    #expect(try service.pushes().isEmpty)
    relay.advance(200_000)
    _ = try service.onlyPush()
  }

  @Test func aServiceThatNeverAnswersIsTriedAgain() throws {
    try service.register(phone)
    try save(laptop, 1)
    relay.advance(10_000)
    #expect(try service.pushes().count == 1)
    relay.advance(55_000)
    #expect(try service.pushes().isEmpty)
    var again: [PushService.Push] = []
    for _ in 0..<60 where again.isEmpty {
      relay.advance(1_000)
      again = try service.pushes()
    }
    try #require(again.count == 1)
    service.answer(again[0])
    relay.advance(600_000)
    #expect(try service.pushes().isEmpty)
  }

  // MARK: crashes and several relays

  /// The relay is killed between the commit and the push. The next one on the store sends it.
  @Test func aRelayThatStartsFindsWhatIsDue() throws {
    try service.register(phone)
    try save(laptop, 1)
    let next = TestRelay(store: relay.store) { PushService.configure(&$0) }
    next.moment.wall = relay.moment.wall
    let itsService = PushService(next)
    _ = try itsService.subscribe("/p/1")
    next.advance(5_000)
    let push = try itsService.onlyPush()
    #expect(push["t"] != nil)
    next.advance(600_000)
    #expect(try itsService.pushes().isEmpty)
  }

  @Test func twoRelaysOnAStoreSendOneWake() throws {
    let pair = TestRelay(nodes: 2, areSeparateRelays: true) { PushService.configure(&$0) }
    let service = PushService(pair)
    let laptop = try pair.newAccount()
    let phone = try pair.newDevice(beside: laptop)
    try service.register(phone, node: 1)
    pair.advance(60_000)
    let saved = try HTTPClient(pair).call(
      "POST", "/v1/zones/z/records", token: laptop.token, saveBody("r", id: batch(1)))
    #expect(saved.status == 200)
    pair.advance(5_000)
    _ = try service.onlyPush()
    pair.advance(600_000)
    #expect(try service.pushes().isEmpty)
  }

  @Test func aDeviceThatIsRevokedIsNotWoken() throws {
    try service.register(phone)
    let client = HTTPClient(relay)
    let path = "/v1/devices/\(phone.credentials.device.text)"
    #expect(try client.call("DELETE", path, token: laptop.token).status == 204)
    try save(laptop, 1)
    relay.advance(3_600_000)
    #expect(try service.pushes().isEmpty)
  }
}

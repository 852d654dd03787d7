import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// The calls about subscriptions, and the devices that a commit then notifies, on two nodes.
struct SubscriptionTests {
  let relay = TestRelay(nodes: 2)

  private func put(
    _ device: TestDevice, _ id: String, _ body: String, status: Int = 201
  ) throws {
    let answer = try HTTPClient(relay).call(
      "PUT", "/v1/subscriptions/\(id)", token: device.token, body)
    #expect(answer.status == status, "\(answer.json?.text ?? "")")
  }

  private func remove(_ device: TestDevice, _ id: String) throws {
    let answer = try HTTPClient(relay).call(
      "DELETE", "/v1/subscriptions/\(id)", token: device.token)
    #expect(answer.status == 204)
  }

  private func save(_ device: TestDevice, _ number: Int, zone: String = "z") throws {
    let response = try HTTPClient(relay, node: number % 2).call(
      "POST", "/v1/zones/\(zone)/records", token: device.token,
      saveBody("r\(number)", id: batch(number)))
    try #require(response.status == 200)
  }

  private func start(_ device: TestDevice) throws -> ChangeToken {
    try page(of: HTTPClient(relay).call("GET", "/v1/changes", token: device.token))
      .token
  }

  private func page(of response: HTTPClient.Response?) throws -> ChangePage {
    try ChangePage.decoded(body: #require(response).body)
  }

  /// Returns the names in the pages received, and checks that they form a chain from `cursor` on.
  private func names(_ socket: SocketClient, _ cursor: inout ChangeToken) throws -> [String] {
    var names: [String] = []
    for message in try socket.all() {
      guard case .changes(nil, let page) = message else {
        Issue.record("\(message) came")
        continue
      }
      #expect(page.since == cursor)
      cursor = page.token
      names += page.changes.map(\.name.text)
    }
    return names
  }

  // MARK: calls

  @Test func theyAreMadeReadReplacedAndRemoved() throws {
    let device = try relay.newAccount()
    let other = try relay.newDevice(beside: device)
    let client = HTTPClient(relay)
    let path = "/v1/subscriptions/a%2Fb"
    #expect(try client.call("GET", path, token: device.token).status == 404)
    let made = try client.call("PUT", path, token: device.token, #"{"kind":"zone","zone":"z"}"#)
    #expect(made.status == 201)
    #expect(made.json == ["id": "a/b", "kind": "zone", "zone": "z"])
    let replaced = try client.call(
      "PUT", path, token: device.token, #"{"kind":"query","recordType":"t"}"#)
    #expect(replaced.status == 200)
    let read = try client.call("GET", path, token: device.token)
    #expect(read.status == 200)
    #expect(
      read.json == [
        "id": "a/b", "kind": "query", "recordType": "t", "events": ["create", "update", "delete"],
      ])
    #expect(replaced.json == read.json)
    try put(device, "0", #"{"kind":"database"}"#)
    let list = try client.call("GET", "/v1/subscriptions", token: device.token)
    #expect(list.json?["subscriptions"]?.array?.map { $0["id"] } == ["0", "a/b"])
    // Subscriptions belong to one device.
    #expect(try client.call("GET", path, token: other.token).status == 404)
    #expect(
      try client.call("GET", "/v1/subscriptions", token: other.token).json
        == ["subscriptions": []])
    #expect(try client.call("DELETE", path, token: other.token).status == 404)
    #expect(try client.call("DELETE", path, token: device.token).status == 204)
    #expect(try client.call("DELETE", path, token: device.token).status == 404)
    #expect(try client.call("GET", path).status == 401)
    let wrong = try client.call("PUT", path, token: device.token, #"{"kind":"zone"}"#)
    #expect(wrong.code == "badRequest")
    #expect(
      try client.call("POST", path, token: device.token).headers["Allow"]
        == "GET, HEAD, PUT, DELETE, OPTIONS")
  }

  @Test func theirNumberAndSizeAreBounded() throws {
    let device = try relay.newAccount()
    for number in 0..<Limits.subscriptionsPerDevice {
      try put(device, "s\(number)", #"{"kind":"zone","zone":"z"}"#)
    }
    let client = HTTPClient(relay)
    let more = try client.call(
      "PUT", "/v1/subscriptions/more", token: device.token, #"{"kind":"database"}"#)
    #expect(more.status == 403)
    #expect(more.code == "tooManySubscriptions")
    try put(device, "s0", #"{"kind":"zone","zone":"y"}"#, status: 200)
    for (excess, status) in [(0, 200), (1, 413)] {
      let start = #"{"kind":"zone","zone":"z"}"#
      let filling = Limits.subscriptionBytes + excess - start.utf8.count
      let answer = try HTTPClient(relay).call(
        "PUT", "/v1/subscriptions/s1", token: device.token,
        start + String(repeating: " ", count: filling))
      #expect(answer.status == status)
    }
  }

  // MARK: sockets

  @Test func whatMatchesNothingIsNotTold() throws {
    let device = try relay.newAccount()
    let other = try relay.newDevice(beside: device)
    var cursor = try start(device)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#)
    let sockets = try (0...1).map { try SocketClient(relay, node: $0, as: device, since: cursor) }
    let hinted = try SocketClient(relay, as: device)
    var cursors = [cursor, cursor]
    let plain = try SocketClient(relay, node: 1, as: other, since: cursor)
    try save(other, 1, zone: "b")
    try save(other, 2, zone: "b")
    for socket in sockets + [hinted] { #expect(try socket.all().isEmpty) }
    #expect(try names(plain, &cursor) == ["r1", "r2"])
    try save(other, 3, zone: "a")
    for index in 0...1 {
      #expect(try names(sockets[index], &cursors[index]) == ["r1", "r2", "r3"])
    }
    guard case .changed(let token)? = try hinted.next() else {
      Issue.record("no hint came")
      return
    }
    #expect(token == cursors[0])
    // The next matching change follows the cursor, and is pushed directly.
    try save(other, 4, zone: "a")
    for index in 0...1 { #expect(try names(sockets[index], &cursors[index]) == ["r4"]) }
  }

  @Test func anOwnSaveIsAnsweredInTheChain() throws {
    let device = try relay.newAccount()
    let other = try relay.newDevice(beside: device)
    let cursor = try start(device)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#)
    let socket = try SocketClient(relay, as: device, since: cursor)
    socket.call(.save(ownSave("own", zone: "b", 1)))
    guard case .saved(_, let first)? = try socket.next() else {
      Issue.record("no answer came")
      return
    }
    #expect(first.since == cursor)
    try save(other, 2, zone: "b")
    socket.call(.save(ownSave("own", zone: "b", 3)))
    guard case .changes(nil, let page)? = try socket.next(),
      case .saved(_, let second)? = try socket.next()
    else {
      Issue.record("what came before it did not come first")
      return
    }
    #expect(page.since == first.token)
    #expect(page.changes.map(\.name.text) == ["r2", "own"])
    #expect(second.since == page.token && second.token == page.token)
  }

  private func ownSave(_ name: String, zone: String, _ number: Int) -> SaveRequest {
    RelayTests.save(name, zone: zone, id: batch(number))
  }

  @Test func whatWasMissedComesFirstWhateverItIs() throws {
    let device = try relay.newAccount()
    var cursor = try start(device)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#)
    try save(device, 1, zone: "b")
    let socket = try SocketClient(relay, node: 1, as: device, since: cursor)
    #expect(try names(socket, &cursor) == ["r1"])
  }

  @Test func changesTakeEffectAtOnce() throws {
    let device = try relay.newAccount()
    let other = try relay.newDevice(beside: device)
    var cursor = try start(device)
    let socket = try SocketClient(relay, node: 1, as: device, since: cursor)
    try save(other, 1, zone: "b")
    #expect(try names(socket, &cursor) == ["r1"])
    try put(device, "s", #"{"kind":"query","recordType":"t","events":["delete"]}"#)
    try save(other, 2, zone: "b")
    #expect(try names(socket, &cursor).isEmpty)
    // Changes that the former subscriptions skipped are sent with the new ones.
    try put(device, "s", #"{"kind":"query","recordType":"t"}"#, status: 200)
    #expect(try names(socket, &cursor) == ["r2"])
    try put(device, "s", #"{"kind":"zone","zone":"c"}"#, status: 200)
    try put(device, "u", #"{"kind":"zone","zone":"d"}"#)
    try save(other, 3, zone: "b")
    #expect(try names(socket, &cursor).isEmpty)
    try remove(device, "s")
    #expect(try names(socket, &cursor) == ["r3"])
    try save(other, 4, zone: "b")
    #expect(try names(socket, &cursor).isEmpty)
    // Without subscriptions everything matches again.
    try remove(device, "u")
    #expect(try names(socket, &cursor) == ["r4"])
    try save(other, 5, zone: "b")
    #expect(try names(socket, &cursor) == ["r5"])
    #expect(
      relay.entries[1].node.services.hub.watchers(of: device.credentials.account)?.filters == nil)
  }

  @Test func conditionsAndEventsDecide() throws {
    let device = try relay.newAccount()
    let other = try relay.newDevice(beside: device)
    var cursor = try start(device)
    try put(
      device, "s", #"{"kind":"query","recordType":"t","where":{"v":2},"events":["update"]}"#)
    let socket = try SocketClient(relay, node: 1, as: device, since: cursor)
    func save(_ number: Int, value: Int) throws {
      _ = try HTTPClient(relay).call(
        "POST", "/v1/zones/z/records", token: other.token,
        saveBody("r", value: value, id: batch(number)))
    }
    try save(1, value: 2)
    try save(2, value: 1)
    #expect(try names(socket, &cursor).isEmpty)
    try save(3, value: 2)
    // Each record once, in its newest version.
    #expect(try names(socket, &cursor) == ["r"])
  }

  // MARK: long-polls

  private func park(
    _ device: TestDevice, node: Int = 0, _ query: String
  ) -> HTTPClient {
    let client = HTTPClient(relay, node: node)
    client.send("GET", "/v1/changes?\(query)", token: device.token)
    relay.runUntilIdle()
    return client
  }

  @Test func aPollSleepsThroughWhatMatchesNothing() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#)
    let polls = (0...1).map { park(device, node: $0, "wait=60&since=\(since.text)") }
    try save(device, 1, zone: "b")
    for poll in polls { #expect(try poll.next() == nil) }
    // A poll that comes now must skip the existing changes.
    let late = park(device, node: 1, "wait=60&since=\(since.text)")
    #expect(try late.next() == nil)
    #expect(try page(of: park(device, "since=\(since.text)").next()).changes.count == 1)
    try save(device, 2, zone: "a")
    for poll in polls + [late] {
      let page = try page(of: poll.next())
      #expect(page.since == since)
      #expect(page.changes.map(\.name.text) == ["r1", "r2"])
    }
    // An existing change that matches is sent at once.
    #expect(try park(device, "wait=60&since=\(since.text)").next() != nil)
  }

  @Test func aWaitThatPassedOverSomethingEndsWhereItBegan() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#)
    let early = park(device, "wait=2&since=\(since.text)")
    try save(device, 1, zone: "b")
    let late = park(device, node: 1, "wait=2&since=\(since.text)")
    relay.advance(2_000)
    for poll in [early, late] {
      let page = try page(of: poll.next())
      #expect(page.since == since && page.token == since)
      #expect(page.changes.isEmpty && !page.more)
    }
    let own = park(device, "wait=60&zone=b&since=x")
    #expect(try own.next()?.status == 400)
  }

  @Test func aPollOfAZoneNeedsBoth() throws {
    let device = try relay.newAccount()
    try put(device, "s", #"{"kind":"query","recordType":"t","where":{"v":2}}"#)
    let first = try page(
      of: HTTPClient(relay).call("GET", "/v1/changes?zone=a", token: device.token))
    let poll = park(device, "wait=60&zone=a&since=\(first.token.text)")
    func save(_ number: Int, _ zone: String, value: Int) throws {
      _ = try HTTPClient(relay).call(
        "POST", "/v1/zones/\(zone)/records", token: device.token,
        saveBody("r\(number)", value: value, id: batch(number)))
    }
    try save(1, "a", value: 1)
    try save(2, "b", value: 2)
    #expect(try poll.next() == nil)
    try save(3, "a", value: 2)
    #expect(try page(of: poll.next()).changes.map(\.name.text) == ["r1", "r3"])
  }

  @Test func aBacklogLongerThanAPageIsAnAnswer() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#)
    try save(device, 1, zone: "b")
    try save(device, 2, zone: "b")
    let page = try page(of: park(device, "wait=60&limit=1&since=\(since.text)").next())
    #expect(page.changes.count == 1 && page.more)
  }

  @Test func otherSubscriptionsLookAgainAtWhatAPollPassedOver() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#)
    let poll = park(device, node: 1, "wait=60&since=\(since.text)")
    try save(device, 1, zone: "b")
    try put(device, "s", #"{"kind":"zone","zone":"c"}"#, status: 200)
    #expect(try poll.next() == nil)
    try put(device, "s", #"{"kind":"zone","zone":"b"}"#, status: 200)
    #expect(try page(of: poll.next()).changes.map(\.name.text) == ["r1"])
    let again = park(device, node: 1, "wait=60&since=\(since.text)&zone=")
    #expect(try again.next()?.status == 400)
    let last = park(device, node: 1, "wait=60&since=\(since.text)&limit=5")
    #expect(try last.next() != nil)
    try put(device, "s", #"{"kind":"zone","zone":"a"}"#, status: 200)
    let sleeping = park(device, node: 1, "wait=60&since=\(since.text)")
    #expect(try sleeping.next() == nil)
    try remove(device, "s")
    #expect(try page(of: sleeping.next()).changes.count == 1)
  }

  @Test func aPollThatIsBeingReadHearsWhatWakesIt() throws {
    let device = try relay.newAccount()
    try put(device, "s", #"{"kind":"query","recordType":"t","where":{"v":2}}"#)
    let poll = HTTPClient(relay)
    // Of one zone, so that the relay must read the store.
    let since = try page(of: poll.call("GET", "/v1/changes?zone=z", token: device.token)).token
    poll.send("GET", "/v1/changes?wait=60&zone=z&since=\(since.text)", token: device.token)
    // The store is read; then one commit makes the record match, and the next undoes that.
    #expect(relay.runRead(0))
    for (number, value) in [(1, 2), (2, 1)] {
      let saver = HTTPClient(relay, node: 1)
      saver.send(
        "POST", "/v1/zones/z/records", token: device.token,
        Array(saveBody("r", value: value, id: batch(number)).utf8))
      #expect(relay.runRead(1))
      #expect(relay.deliverRead(1))
      relay.runCommits(1)
    }
    while relay.deliverCommitEvent(0) {}
    relay.runUntilIdle()
    let page = try page(of: poll.next())
    #expect(page.changes.map(\.tag) == [2])
  }
}

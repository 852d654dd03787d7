import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// `GET /v1/changes` with `wait`.
struct LongPollTests {
  let relay = TestRelay()

  private func start(_ device: TestDevice) throws -> ChangeToken {
    try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body
    ).token
  }

  private func park(_ device: TestDevice, _ query: String) -> HTTPClient {
    let client = HTTPClient(relay)
    client.send("GET", "/v1/changes?\(query)", token: device.token)
    relay.runUntilIdle()
    return client
  }

  private func save(_ device: TestDevice, _ number: Int, zone: String = "z") throws {
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/\(zone)/records", token: device.token,
      saveBody("r\(number)", id: batch(number)))
    try #require(response.status == 200)
  }

  @Test func aCommitAnswersAllThatWait() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let polls = (0..<3).map { _ in park(device, "wait=60&since=\(since.text)") }
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 3)
    try save(device, 1)
    for poll in polls {
      let response = try #require(try poll.next())
      let page = try ChangePage.decoded(body: response.body)
      #expect(page.since == since)
      #expect(page.changes.map(\.name.text) == ["r1"])
      #expect(!page.more)
      #expect(!poll.isClosed)
      #expect(try poll.call("GET", "/v1/time").status == 200)
    }
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 0)
    #expect(relay.entries[0].node.services.status.pushes == 3)
  }

  @Test func theWaitEndsEmpty() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let poll = park(device, "wait=2&since=\(since.text)")
    relay.advance(1_999)
    #expect(try poll.next() == nil)
    relay.advance(1)
    let page = try ChangePage.decoded(body: #require(try poll.next()).body)
    #expect(page.changes.isEmpty && page.token == since && page.since == since)
  }

  @Test func thereMayBeSomethingAtOnce() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    try save(device, 1)
    #expect(try park(device, "wait=60&since=\(since.text)").next()?.status == 200)
    // A poll without a token is a snapshot, which never waits.
    #expect(try park(device, "wait=60").next()?.status == 200)
  }

  @Test func aZoneHearsOnlyOfItself() throws {
    let device = try relay.newAccount()
    try save(device, 1, zone: "a")
    let first = try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes?zone=a", token: device.token).body)
    let poll = park(device, "wait=60&zone=a&since=\(first.token.text)")
    try save(device, 2, zone: "b")
    #expect(try poll.next() == nil)
    try save(device, 3, zone: "a")
    let page = try ChangePage.decoded(body: #require(try poll.next()).body)
    #expect(page.changes.map(\.name.text) == ["r3"])
    let mixed = try HTTPClient(relay).call(
      "GET", "/v1/changes?since=\(page.token.text)", token: device.token)
    #expect(mixed.status == 410)
    #expect(mixed.code == "filterChanged")
  }

  @Test func aSmallPageGetsItsOwnAnswer() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let small = park(device, "wait=60&limit=1&since=\(since.text)")
    let body =
      #"{"id":"\#(batch(9).text)","records":[{"name":"a","type":"t","fields":{},"modifiedAt":1},"#
      + #"{"name":"b","type":"t","fields":{},"modifiedAt":1}]}"#
    _ = try HTTPClient(relay).call("POST", "/v1/zones/z/records", token: device.token, body)
    let page = try ChangePage.decoded(body: #require(try small.next()).body)
    #expect(page.changes.count == 1)
    #expect(page.more)
  }

  @Test func requestsBehindAPollWaitForIt() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let poll = park(device, "wait=60&since=\(since.text)")
    poll.send("GET", "/v1/time")
    relay.runUntilIdle()
    #expect(try poll.next() == nil)
    try save(device, 1)
    #expect(try poll.next()?.json?["changes"] != nil)
    #expect(try poll.next()?.json?["time"] != nil)
  }

  @Test func aPollThatIsCutIsForgotten() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let poll = park(device, "wait=60&since=\(since.text)")
    relay.cut(poll.id)
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 0)
    try save(device, 1)
    #expect(relay.entries[0].node.services.status.pushes == 0)
  }

  @Test func whatStandsBehindAPollThatIsRefusedIsRead() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.storeRequests = 1
    }
    let device = try relay.newAccount()
    let page = try HTTPClient(relay).call("GET", "/v1/changes?zone=z", token: device.token)
    let since = try ChangePage.decoded(body: page.body).token
    let poll = HTTPClient(relay)
    poll.send("GET", "/v1/changes?wait=60&zone=z&since=\(since.text)", token: device.token)
    relay.runUntilIdle()
    poll.send("GET", "/v1/time")
    // The save still counts as a store request when the poll is to be read again.
    let saved = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(1)))
    #expect(saved.status == 200)
    #expect(try poll.next()?.code == "overloaded")
    #expect(try poll.next()?.status == 200)
  }

  // MARK: without a read of the store

  @Test func whoStandsWhereTheAccountDoesWaitsUnread() throws {
    let device = try relay.newAccount()
    let saver = HTTPClient(relay)
    let poll = park(device, "wait=60&since=\(try start(device).text)")
    for number in 1...3 {
      saver.send(
        "POST", "/v1/zones/z/records", token: device.token,
        Array(saveBody("r\(number)", id: batch(number)).utf8))
      relay.runUntilIdle()
      let page = try ChangePage.decoded(body: #require(try poll.next()).body)
      #expect(page.changes.map(\.name.text) == ["r\(number)"])
      let reads = relay.readsDone
      poll.send("GET", "/v1/changes?wait=60&since=\(page.token.text)", token: device.token)
      relay.runUntilIdle()
      #expect(relay.readsDone == reads)
      #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 1)
    }
    relay.advance(60_000)
    #expect(try ChangePage.decoded(body: #require(try poll.next()).body).changes.isEmpty)
  }

  @Test func aCommitThatIsDurableAndNotHeardOfAnswersAPollThatWaitsUnread() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let (saver, poll) = (HTTPClient(relay), HTTPClient(relay))
    for client in [saver, poll] {
      _ = try client.call("GET", "/v1/changes", token: device.token)
    }
    saver.send(
      "POST", "/v1/zones/z/records", token: device.token,
      Array(saveBody("r1", id: batch(1)).utf8))
    relay.runCommits(1)
    let reads = relay.readsDone
    poll.send("GET", "/v1/changes?wait=60&since=\(since.text)", token: device.token)
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 1)
    relay.runUntilIdle()
    #expect(relay.readsDone == reads)
    let page = try ChangePage.decoded(body: #require(try poll.next()).body)
    #expect(page.changes.map(\.name.text) == ["r1"])
  }

  @Test func whoIsBehindOrAsksForAZoneIsReadFor() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let poll = park(device, "wait=60&since=\(since.text)")
    try save(device, 1)
    _ = try poll.next()
    let reads = relay.readsDone
    poll.send("GET", "/v1/changes?wait=60&since=\(since.text)", token: device.token)
    relay.runUntilIdle()
    #expect(try ChangePage.decoded(body: #require(try poll.next()).body).changes.count == 1)
    poll.send("GET", "/v1/changes?wait=60&zone=z&since=\(since.text)", token: device.token)
    relay.runUntilIdle()
    #expect(try poll.next()?.code == "filterChanged")
    #expect(relay.readsDone == reads + 2)
  }

  @Test func whoEndsItsStreamBehindAPollIsAnsweredAtOnce() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let poll = park(device, "wait=60&since=\(since.text)")
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 1)
    let connections = relay.entries[0].node.services.currentStatus.connections
    relay.endWriting(poll.id)
    let answer = try #require(try poll.next())
    #expect(answer.headers["Connection"] == "close")
    let page = try ChangePage.decoded(body: answer.body)
    #expect(page.changes.isEmpty && page.token == since)
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 0)
    #expect(relay.entries[0].node.services.currentStatus.connections == connections - 1)
  }

  @Test func aPollThatIsReadForLearnsOfNoEndBeforeItWaits() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    let poll = HTTPClient(relay)
    poll.send("GET", "/v1/changes?wait=60&since=\(since.text)", token: device.token)
    #expect(relay.wire(poll.id).isPaused)
    relay.runUntilIdle()
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 1)
    #expect(!relay.wire(poll.id).isPaused)
  }
}

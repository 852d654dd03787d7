import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// `GET /v1/events`.
struct EventsTests {
  let relay = TestRelay()

  private func start(_ device: TestDevice) throws -> ChangeToken {
    try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body
    ).token
  }

  private func save(_ device: TestDevice, _ number: Int, size: Int = 1) throws {
    let text = String(repeating: "x", count: size)
    let body =
      #"{"id":"\#(batch(number).text)","records":[{"name":"r\#(number)","type":"t","#
      + #""fields":{"v":"\#(text)"},"modifiedAt":1}]}"#
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token, body)
    try #require(response.status == 200)
  }

  private func page(_ event: RelayEvent?) throws -> ChangePage {
    guard case .changes(let page)? = event else {
      throw Refusal(.internalError, "\(String(describing: event)) where changes should be")
    }
    return page
  }

  private var node: RelayStatus { relay.entries[0].node.services.currentStatus }

  // MARK: start

  @Test func withoutATokenAStreamBeginsAtTheNewestOne() throws {
    let device = try relay.newAccount()
    try save(device, 1)
    let newest = try start(device)
    let stream = EventsClient(relay, as: device)
    let first = try page(stream.next())
    #expect(first == ChangePage(nothingSince: newest))
    #expect(stream.lastID == newest.text)
    #expect(stream.head?.status == 200)
    #expect(stream.head?.headers["Content-Type"] == "text/event-stream")
    #expect(stream.head?.headers["X-Accel-Buffering"] == "no")
    #expect(stream.head?.headers["Cache-Control"]?.contains("no-store") == true)
    #expect(
      stream.head?.headers["Access-Control-Expose-Headers"]
        == "ETag, Retry-After, Lockstep-Keep-Alive")
    #expect(stream.head?.headers["Lockstep-Keep-Alive"] == "25000")
    #expect(stream.head?.framing == .chunked)
    #expect(try stream.next() == nil)
    #expect(!stream.isWhole && !stream.isClosed)
    #expect(node.streams == 1)
  }

  @Test func whatWasMissedComesFirstAndThenEachCommit() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    try save(device, 1)
    let stream = EventsClient(relay, as: device, since: since)
    let missed = try page(stream.next())
    #expect(missed.since == since)
    #expect(missed.changes.map(\.name.text) == ["r1"])
    var cursor = missed.token
    for number in 2...5 {
      try save(device, number)
      let push = try page(stream.next())
      #expect(push.since == cursor)
      #expect(push.changes.map(\.name.text) == ["r\(number)"])
      #expect(stream.lastID == push.token.text)
      cursor = push.token
    }
    #expect(relay.entries[0].node.services.status.pushes == 4)
  }

  @Test func theLastEventIDGoesBeforeSince() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    try save(device, 1)
    let later = try start(device)
    try save(device, 2)
    for number in 0...1 {
      let stream = EventsClient(
        relay, as: device, since: number == 0 ? since : nil, lastEventID: later.text)
      #expect(try page(stream.next()).changes.map(\.name.text) == ["r2"])
    }
    let empty = EventsClient(relay, as: device, since: since, lastEventID: "")
    #expect(try page(empty.next()).changes.count == 2)
    let broken = EventsClient(relay, as: device, since: since, lastEventID: "x")
    #expect(try broken.all().isEmpty)
    #expect(broken.head?.status == 400)
    #expect(broken.code == "badChangeToken")
  }

  @Test func aLongBacklogComesInPages() throws {
    let device = try relay.newAccount()
    let since = try start(device)
    for number in 1...5 { try save(device, number, size: 600 << 10) }
    let stream = EventsClient(relay, as: device, since: since)
    var cursor = since
    var names: [String] = []
    let pages = try stream.all().map { try page($0) }
    for page in pages {
      #expect(page.since == cursor)
      cursor = page.token
      names += page.changes.map(\.name.text)
    }
    #expect(pages.count > 1)
    #expect(pages.map(\.more) == pages.dropLast().map { _ in true } + [false])
    #expect(names == (1...5).map { "r\($0)" })
  }

  @Test func aTokenThatCannotBeFollowedIsAProblem() throws {
    let device = try relay.newAccount()
    let other = try relay.newAccount()
    try save(device, 1)
    let ofZone = try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes?zone=z", token: device.token).body
    ).token
    for (since, status, code) in [
      (try start(other), 400, "badChangeToken"), (ofZone, 410, "filterChanged"),
    ] {
      let stream = EventsClient(relay, as: device, since: since)
      #expect(try stream.all().isEmpty)
      #expect(stream.head?.status == status)
      #expect(stream.code == code)
      #expect(!stream.isClosed)
    }
    #expect(node.streams == 0)
    let stranger = TestDevice(
      credentials: Credentials(
        account: device.credentials.account, device: device.credentials.device, token: "wrong"))
    let refused = EventsClient(relay, as: stranger)
    #expect(try refused.all().isEmpty)
    #expect(refused.head?.status == 401)
    #expect(try HTTPClient(relay).call("GET", "/v1/events").status == 401)
    let bad = try HTTPClient(relay).call("GET", "/v1/events?since=x", token: device.token)
    #expect(bad.code == "badChangeToken")
    #expect(try HTTPClient(relay).call("POST", "/v1/events", token: device.token).status == 405)
  }

  @Test func headIsAnsweredWithTheHeadAlone() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let response = try client.call("HEAD", "/v1/events", token: device.token)
    #expect(response.status == 200)
    #expect(response.headers["Content-Type"] == "text/event-stream")
    #expect(response.headers["Content-Length"] == nil)
    #expect(response.body.isEmpty)
    #expect(!client.isClosed)
    #expect(node.streams == 0)
    #expect(try client.call("GET", "/v1/time").status == 200)
    #expect(try client.call("HEAD", "/v1/events").status == 401)
  }

  @Test func anOldClientsStreamEndsWithItsConnection() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, as: device, minorVersion: 0)
    #expect(try page(stream.next()).changes.isEmpty)
    #expect(stream.head?.framing == .untilClose)
    let other = EventsClient(relay, as: device)
    _ = try other.next()
    try save(device, 1)
    #expect(try page(stream.next()) == page(other.next()))
    relay.advance(30_000)
    try stream.take()
    relay.deliver(0, .stopping)
    guard case .error? = try stream.next() else {
      Issue.record("the stream ended without a word")
      return
    }
    #expect(stream.isClosed)
  }

  // MARK: commits

  @Test func allStreamsShareTheBytesOfAPush() throws {
    let device = try relay.newAccount()
    let streams = (0..<5).map { _ in EventsClient(relay, as: device) }
    for stream in streams { _ = try stream.all() }
    let request = saveBody("r", id: batch(1))
    let saver = HTTPClient(relay)
    _ = try saver.call("GET", "/v1/devices", token: device.token)
    saver.send("POST", "/v1/zones/z/records", token: device.token, Array(request.utf8))
    relay.runCommits(1)
    relay.entries[0].node.handle(relay.entries[0].commitEvents.removeFirst(), at: relay.moment)
    guard case .multicast(let bytes, let ids)? = relay.entries[0].node.nextAction() else {
      Issue.record("the push was not shared")
      return
    }
    #expect(ids == streams.map(\.id))
    #expect(relay.entries[0].node.nextAction() == nil)
    for stream in streams {
      relay.wire(stream.id).incoming += bytes
      #expect(try page(stream.next()).changes.map(\.name.text) == ["r"])
    }
  }

  @Test func aDeviceHearsOfItsOwnSaves() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, as: device)
    _ = try stream.all()
    let socket = try SocketClient(relay, as: device)
    socket.call(.save(RelayTests.save("r", id: batch(1))))
    #expect(try page(stream.next()).changes.map(\.name.text) == ["r"])
  }

  @Test func aCommitWhileTheFirstPageIsReadIsNotMissed() throws {
    let device = try relay.newAccount()
    let warm = EventsClient(relay, as: device)
    let since = try page(warm.next()).token
    let stream = EventsClient(relay, as: device, since: since, settles: false)
    // The sign-in is read.
    #expect(relay.runRead(0) && relay.deliverRead(0))
    // The missed changes are read: none so far.
    #expect(relay.runRead(0))
    let answer = relay.entries[0].readEvents.removeFirst()
    try save(device, 1)
    relay.deliver(0, answer)
    relay.runUntilIdle()
    let events = try stream.all().map { try page($0) }
    #expect(events.first == ChangePage(nothingSince: since))
    #expect(events.last?.changes.map(\.name.text) == ["r1"])
    #expect(events.last?.since == since)
  }

  @Test func aLargeChangeIsAHintAndComesWithTheNext() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, as: device)
    let start = try page(stream.next()).token
    try save(device, 1, size: Limits.pushBytes)
    guard case .changed(let token)? = try stream.next() else {
      Issue.record("no hint came")
      return
    }
    #expect(token.sequence == 1)
    #expect(stream.lastID == start.text, "who comes back begins before what was hinted")
    #expect(relay.entries[0].node.services.status.hints == 1)
    try save(device, 2)
    let next = try page(stream.next())
    #expect(next.since == start)
    #expect(next.changes.map(\.name.text) == ["r1", "r2"])
    try save(device, 3)
    #expect(try page(stream.next()).since == next.token)
  }

  @Test func aBacklogThatCannotBeReadIsAHint() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, as: device)
    let start = try page(stream.next()).token
    try save(device, 1, size: Limits.pushBytes)
    relay.readFault = .readOnly(path: "x")
    relay.commits.removeAll()
    try saveWithoutReading(device, 2)
    let hints = try stream.all().map { event in
      guard case .changed(let token) = event else { return Int64(-1) }
      return token.sequence
    }
    #expect(hints == [1, 2])
    relay.readFault = nil
    try save(device, 3)
    let next = try page(stream.next())
    #expect(next.since == start)
    #expect(next.changes.count == 3)
  }

  /// Saves on a connection that signed in before the reads failed.
  private func saveWithoutReading(_ device: TestDevice, _ number: Int) throws {
    relay.readFault = nil
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/devices", token: device.token)
    relay.readFault = .readOnly(path: "x")
    let response = try client.call(
      "POST", "/v1/zones/z/records", token: device.token,
      saveBody("r\(number)", id: batch(number)))
    try #require(response.status == 200)
  }
}

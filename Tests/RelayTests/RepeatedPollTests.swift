import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// A client that polls repeatedly with the same head, except for its token.
struct RepeatedPollTests {
  // MARK: bytes that count as a repetition

  private func head(_ text: String) throws -> HTTPRequestHead {
    var parser = HTTPRequestParser()
    parser.receive(Array(text.utf8).span.bytes)
    guard case .head(let head) = try parser.next() else {
      throw Refusal(.badRequest, "That is no head.")
    }
    return head
  }

  private func text(since: String, tail: String = "&wait=50", fields: String = "") -> String {
    "GET /v1/changes?since=\(since)\(tail) HTTP/1.1\r\nHost: relay\r\n"
      + "Authorization: Bearer secret\r\n\(fields)\r\n"
  }

  private func form(_ text: String, since: String, zone: String? = nil) throws -> RepeatedPoll? {
    let query = FetchQuery(
      since: ChangeToken(text: since), zone: zone.map { Name(trusted: $0) },
      waitMilliseconds: 50_000)
    return RepeatedPoll(try head(text), query)
  }

  private func since(_ form: RepeatedPoll?, in text: String) -> String? {
    form?.since(in: Array(text.utf8).span.bytes)?.text
  }

  @Test func onlyTheTokenMayDiffer() throws {
    let form = try form(text(since: "a1.9"), since: "a1.9")
    #expect(since(form, in: text(since: "a1.9")) == "a1.9")
    #expect(since(form, in: text(since: "a1.10")) == "a1.10")
    #expect(since(form, in: text(since: "b.123456789.h123456790")) == "b.123456789.h123456790")
    for other in [
      "", "G", String(text(since: "a1.9").dropLast()), text(since: "a1.9") + "G",
      text(since: ""), text(since: "a1.09"), text(since: "a1.9%20"), text(since: "a1.9&limit=1"),
      text(since: "a1.9 HTTP/1.1\r\nX: y"), text(since: "a1.9", tail: "&wait=51"),
      text(since: "a1.9", fields: "X-A: b\r\n"),
      text(since: "a1.9").replacing("secret", with: "Secret", maxReplacements: 1),
      text(since: "a1.9").replacing("GET", with: "PUT", maxReplacements: 1),
    ] {
      #expect(since(form, in: other) == nil, "\(other)")
    }
  }

  @Test func whatIsNotOnesToRepeatHasNoForm() throws {
    #expect(try form(text(since: "a.1", tail: "&zone=z"), since: "a.1", zone: "z") == nil)
    #expect(try form(text(since: "a.1", fields: "Connection: close\r\n"), since: "a.1") == nil)
    #expect(try form(text(since: "a.1", fields: "Content-Length: 2\r\n"), since: "a.1") == nil)
    let old = text(since: "a.1").replacing("HTTP/1.1", with: "HTTP/1.0", maxReplacements: 1)
    #expect(try form(old, since: "a.1") == nil)
    // Another parameter whose name ends with `since`, before the real one.
    let like = text(since: "a.1").replacing("?", with: "?xsince=a.1&", maxReplacements: 1)
    #expect(try form(like, since: "a.1") == nil)
  }

  /// Bytes accepted as a repetition are also parsed as one, for any input.
  @Test(arguments: 0..<20)
  func whatIsTakenForARepetitionIsOne(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let tails = ["&wait=50", "", "&wait=1&limit=3", "&limit=2&wait=60"]
    let original = text(
      since: "7f.\(seed)", tail: tails[seed % 4], fields: seed % 3 == 0 ? "Accept: */*\r\n" : "")
    let form = try #require(try form(original, since: "7f.\(seed)"))
    let known = try head(original)
    let chunks = ["7f.3", "0.0", ".h9", ".p8", "&", "=", " ", "%31", "\r\n", "a", "9", "?"]
    var taken = 0
    for _ in 0..<3_000 {
      var bytes = Array(original.utf8)
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let place =
          Bool.random(using: &random)
          ? Int.random(in: 22..<32, using: &random) : Int.random(in: bytes.indices, using: &random)
        let chunk = chunks.randomElement(using: &random) ?? ""
        let end = min(bytes.count, place + Int.random(in: 0...6, using: &random))
        bytes.replaceSubrange(min(place, end)..<end, with: Array(chunk.utf8))
      }
      guard let since = form.since(in: bytes.span.bytes) else { continue }
      taken += 1
      var read = try head(String(decoding: bytes, as: UTF8.self))
      #expect(read.target["since"] == since.text)
      let index = try #require(read.target.query.firstIndex { $0.name == "since" })
      read.target.query[index].value = "7f.\(seed)"
      #expect(read == known)
    }
    #expect(taken > 0)
  }

  // MARK: on a relay

  private final class Poller {
    let relay: TestRelay
    let device: TestDevice
    let client: HTTPClient
    var token: String

    init(_ relay: TestRelay, _ device: TestDevice) throws {
      (self.relay, self.device) = (relay, device)
      client = HTTPClient(relay)
      let page = try client.call("GET", "/v1/changes", token: device.token).body
      token = try ChangePage.decoded(body: page).token.text
    }

    func ask(wait: Int = 50) {
      client.send("GET", "/v1/changes?since=\(token)&wait=\(wait)", token: device.token)
      relay.runUntilIdle()
    }

    /// Returns the answer, whose token is used for the next poll.
    func answer() throws -> ChangePage {
      let page = try ChangePage.decoded(body: #require(try client.next()).body)
      token = page.token.text
      return page
    }
  }

  private func save(_ relay: TestRelay, _ device: TestDevice, _ number: Int) throws {
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token,
      saveBody("r\(number)", id: batch(number)))
    try #require(response.status == 200)
  }

  /// Polls, saves a record that answers the poll, and keeps the token for the next one.
  private func expectChange(_ poller: Poller, of number: Int, by device: TestDevice) throws {
    poller.ask()
    try save(poller.relay, device, number)
    _ = try poller.answer()
  }

  private func isWaiting(_ relay: TestRelay) -> Bool {
    relay.entries[0].node.services.currentStatus.parkedPolls == 1
  }

  @Test func eachHearsOfWhatComesAfterItsToken() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let poller = try Poller(relay, device)
    let requests = relay.entries[0].node.services.currentStatus.requests
    for number in 1...5 {
      poller.ask()
      #expect(isWaiting(relay))
      try save(relay, device, number)
      #expect(try poller.answer().changes.map(\.name.text) == ["r\(number)"])
    }
    #expect(relay.entries[0].node.services.currentStatus.requests == requests + 10)
    #expect(!isWaiting(relay))
  }

  @Test func eachWaitIsItsOwn() throws {
    let relay = TestRelay()
    let poller = try Poller(relay, relay.newAccount())
    for _ in 0..<3 {
      poller.ask(wait: 20)
      relay.advance(19_999)
      #expect(try poller.client.next() == nil)
      relay.advance(1)
      #expect(try poller.answer().changes.isEmpty)
    }
  }

  @Test func aConnectionIsIdleFromItsLastAnswerOn() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let poller = try Poller(relay, device)
    for number in 1...2 {
      poller.ask()
      relay.advance(30_000)
      try save(relay, device, number)
      _ = try poller.answer()
    }
    relay.advance(Limits.idleMilliseconds - 1)
    #expect(!poller.client.isClosed)
    relay.advance(1)
    #expect(poller.client.isClosed)
  }

  @Test func whoIsBehindIsAnsweredAtOnce() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let poller = try Poller(relay, device)
    try expectChange(poller, of: 1, by: device)
    try save(relay, device, 2)
    poller.ask()
    #expect(try poller.answer().changes.map(\.name.text) == ["r2"])
  }

  @Test func whatComesInChunksOrWithAnotherBehindItIsRead() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let poller = try Poller(relay, device)
    try expectChange(poller, of: 1, by: device)
    let again = HTTPClient.bytes(
      "GET", "/v1/changes?since=\(poller.token)&wait=50", token: device.token)
    poller.client.expectAnswer(to: "GET")
    relay.send(poller.client.id, Array(again.prefix(40)))
    relay.send(poller.client.id, Array(again.dropFirst(40)))
    relay.runUntilIdle()
    #expect(isWaiting(relay))
    try save(relay, device, 2)
    #expect(try poller.answer().changes.map(\.name.text) == ["r2"])
    poller.ask()
    poller.client.send("GET", "/v1/time")
    relay.runUntilIdle()
    #expect(try poller.client.next() == nil)
    try save(relay, device, 3)
    #expect(try poller.answer().changes.map(\.name.text) == ["r3"])
    #expect(try poller.client.next()?.json?["time"] != nil)
  }

  @Test func whoAskedInBetweenIsNotTakenForWhoPolled() throws {
    let relay = TestRelay()
    let (device, other) = (try relay.newAccount(), try relay.newAccount())
    let poller = try Poller(relay, device)
    try expectChange(poller, of: 1, by: device)
    // A proxy uses the connection for another client in between.
    #expect(try poller.client.call("GET", "/v1/devices", token: other.token).status == 200)
    poller.ask()
    #expect(isWaiting(relay))
    try save(relay, device, 2)
    #expect(try poller.answer().changes.map(\.name.text) == ["r2"])
  }

  @Test func whoMayNotPollAnyMoreIsToldSo() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let poller = try Poller(relay, relay.newDevice(beside: device))
    try expectChange(poller, of: 1, by: device)
    let account = device.credentials.account
    relay.deliver(0, .news(.planChanged(account, Plan(zones: []))))
    poller.ask()
    #expect(try poller.client.next()?.status == 402)
    relay.deliver(0, .news(.planChanged(account, .everything)))
    try expectChange(poller, of: 2, by: device)
    let id = poller.device.credentials.device.text
    let revoked = try HTTPClient(relay).call("DELETE", "/v1/devices/\(id)", token: device.token)
    #expect(revoked.status == 204)
    poller.ask()
    #expect(poller.client.isClosed)
  }

  @Test func whoPollsTooOftenIsToldSo() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.requestsPerSecondPerDevice = 1
      $0.limits.requestBurstPerDevice = 4
    }
    let device = try relay.newAccount()
    let poller = try Poller(relay, device)
    let saver = try relay.newDevice(beside: device)
    relay.advance(10_000)
    for number in 1...4 {
      try expectChange(poller, of: number, by: saver)
      relay.advance(number < 4 ? 300 : 0)
    }
    poller.ask()
    relay.advance(Limits.rateLimitDelayMilliseconds)
    #expect(try poller.client.next()?.status == 429)
    #expect(!isWaiting(relay))
    relay.advance(1_000)
    poller.ask()
    #expect(isWaiting(relay))
  }

  @Test func anAccountHasOnlySoManyThatWait() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.connectionsPerAccount = 1
    }
    let device = try relay.newAccount()
    let (first, second) = (try Poller(relay, device), try Poller(relay, device))
    try expectChange(first, of: 1, by: device)
    second.token = first.token
    second.ask()
    first.ask()
    relay.advance(Limits.rateLimitDelayMilliseconds)
    #expect(try first.client.next()?.status == 429)
    try save(relay, device, 2)
    #expect(try second.answer().changes.map(\.name.text) == ["r2"])
  }

  @Test func eachIsNotedByItself() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.reportsRequests = true
    }
    let device = try relay.newAccount()
    let poller = try Poller(relay, device)
    for number in 1...3 {
      poller.ask()
      relay.advance(1_000)
      try save(relay, device, number)
      let bytes = try #require(try poller.client.next()).body
      poller.token = try ChangePage.decoded(body: bytes).token.text
      let note = relay.reports.compactMap { report -> AccessLogEntry? in
        guard case .answered(let note) = report, note.path == "/v1/changes" else { return nil }
        return note
      }.last
      #expect(note?.status == 200)
      #expect(note?.milliseconds == 1_000)
      #expect(note?.bytes == bytes.count)
    }
  }
}

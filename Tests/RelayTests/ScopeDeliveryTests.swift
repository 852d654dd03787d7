import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// Changes reach a device with a scope by each transport, and none of another zone does.
struct ScopeDeliveryTests {
  private static let todos = Name(trusted: "Todos")
  private static let zones = ["Todos", "Journal", "Notes"]

  /// Records that a device has received, and its position.
  private struct Received {
    var names: Set<String> = []
    var cursor: ChangeToken

    mutating func take(_ page: ChangePage) {
      for record in page.changes {
        #expect(record.zone == ScopeDeliveryTests.todos, "\(record.name) is of \(record.zone)")
        names.insert(record.name.text)
      }
      cursor = page.token
    }
  }

  private func scoped(_ relay: TestRelay, beside laptop: TestDevice) throws -> TestDevice {
    let offer = try HTTPClient(relay).call(
      "POST", "/v1/pairings", token: laptop.token, #"{"zones":["Todos"]}"#)
    let code = try PairingOffer.decoded(body: offer.body).code
    let joined = try HTTPClient(relay).call(
      "POST", "/v1/devices",
      #"{"code":"\#(code)","deviceName":"B","platform":"test","appVersion":"1"}"#)
    return TestDevice(credentials: try JoinAnswer.decoded(body: joined.body).credentials)
  }

  /// A relay reads the commits of another one together. The device has fetched the only one that
  /// concerns it before that.
  @Test func aDeviceIsNotToldOfOtherZonesBecauseOfWhatItHasRead() throws {
    let relay = TestRelay(nodes: 2, areSeparateRelays: true)
    let laptop = try relay.newAccount()
    let device = try scoped(relay, beside: laptop)
    let first = try HTTPClient(relay).call("GET", "/v1/changes", token: device.token)
    var received = Received(cursor: try page(first).token)
    let writer = try SocketClient(relay, node: 0, as: laptop, since: received.cursor)
    let socket = try SocketClient(relay, node: 1, as: device, since: received.cursor)
    writer.sendMessage(.save(save("a", zone: "Todos", id: batch(1))))
    // The announcement is lost.
    relay.runCommits(relay.commits.count)
    relay.entries[1].remoteNews.removeAll()
    relay.runUntilIdle()
    socket.call(.fetch(id: "1", FetchQuery(since: received.cursor)))
    try receive(socket, &received)
    #expect(received.names == ["a"])
    writer.call(.save(save("b", zone: "Journal", id: batch(2))))
    #expect(try socket.all().isEmpty)
    writer.call(.save(save("c", zone: "Todos", id: batch(3))))
    try receive(socket, &received)
    #expect(received.names == ["a", "c"])
  }

  private func page(_ response: HTTPClient.Response) throws -> ChangePage {
    try #require(response.status == 200)
    return try ChangePage.decoded(body: response.body)
  }

  /// Reads what has come on the socket, and fetches as long as the relay says that there is more.
  private func receive(_ socket: SocketClient, _ received: inout Received) throws {
    for turn in 0..<100 {
      var isBehind = false
      for message in try socket.all() {
        switch message {
        case .changes(_, let page):
          received.take(page)
          isBehind = isBehind || page.more
        case .changed: isBehind = true
        default: Issue.record("\(message) came")
        }
      }
      if !isBehind { return }
      socket.call(.fetch(id: "\(turn)", FetchQuery(since: received.cursor)))
    }
    Issue.record("the fetches never end")
  }

  private func receive(_ stream: EventsClient, _ received: inout Received) throws {
    for event in try stream.all() {
      switch event {
      case .changes(let page): received.take(page)
      // A device then fetches.
      case .changed: break
      default: Issue.record("\(event) came")
      }
    }
  }

  /// Several devices write, at this relay or at another one on the same store, and the news of some
  /// commits arrive together.
  @Test(arguments: [false, true], 1...12 as ClosedRange<UInt64>)
  func nothingOfAnotherZoneArrives(areSeparate: Bool, seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let relay = TestRelay(nodes: 2, areSeparateRelays: areSeparate, seed: seed) {
      $0.isOpen = true
    }
    let laptop = try relay.newAccount()
    let device = try scoped(relay, beside: laptop)
    let start = try page(HTTPClient(relay).call("GET", "/v1/changes", token: device.token)).token
    var bySocket = Received(cursor: start)
    var byStream = Received(cursor: start)
    var byPoll = Received(cursor: start)
    let socket = try SocketClient(relay, node: 1, as: device, since: start)
    let stream = EventsClient(relay, node: 1, as: device, since: start)
    let poll = HTTPClient(relay, node: 1)
    poll.send("GET", "/v1/changes?wait=60&since=\(start.text)", token: device.token)
    relay.runUntilIdle()
    var wanted: Set<String> = []
    let writers = (0..<2).map { HTTPClient(relay, node: $0) }
    for number in 1...40 {
      let zone = Self.zones[Int.random(in: 0..<Self.zones.count, using: &random)]
      if zone == "Todos" { wanted.insert("r\(number)") }
      let writer = writers[Int.random(in: 0..<2, using: &random)]
      writer.send(
        "POST", "/v1/zones/\(zone)/records", token: laptop.token,
        Array(saveBody("r\(number)", id: batch(number)).utf8))
      // Sometimes the commits of several requests are made and announced at once.
      guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
      relay.runUntilIdle()
      try receive(socket, &bySocket)
      try receive(stream, &byStream)
      if let answer = try poll.next() {
        byPoll.take(try page(answer))
        poll.send("GET", "/v1/changes?wait=60&since=\(byPoll.cursor.text)", token: device.token)
        relay.runUntilIdle()
      }
    }
    // A socket whose device does not read is closed after a while.
    for _ in 0..<4 {
      relay.runUntilIdle()
      try receive(socket, &bySocket)
      relay.advance(5_000)
    }
    try receive(socket, &bySocket)
    try receive(stream, &byStream)
    #expect(bySocket.names == wanted)
    while let answer = try poll.next() { byPoll.take(try page(answer)) }
    byPoll.take(
      try page(
        HTTPClient(relay).call(
          "GET", "/v1/changes?since=\(byPoll.cursor.text)", token: device.token)))
    #expect(byPoll.names == wanted)
    byStream.take(
      try page(
        HTTPClient(relay).call(
          "GET", "/v1/changes?since=\(byStream.cursor.text)", token: device.token)))
    #expect(byStream.names == wanted)
  }

  @Test func aSocketRefusesWhatIsOutsideAndStaysOpen() throws {
    let relay = TestRelay { $0.isOpen = true }
    let laptop = try relay.newAccount()
    let device = try scoped(relay, beside: laptop)
    let socket = try SocketClient(relay, as: device)
    socket.call(.fetch(id: "f", FetchQuery(zone: Name(trusted: "Journal"))))
    guard case .error(id: "f", let fetch)? = try socket.next() else {
      Issue.record("the fetch was not refused")
      return
    }
    #expect(fetch.code == .outOfScope)
    for (number, zone) in [(1, "Journal"), (2, "Todos")] {
      let mutation = Mutation(
        name: Name(trusted: "r"), type: Name(trusted: "t"), fields: Array("{}".utf8),
        modifiedAt: 1, baseTag: nil)
      socket.call(
        .save(
          SaveRequest(
            id: batch(number), zone: Name(trusted: zone), atomic: false, mutations: [mutation])))
    }
    guard case .error(id: batch(1).text, let save)? = try socket.next(),
      case .saved(id: batch(2), _)? = try socket.next()
    else {
      Issue.record("the saves were not answered in turn")
      return
    }
    #expect(save.code == .outOfScope && !socket.isClosed)
  }
}

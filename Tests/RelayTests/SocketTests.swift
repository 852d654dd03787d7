import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Messages that a socket gets, and the reasons for which it is closed.
struct SocketTests {
  @Test func aPlainRequestIsToldToUpgrade() throws {
    let response = try HTTPClient(TestRelay()).call("GET", "/v1/socket")
    #expect(response.status == 426)
    #expect(response.headers.list("Upgrade") == ["websocket"])
    #expect(response.headers["Sec-WebSocket-Version"] == "13")
  }

  @Test func aBadTokenInTheHeaderIsRefusedBeforeTheUpgrade() throws {
    let response = try HTTPClient(TestRelay()).call("GET", "/v1/socket", token: "wrong")
    #expect(response.status == 401)
  }

  @Test func theHeaderIsEnough() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, token: device.token)
    socket.call(.hello(token: nil, since: nil))
    guard
      case .welcome(let account, let id, let token, let time, let keepAlive)? =
        try socket.next()
    else {
      Issue.record("no welcome came")
      return
    }
    #expect(account == device.credentials.account)
    #expect(id == device.credentials.device)
    #expect(token.sequence == 0)
    #expect(time == relay.moment.wall)
    #expect(keepAlive == Limits.keepAliveMilliseconds)
  }

  @Test func whoHasMissedNothingIsWelcomedByTheSignInAlone() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let page = try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body)
    let reads = relay.readsDone
    let socket = try SocketClient(relay, as: device, since: page.token)
    #expect(relay.readsDone == reads + 1)
    _ = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(1)))
    guard case .changes(nil, let push)? = try socket.next() else {
      Issue.record("the save was not pushed")
      return
    }
    #expect(push.since == page.token)
    #expect(push.changes.map(\.name.text) == ["r"])
  }

  @Test(arguments: [false, true])
  func aCommitThatTheSignInOverlooksIsTold(isHeardBefore: Bool) throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let saver = HTTPClient(relay)
    let page = try ChangePage.decoded(
      body: saver.call("GET", "/v1/changes", token: device.token).body)
    let socket = try SocketClient(relay)
    saver.send(
      "POST", "/v1/zones/z/records", token: device.token,
      Array(saveBody("r", id: batch(1)).utf8))
    // The sign-in has been read when the commit is made, and is delivered before or after its news.
    socket.sendMessage(.hello(token: device.token, since: page.token))
    #expect(relay.runRead(0))
    relay.runCommits(1)
    #expect(isHeardBefore ? relay.deliverCommitEvent(0) : relay.deliverRead(0))
    relay.runUntilIdle()
    let messages = try socket.all()
    guard case .welcome? = messages.first else {
      Issue.record("no welcome came")
      return
    }
    guard messages.count == 2, case .changes(nil, let push)? = messages.last else {
      Issue.record("the save was not told once: \(messages)")
      return
    }
    #expect(push.since == page.token)
    #expect(push.changes.map(\.name.text) == ["r"])
  }

  @Test func aHelloMustComeInTime() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay)
    relay.advance(Limits.helloMilliseconds - 1)
    #expect(!socket.isClosed)
    relay.advance(1)
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 4408)
  }

  @Test func badHellosAreRefused() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let hellos: [(DeviceMessage, UInt16)] = [
      (.hello(token: "wrong", since: nil), 4501), (.hello(token: nil, since: nil), 4501),
      (.fetch(id: "f", FetchQuery()), 4400),
    ]
    for (message, code) in hellos {
      let socket = try SocketClient(relay)
      socket.call(message)
      #expect(try socket.all().isEmpty)
      #expect(socket.closeCode == code)
      #expect(socket.isClosed)
    }
    let other = try SocketClient(relay, token: device.token)
    other.call(.hello(token: "another", since: nil))
    #expect(try other.all().isEmpty)
    #expect(other.closeCode == 4501)
  }

  @Test(arguments: ["{", "[]", #"{"op":"dance"}"#, #"{"op":"hello"}"#, #"{"op":"save","id":"x"}"#])
  func whatIsNoMessageEndsTheSocket(text: String) throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    socket.sendText(Array(text.utf8))
    relay.runUntilIdle()
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 4400)
  }

  @Test func aFaultOfARequestAnswersTheRequest() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    socket.sendText(Array(#"{"op":"fetch","id":"f1","since":"nonsense"}"#.utf8))
    guard case .error(let id, let refusal)? = try socket.next() else {
      Issue.record("no error came")
      return
    }
    #expect(id == "f1")
    #expect(refusal.code == .badChangeToken)
    #expect(!socket.isClosed)
  }

  @Test func binaryAndBrokenFramesEndTheSocket() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let frames: [([UInt8], UInt16)] = [
      (WebSocketFrame.binary([1], mask: 1), 1003), ([0xFF, 0x80], 1002),
      (WebSocketFrame.text([0xFF], mask: 1), 1007),
    ]
    for (bytes, code) in frames {
      let socket = try SocketClient(relay, as: device)
      relay.send(socket.id, bytes)
      #expect(try socket.all().isEmpty)
      #expect(socket.closeCode == code)
    }
  }

  @Test func aCloseIsReturned() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    relay.send(socket.id, WebSocketFrame.close(code: 1000, mask: 1))
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 1000)
    #expect(relay.wire(socket.id).closed == .afterSending)
  }

  @Test func timeIsTold() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    socket.sendText(Array(#"{"op":"time","id":"t","t0":12.50}"#.utf8))
    guard case .time(let id, let t0, let t1, let t2)? = try socket.next() else {
      Issue.record("no time came")
      return
    }
    #expect(id == "t")
    #expect(t0.text == "12.50")
    #expect(t1 == relay.moment.wall && t2 == relay.moment.wall)
  }

  @Test func withoutACursorThereAreOnlyHints() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    let client = HTTPClient(relay)
    for number in 1...2 {
      _ = try client.call(
        "POST", "/v1/zones/z/records", token: device.token,
        saveBody("r\(number)", id: batch(number)))
      guard case .changed(let token)? = try socket.next() else {
        Issue.record("no hint came")
        return
      }
      #expect(token.sequence == Int64(number))
    }
  }

  @Test func whatWasMissedComesFirst() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let start = try ChangePage.decoded(
      body: client.call("GET", "/v1/changes", token: device.token).body
    ).token
    _ = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("a", id: batch(1)))
    let socket = try SocketClient(relay, as: device, since: start)
    guard case .changes(nil, let missed)? = try socket.next() else {
      Issue.record("what was missed did not come")
      return
    }
    #expect(missed.since == start)
    #expect(missed.changes.map(\.name.text) == ["a"])
    _ = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("b", id: batch(2)))
    guard case .changes(nil, let push)? = try socket.next() else {
      Issue.record("nothing was pushed")
      return
    }
    #expect(push.since == missed.token)
    #expect(try socket.next() == nil)
  }

  @Test func aSaveIsALinkAndIsNotPushedBack() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let saver = try SocketClient(relay, as: device)
    let tab = try SocketClient(relay, as: device)
    for socket in [saver, tab] {
      socket.call(.fetch(id: "f", FetchQuery()))
      _ = try socket.next()
    }
    saver.call(.save(save("r", id: batch(1))))
    let answers = try saver.all()
    guard case .saved(let id, let answer)? = answers.first, answers.count == 1 else {
      Issue.record("not one answer: \(answers)")
      return
    }
    #expect(id == batch(1))
    #expect(answer.since.sequence == 0 && answer.token.sequence == 1)
    guard case .changes(nil, let push)? = try tab.next() else {
      Issue.record("the other tab was not told")
      return
    }
    #expect(push.since == answer.since && push.token == answer.token)
    saver.call(.save(save("r", value: 2, id: batch(1))))
    guard case .error(let refusedID, let refusal)? = try saver.next() else { return }
    #expect(refusedID == batch(1).text)
    #expect(refusal.code == .batchMismatch)
  }

  @Test func aForeignCursorIsRefusedAndLeavesNone() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let foreign = ChangeToken(generation: 1, sequence: 5)
    let socket = try SocketClient(relay, as: device, since: foreign)
    guard case .error(nil, let refusal)? = try socket.next() else {
      Issue.record("the cursor was not refused")
      return
    }
    #expect(refusal.code == .badChangeToken)
    let other = try SocketClient(relay, as: device)
    other.call(.save(save("r", id: batch(1))))
    guard case .changed? = try socket.next() else {
      Issue.record("no hint came")
      return
    }
    socket.call(.fetch(id: "f", FetchQuery()))
    guard case .changes("f", let page)? = try socket.next() else { return }
    #expect(page.changes.count == 1)
  }

  @Test func twoMissedPingsEndTheSocket() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    relay.advance(4 * Limits.keepAliveMilliseconds)
    #expect(socket.isClosed)
    #expect(relay.wire(socket.id).closed == .now)
    let lively = try SocketClient(relay, as: relay.newAccount())
    for _ in 0..<10 {
      relay.advance(Limits.keepAliveMilliseconds)
      #expect(try lively.all().isEmpty)
    }
    #expect(!lively.isClosed)
    #expect(lively.pings >= 9)
  }

  @Test func messagesMayComeByteByByte() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    let frame = WebSocketFrame.text(DeviceMessage.save(save("r", id: batch(1))).encoded(), mask: 9)
    for byte in frame { relay.send(socket.id, [byte]) }
    relay.runUntilIdle()
    guard case .saved? = try socket.next() else {
      Issue.record("not saved")
      return
    }
  }

  @Test func requestsOfOneSocketAreBounded() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    for number in 1...Limits.socketRequests + 30 {
      var request = save("r\(number)", id: batch(number))
      request.mutations[0].fields = Array(#"{"v":"\#(String(repeating: "x", count: 4_000))"}"#.utf8)
      socket.sendMessage(.save(request))
    }
    #expect(relay.commits.count == Limits.socketRequests)
    #expect(relay.wire(socket.id).isPaused)
    relay.runUntilIdle()
    #expect(try socket.all().count == Limits.socketRequests + 30)
    #expect(!relay.wire(socket.id).isPaused)
  }

  @Test func aSocketDoesNotInheritWhoAskedBefore() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let second = try relay.newAccount()
    func usedByFirst() throws -> HTTPClient {
      let client = HTTPClient(relay)
      #expect(try client.call("GET", "/v1/changes", token: first.token).status == 200)
      return client
    }
    #expect(try usedByFirst().call("GET", "/v1/changes").status == 401)
    let nobody = try SocketClient(relay, over: usedByFirst().id)
    nobody.call(.hello(token: nil, since: nil))
    #expect(try nobody.all().isEmpty)
    #expect(nobody.closeCode == 4501)
    let other = try SocketClient(relay, over: usedByFirst().id)
    other.call(.hello(token: second.token, since: nil))
    guard case .welcome(let account, _, _, _, _)? = try other.next() else {
      Issue.record("no welcome came")
      return
    }
    #expect(account == second.credentials.account)
  }

  @Test func fetchesOfOneSocketAreAskedOneByOne() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    for number in 1...20 { socket.sendMessage(.fetch(id: "f\(number)", FetchQuery())) }
    #expect(relay.entries[0].reads.count == 1)
    socket.sendMessage(.save(save("r", id: batch(1))))
    #expect(relay.commits.isEmpty)
    relay.runUntilIdle()
    #expect(try socket.all().count == 21)
  }

  @Test func answersThatWaitForTheirPlaceCountAsRequests() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let start = try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body
    ).token
    try SocketClient(relay, as: device).call(.save(save("r", id: batch(1))))
    let socket = try SocketClient(relay)
    socket.sendMessage(.hello(token: device.token, since: start))
    // The sign-in and the newest token are read; the missed changes are not.
    for _ in 0..<2 { _ = relay.runRead(0) && relay.deliverRead(0) }
    for number in 1...Limits.socketRequests + 10 {
      socket.sendMessage(.save(save("s\(number)", id: batch(1 + number))))
      if number != Limits.socketRequests { continue }
      relay.runCommits(relay.commits.count)
      while relay.deliverCommitEvent(0) {}
    }
    #expect(relay.commits.isEmpty)
    relay.runUntilIdle()
    let saved = try socket.all().filter { if case .saved = $0 { true } else { false } }
    #expect(saved.count == Limits.socketRequests + 10)
  }
}

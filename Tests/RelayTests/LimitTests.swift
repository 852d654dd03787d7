import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Refusals because of limits, and answers while the store fails.
struct LimitTests {
  private let fault = StorageError.diskFull(path: "store")

  @Test func aBodyTooLongIsRefused() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    client.sendRaw(
      "POST /v1/pairings HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(device.token)\r\n"
        + "Content-Length: \(Limits.pairingBodyBytes + 1)\r\n\r\n", to: "POST")
    let response = try #require(try client.next())
    #expect(response.status == 413)
    #expect(response.code == "bodyTooLarge")
    #expect(client.isClosed)
  }

  @Test func aBodyThatNobodyWantsIsPassedOver() throws {
    let relay = TestRelay()
    let client = HTTPClient(relay)
    #expect(try client.call("POST", "/nothing", String(repeating: "x", count: 9_000)).status == 404)
    #expect(try client.call("GET", "/v1/time").status == 200)
  }

  @Test func leaveToSendIsGivenOrRefused() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let body = saveBody("r", id: batch(1))
    func head(_ token: String) -> String {
      "POST /v1/zones/z/records HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(token)\r\n"
        + "Expect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    }
    client.sendRaw(head(device.token), to: "POST")
    #expect(relay.wire(client.id).incoming.isEmpty)
    relay.runUntilIdle()
    #expect(
      String(decoding: relay.wire(client.id).incoming, as: UTF8.self)
        == "HTTP/1.1 100 Continue\r\n\r\n")
    relay.send(client.id, Array(body.utf8))
    relay.runUntilIdle()
    #expect(try client.next()?.status == 200)
    let other = HTTPClient(relay)
    other.sendRaw(head("wrong"), to: "POST")
    relay.runUntilIdle()
    #expect(try other.next()?.status == 401)
    #expect(other.isClosed)
  }

  @Test func bodiesHaveOneBudget() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.bodyBudgetBytes = 100_000
    }
    let device = try relay.newAccount()
    func begin() -> HTTPClient {
      let client = HTTPClient(relay)
      client.sendRaw(
        "POST /v1/zones/z/records HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(device.token)\r\n"
          + "Content-Length: 90000\r\n\r\n", to: "POST")
      relay.runUntilIdle()
      relay.send(client.id, Array(repeating: UInt8(ascii: " "), count: 60_000))
      return client
    }
    let first = begin()
    #expect((60_000..<100_000).contains(relay.entries[0].node.services.currentStatus.bodyBytes))
    let second = begin()
    let response = try #require(try second.next())
    #expect(response.status == 503)
    #expect(response.code == "overloaded")
    #expect(response.headers["Retry-After"] != nil)
    #expect(second.isClosed)
    #expect(!first.isClosed)
    relay.cut(first.id)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
  }

  @Test func storeRequestsAreBounded() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.storeRequests = 2
    }
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    relay.advance(2_000)
    for number in 1...3 { socket.sendMessage(.save(save("r\(number)", id: batch(number)))) }
    let client = HTTPClient(relay)
    client.send("GET", "/v1/devices", token: device.token)
    #expect(try client.next()?.code == "overloaded")
    relay.runUntilIdle()
    let answers = try socket.all()
    let refused = answers.compactMap { message in
      if case .error(_, let refusal) = message { refusal.code } else { nil }
    }
    #expect(answers.count == 3)
    #expect(refused == [.overloaded])
  }

  @Test func slowRequestsAndIdleConnectionsEnd() throws {
    let relay = TestRelay()
    let idle = HTTPClient(relay)
    relay.advance(Limits.idleMilliseconds - 1)
    #expect(!idle.isClosed)
    relay.advance(1)
    #expect(idle.isClosed)
    #expect(relay.wire(idle.id).incoming.isEmpty)

    let slow = HTTPClient(relay)
    slow.sendRaw("GET / HT")
    relay.advance(Limits.requestMilliseconds)
    #expect(try slow.next()?.code == "requestTimeout")
    #expect(slow.isClosed)

    let body = HTTPClient(relay)
    body.sendRaw("POST /v1/accounts HTTP/1.1\r\nHost: r\r\nContent-Length: 9\r\n\r\n{", to: "POST")
    relay.advance(Limits.requestMilliseconds)
    #expect(try body.next()?.status == 408)

    // Each answer restarts the timeout.
    let busy = HTTPClient(relay)
    for _ in 0..<5 {
      relay.advance(Limits.idleMilliseconds - 1)
      #expect(try busy.call("GET", "/v1/time").status == 200)
    }
  }

  @Test(arguments: [
    "GET / HTTP/2.0\r\n\r\n", "nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\u{16}",
  ])
  func whatIsNoRequestIsRefused(text: String) throws {
    let relay = TestRelay()
    let client = HTTPClient(relay)
    client.sendRaw(text)
    let status = try #require(try client.next()).status
    #expect(status == 400 || status == 505)
    #expect(client.isClosed)
    #expect(try HTTPClient(relay).call("GET", "/v1/time").status == 200)
  }

  @Test func aStoreThatFailsIsToldAndComesBack() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let socket = try SocketClient(relay, as: device)
    relay.advance(2_000)
    relay.commitFault = fault
    for number in 1...2 {
      let response = try client.call(
        "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(number)))
      #expect(response.status == 503)
      #expect(response.code == "storeUnavailable")
      #expect(response.headers["Retry-After"] == "2")
    }
    socket.call(.save(save("r", id: batch(3))))
    guard case .error(let id, let refusal)? = try socket.next() else { return }
    #expect(id == batch(3).text)
    #expect(refusal.code == .storeUnavailable)
    #expect(try client.call("GET", "/readyz").status == 503)
    #expect(try client.call("GET", "/livez").status == 200)
    relay.commitFault = nil
    let saved = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(1)))
    #expect(saved.status == 200)
    #expect(try client.call("GET", "/readyz").status == 200)
    #expect(
      relay.reports.filter { $0 == .storeFailed(fault) || $0 == .storeRecovered }
        == [.storeFailed(fault), .storeRecovered])
  }

  /// A proxy sends no request to a relay that is not ready, so no request would show that the store
  /// works again.
  @Test func aStoreThatComesBackIsFoundWithoutAnybodyAsking() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    relay.advance(2_000)
    relay.commitFault = fault
    let refused = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(1)))
    #expect(refused.status == 503)
    for _ in 0..<3 {
      relay.advance(Limits.storeProbeMilliseconds)
      #expect(try client.call("GET", "/readyz").status == 503)
    }
    relay.commitFault = nil
    #expect(try client.call("GET", "/readyz").status == 503)
    relay.advance(Limits.storeProbeMilliseconds)
    #expect(try client.call("GET", "/readyz").status == 200)
    #expect(
      relay.reports.filter { $0 == .storeFailed(fault) || $0 == .storeRecovered }
        == [.storeFailed(fault), .storeRecovered])
    // After that, the store is not tested any more.
    relay.commitFault = fault
    relay.advance(10 * Limits.storeProbeMilliseconds)
    #expect(try client.call("GET", "/readyz").status == 200)
  }

  @Test func aReadThatFailsLeavesTheDeviceToAskAgain() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let start = try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body
    ).token
    let saver = try SocketClient(relay, as: device)
    saver.call(.save(save("r", id: batch(1))))
    let socket = try SocketClient(relay)
    socket.sendMessage(.hello(token: device.token, since: start))
    // The sign-in and the newest token are read; the missed changes are not.
    for _ in 0..<2 { _ = relay.runRead(0) && relay.deliverRead(0) }
    relay.readFault = fault
    relay.runUntilIdle()
    let messages = try socket.all()
    guard case .changed(let token)? = messages.last else {
      Issue.record("no hint came: \(messages)")
      return
    }
    #expect(token.sequence == 1)
    socket.call(.fetch(id: "f", FetchQuery(since: start)))
    guard case .error("f", let refusal)? = try socket.next() else { return }
    #expect(refusal.code == .storeUnavailable)
    relay.readFault = nil
    socket.call(.fetch(id: "g", FetchQuery(since: start)))
    guard case .changes("g", let page)? = try socket.next() else { return }
    #expect(page.changes.count == 1)
  }
}

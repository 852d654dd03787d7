import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// Memory limits of a relay: the total, and the share of each account and address.
struct AdmissionTests {
  private let one = Admission.Holder.account(AccountID(rawValue: 1))
  private let other = Admission.Holder.account(AccountID(rawValue: 2))

  private func admission(megabytes: Int, nodes: Int = 1) -> Admission {
    var configuration = RelayConfiguration()
    configuration.limits.bodyBudgetBytes = megabytes << 20
    configuration.nodes = nodes
    return Admission(configuration)
  }

  @Test func anAccountThatReachesItsShareLeavesTheRestToOthers() {
    var admission = admission(megabytes: 512)
    expect(admission.recordUse(64 << 20, before: 0, by: one), is: true)
    expect(admission.recordUse((64 << 20) + 1, before: 64 << 20, by: one), is: false)
    #expect(!admission.hasRoom(for: one))
    #expect(admission.refusal(of: one).code == .tooManyRequests)
    #expect(admission.hasRoom(for: other))
    expect(admission.recordUse(1 << 20, before: 0, by: other), is: true)
    expect(admission.recordUse(0, before: (64 << 20) + 1, by: one), is: true)
    #expect(admission.hasRoom(for: one))
    #expect(admission.bodyBytes == 1 << 20)
  }

  @Test func whatAllHoldTogetherIsBoundedAsWell() {
    var admission = admission(megabytes: 512)
    for number in 0..<8 as Range<UInt64> {
      let holder = Admission.Holder.account(AccountID(rawValue: number))
      expect(admission.recordUse(64 << 20, before: 0, by: holder), is: true)
    }
    expect(admission.recordUse(1, before: 0, by: .anybody), is: false)
    #expect(admission.refusal(of: .anybody).code == .overloaded)
  }

  @Test func aSmallBudgetStillHoldsAMessageOfOneAccount() {
    var admission = admission(megabytes: 16)
    expect(admission.recordUse(8 << 20, before: 0, by: one), is: true)
    expect(admission.recordUse((8 << 20) + 1, before: 8 << 20, by: one), is: false)
    #expect(admission.hasRoom(for: other))
  }

  // MARK: on a relay

  private func save(_ relay: TestRelay, _ device: TestDevice, _ number: Int, size: Int) throws {
    let text = String(repeating: "x", count: size)
    let body =
      #"{"id":"\#(batch(number).text)","records":[{"name":"r\#(number)","type":"t","#
      + #""fields":{"v":"\#(text)"},"modifiedAt":1}]}"#
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token, body)
    try #require(response.status == 200)
  }

  @Test func unreadPagesOfOneAccountCostNobodyElseAnything() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.bodyBudgetBytes = 64 << 20
    }
    let greedy = try relay.newAccount()
    let modest = try relay.newAccount()
    for device in [greedy, modest] {
      for number in 1...2 { try save(relay, device, number, size: 900_000) }
    }
    var refused = 0
    for _ in 0..<40 {
      let client = HTTPClient(relay)
      relay.setTakesBytes(client.id, false)
      client.send("GET", "/v1/changes", token: greedy.token)
      relay.runUntilIdle()
      if relay.wire(client.id).waiting.count < 2_000 { refused += 1 }
    }
    #expect(refused > 30)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes < 16 << 20)
    let answer = try HTTPClient(relay).call("GET", "/v1/changes", token: greedy.token)
    #expect(answer.code == "tooManyRequests")
    #expect(try HTTPClient(relay).call("GET", "/v1/changes", token: modest.token).status == 200)
    let socket = try SocketClient(relay, as: modest)
    socket.call(.fetch(id: "f", FetchQuery()))
    guard case .changes("f", _)? = try socket.next() else {
      Issue.record("the other account's fetch was not answered")
      return
    }
  }

  @Test func whatAClosedConnectionHasNotTakenCountsUntilItIsGone() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    try save(relay, device, 1, size: 900_000)
    let client = HTTPClient(relay)
    relay.setTakesBytes(client.id, false)
    client.sendRaw(
      "GET /v1/changes HTTP/1.1\r\nHost: r\r\nConnection: close\r\n"
        + "Authorization: Bearer \(device.token)\r\n\r\n", to: "GET")
    relay.runUntilIdle()
    #expect(client.isClosed)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes > 900_000)
    relay.setTakesBytes(client.id, true)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
  }

  @Test func memoryCountsAndNotOnlyBytes() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    relay.setTakesBytes(socket.id, false)
    try save(relay, device, 1, size: 10)
    relay.deliver(0, .holding(socket.id, bytes: 5_000))
    relay.deliver(0, .drained(socket.id, unsent: 100))
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 5_000)
    let body = HTTPClient(relay)
    body.sendRaw(
      "POST /v1/zones/z/records HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(device.token)\r\n"
        + "Content-Length: 2000000\r\n\r\n", to: "POST")
    relay.runUntilIdle()
    var sent = 0
    while sent < 700_000 {
      relay.send(body.id, Array(repeating: UInt8(ascii: " "), count: 100_000))
      sent += 100_000
    }
    let held = relay.entries[0].node.services.currentStatus.bodyBytes - 5_000
    #expect(held >= 700_000)
    relay.cut(body.id)
    relay.cut(socket.id)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
  }

  @Test func aLongHeadCountsWhileItIsAnswered() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let start = try ChangePage.decoded(
      body: client.call("GET", "/v1/changes", token: device.token).body)
    client.sendRaw(
      "GET /v1/changes?wait=50&since=\(start.token.text) HTTP/1.1\r\nHost: r\r\n"
        + "X-Long: \(String(repeating: "x", count: 8_000))\r\n"
        + "Authorization: Bearer \(device.token)\r\n\r\n", to: "GET")
    relay.runUntilIdle()
    #expect(relay.entries[0].node.services.currentStatus.parkedPolls == 1)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes > 8_000)
  }
}

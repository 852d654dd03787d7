import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// An account that is moved to another relay while its devices are connected.
struct MovedAccountTests {
  private let relay = TestRelay(nodes: 2, areSeparateRelays: true)
  private let address = "https://b.example"

  private func commit(_ step: MoveStep) throws -> CommitResult? {
    try relay.store.commit([.move(step)], wall: relay.moment.wall).first
  }

  private func freeze(_ device: TestDevice) throws -> AccountMove {
    let step = MoveStep.freeze(device.credentials.account, milliseconds: 30_000)
    guard case .frozen(let version)? = try commit(step) else {
      return try #require(nil, "the account is not frozen")
    }
    return AccountMove(id: 1, frozen: version)
  }

  private func depart(_ device: TestDevice) throws {
    #expect(try commit(.depart(try freeze(device), relay: address)) == .done)
  }

  private func announce(_ device: TestDevice) {
    for node in relay.entries.indices {
      relay.deliver(node, .news(.remoteMembershipChange(device.credentials.account)))
    }
    relay.runUntilIdle()
  }

  private func newest(_ device: TestDevice) throws -> ChangeToken {
    guard case .token(let token) = try relay.store.read(.newestToken(device.credentials.account))
    else { return try #require(nil, "there is no newest token") }
    return token
  }

  private func park(_ device: TestDevice) throws -> HTTPClient {
    let client = HTTPClient(relay, node: 1)
    let since = try newest(device).text
    client.send("GET", "/v1/changes?wait=60&since=\(since)", token: device.token)
    relay.runUntilIdle()
    return client
  }

  private func check(_ refusal: Refusal?) {
    #expect(refusal?.code == .accountMoved)
    #expect(refusal?.relay == address)
  }

  private func check(_ response: HTTPClient.Response?) throws {
    let response = try #require(response)
    #expect(response.status == 421)
    check(Refusal.problem(response.body, status: response.status))
  }

  /// Checks that the socket got the address, and then was closed.
  private func check(_ socket: SocketClient) throws {
    guard case .error(_, let refusal)? = try socket.all().last else {
      Issue.record("no address came")
      return
    }
    check(refusal)
    #expect(socket.closeCode == 4421)
    #expect(socket.isClosed)
  }

  @Test func everyWaitEndsWithTheNewAddress() throws {
    let device = try relay.newAccount()
    let bystander = try SocketClient(relay, as: try relay.newAccount())
    let sockets = try (0...1).map { try SocketClient(relay, node: $0, as: device) }
    let streams = (0...1).map { EventsClient(relay, node: $0, as: device) }
    for stream in streams { _ = try stream.all() }
    let poll = try park(device)
    try depart(device)
    announce(device)
    for socket in sockets { try check(socket) }
    for stream in streams {
      guard case .error(let refusal)? = try stream.all().last else {
        Issue.record("the stream goes on")
        continue
      }
      check(refusal)
    }
    try check(try poll.next())
    #expect(!bystander.isClosed)
  }

  @Test func whoWasNotToldLearnsItByTheCheckOfTheStore() throws {
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, node: 1, as: device)
    try depart(device)
    for _ in 0..<3 { relay.advance(Limits.versionCheckMilliseconds) }
    try check(socket)
  }

  @Test func whoSavesBeforeTheNewsIsToldAtOnce() throws {
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    try depart(device)
    socket.call(.save(save("r", zone: "z", id: batch(1))))
    try check(socket)
    let client = HTTPClient(relay)
    try check(
      try client.call(
        "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(2))))
  }

  @Test func laterRequestsAreToldTheAddress() throws {
    let device = try relay.newAccount()
    try depart(device)
    let client = HTTPClient(relay)
    for path in ["/v1/changes", "/v1/devices", "/v1/zones", "/v1/zones/z/records/r"] {
      try check(try client.call("GET", path, token: device.token))
    }
    let socket = try SocketClient(relay)
    socket.call(.hello(token: device.token, since: nil))
    try check(socket)
    let unknown = try client.call("GET", "/v1/changes", token: "nobody's token")
    #expect(unknown.code == "badToken")
  }

  @Test func aPairingCodeLeadsToTheNewRelayAndCountsAsNoGuess() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let offer = try PairingOffer.decoded(
      body: try client.call("POST", "/v1/pairings", token: device.token).body)
    try depart(device)
    let body = JoinRequest(
      code: offer.code, account: nil,
      description: DeviceDescription(deviceName: "d", platform: "p", appVersion: "1")
    ).encodedBody()
    for _ in 0..<2 * Limits.pairingGuessesPerAddress {
      try check(try client.call("POST", "/v1/devices", String(decoding: body, as: UTF8.self)))
    }
  }

  @Test func whileItMovesSavesAreRefusedForAMomentAndReadsAreAnswered() throws {
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    let poll = try park(device)
    let move = try freeze(device)
    announce(device)
    socket.call(.save(save("r", zone: "z", id: batch(1))))
    guard case .error(batch(1).text, let refusal)? = try socket.all().last else {
      Issue.record("no error came")
      return
    }
    #expect(refusal.code == .accountMoving)
    #expect(refusal.retryAfterMilliseconds == 1_000)
    let client = HTTPClient(relay)
    #expect(try client.call("GET", "/v1/changes", token: device.token).status == 200)
    let answer = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(2)))
    #expect(answer.status == 503)
    #expect(answer.code == "accountMoving")
    #expect(answer.headers["Retry-After"] == "1")
    #expect(!socket.isClosed && !poll.isClosed)
    // The mover gives up.
    #expect(try commit(.thaw(move)) == .done)
    socket.call(.save(save("r", zone: "z", id: batch(1))))
    #expect(try socket.all().contains { if case .saved = $0 { true } else { false } })
    #expect(try poll.next()?.status == 200)
  }

  @Test func whereItArrivesItsDevicesWait() throws {
    let device = try relay.newAccount()
    let move = try freeze(device)
    let target = TestRelay()
    #expect(target.store.receive(move, from: relay.store) == nil)
    let client = HTTPClient(target)
    let answer = try client.call("GET", "/v1/changes", token: device.token)
    #expect(answer.code == "accountMoving")
    let socket = try SocketClient(target)
    socket.call(.hello(token: device.token, since: nil))
    guard case .error(nil, let refusal)? = try socket.all().last else {
      Issue.record("no error came")
      return
    }
    #expect(refusal.code == .accountMoving)
    // Not a fault of the device, so it comes again.
    #expect(socket.closeCode == 1013)
    #expect(try commit(.depart(move, relay: address)) == .done)
    let activation = MoveStep.activate(device.credentials.account, move: move.id)
    _ = try target.store.commit([.move(activation)], wall: target.moment.wall)
    _ = try SocketClient(target, as: device)
    #expect(try client.call("GET", "/v1/changes", token: device.token).status == 200)
  }

  @Test func anAccountThatWasRemovedIsNotTakenForOneThatMoved() throws {
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, node: 1, as: device)
    _ = try relay.store.commit(
      [.removeAccount(device.credentials.account)], wall: relay.moment.wall)
    for _ in 0..<3 { relay.advance(Limits.versionCheckMilliseconds) }
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 4501)
  }
}

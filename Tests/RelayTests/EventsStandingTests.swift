import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Effects of plans and subscriptions on event streams.
struct EventsStandingTests {
  let relay = TestRelay(nodes: 2)

  private func deliver(_ news: RelayNews) {
    for node in relay.entries.indices { relay.deliver(node, .news(news)) }
    relay.runUntilIdle()
  }

  private func save(_ device: TestDevice, _ number: Int, zone: String) throws {
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/\(zone)/records", token: device.token,
      saveBody("r\(number)", id: batch(number)))
    try #require(response.status == 200)
  }

  /// Subscribes by news only: a sign-in on the same node would undo it, as the store does not have
  /// it.
  private func subscribe(_ device: TestDevice, to zones: String...) {
    deliver(
      .subscribed(
        device.credentials.account, device.credentials.device,
        zones.map { Subscription(id: Name(trusted: $0), kind: .zone(Name(trusted: $0))) }))
  }

  private func names(_ stream: EventsClient) throws -> [[String]] {
    try stream.all().map { event in
      guard case .changes(let page) = event else { return ["\(event)"] }
      return page.changes.map(\.name.text)
    }
  }

  @Test func onlyWhatMatchesWakesAStreamAndBringsAllSince() throws {
    let device = try relay.newAccount()
    let other = try relay.newDevice(beside: device)
    let stream = EventsClient(relay, node: 1, as: device)
    let bystander = EventsClient(relay, node: 1, as: other)
    #expect(try names(stream) == [[]])
    #expect(try names(bystander) == [[]])
    subscribe(device, to: "a")
    try save(device, 1, zone: "b")
    try save(device, 2, zone: "b")
    #expect(try names(stream).isEmpty)
    try save(device, 3, zone: "a")
    #expect(try names(stream) == [["r1", "r2", "r3"]])
    try save(device, 4, zone: "a")
    #expect(try names(stream) == [["r4"]])
    #expect(try names(bystander) == [["r1"], ["r2"], ["r3"], ["r4"]])
  }

  @Test func whatWasPassedOverIsToldWhenItMatches() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, node: 1, as: device)
    subscribe(device, to: "a")
    try save(device, 1, zone: "b")
    #expect(try names(stream) == [[]])
    subscribe(device, to: "b")
    #expect(try names(stream) == [["r1"]])
  }

  @Test func withoutAnyZoneAStreamEnds() throws {
    let device = try relay.newAccount()
    let other = try relay.newAccount()
    let streams = (0...1).map { EventsClient(relay, node: $0, as: device) }
    let bystander = EventsClient(relay, as: other)
    deliver(.planChanged(device.credentials.account, Plan(zones: [])))
    for stream in streams {
      guard case .error(let refusal)? = try stream.all().last else {
        Issue.record("the stream goes on")
        continue
      }
      #expect(refusal.code == .planRequired)
      #expect(stream.isWhole && stream.isClosed)
    }
    #expect(!bystander.isClosed)
  }

  @Test func aStreamThatIsBeginningIsRefusedByANewPlan() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, as: device, settles: false)
    // The sign-in is read; the page is being read.
    #expect(relay.runRead(0) && relay.deliverRead(0))
    deliver(.planChanged(device.credentials.account, Plan(zones: [])))
    #expect(try stream.all().isEmpty)
    #expect(stream.head?.status == 402)
    #expect(stream.code == "planRequired")
    #expect(relay.entries[0].node.services.currentStatus.streams == 0)
  }

  @Test func aStreamEndsWithItsAccount() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, node: 1, as: device)
    deliver(.accountRemoved(device.credentials.account))
    guard case .error(let refusal)? = try stream.all().last else {
      Issue.record("the stream goes on")
      return
    }
    #expect(refusal.code == .badToken)
    #expect(stream.isWhole && stream.isClosed)
  }
}

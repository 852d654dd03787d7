import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

struct NodeStateTests {
  private func state(of relay: TestRelay) throws -> NodeState {
    relay.deliver(0, .ordered(.reportState))
    guard case .state(let state)? = relay.reports.last else {
      throw Refusal(.internalError, "the node did not answer")
    }
    return state
  }

  @Test func connectionsAreCountedByWhatTheyCarry() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    let poller = HTTPClient(relay)
    let cursor = try poller.call("GET", "/v1/changes", token: device.token).json?["token"]?.string
    poller.send(
      "GET", "/v1/changes?wait=30&since=\(try #require(cursor))", token: device.token)
    relay.runUntilIdle()
    let idle = HTTPClient(relay)
    let state = try state(of: relay)
    let counts = Dictionary(
      uniqueKeysWithValues: state.connections.map { ($0.transport, $0.count) })
    #expect(counts["socket"] == 1)
    #expect(counts["longPoll"] == 1)
    #expect(counts["events"] == 0)
    #expect(try #require(counts["plain"]) >= 1)
    #expect(state.accountsWatched == 1)
    #expect(state.sessions >= 2)
    #expect(state.stage == "running")
    #expect(state.unsentBytes == 0)
    withExtendedLifetime((socket, idle)) {}
  }

  @Test func theLargestQueuesAreNamedAndNothingOfTheirContents() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let clients = try (0..<7).map { _ in try SocketClient(relay, as: device) }
    for client in clients { client.call(.fetch(id: "f", FetchQuery())) }
    for client in clients { relay.setTakesBytes(client.id, false) }
    let body =
      #"{"id":"\#(batch(1).text)","records":[{"name":"a","type":"t","#
      + #""fields":{"v":"secret-contents"},"modifiedAt":1}]}"#
    #expect(
      try HTTPClient(relay).call("POST", "/v1/zones/z/records", token: device.token, body).status
        == 200)
    relay.advance(40)
    let state = try state(of: relay)
    #expect(state.waitingConnections == 7)
    #expect(state.largestQueues.count == Limits.shownQueues)
    let queue = try #require(state.largestQueues.first)
    #expect(queue.transport == "socket")
    #expect(queue.account == device.credentials.account)
    #expect(queue.device == device.credentials.device)
    #expect(queue.stillMilliseconds == 40)
    #expect(state.unsentBytes >= 7 * queue.bytes)
    #expect(!"\(state)".contains("secret-contents"))
    #expect(!"\(state)".contains(device.token))
  }
}

import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// A device that asks for it gets the times of its save; others do not.
struct SaveTimingTests {
  private func timed(_ name: String, _ number: Int, base: ChangeTag? = nil) -> SaveRequest {
    var request = save(name, base: base, id: batch(number))
    request.timed = true
    return request
  }

  private func answer(_ socket: SocketClient) throws -> SaveAnswer {
    for case .saved(_, let answer) in try socket.all() { return answer }
    throw Refusal(.internalError, "no save was answered")
  }

  /// Lets two milliseconds pass until the commit, and three more until its outcome is delivered.
  private func pass(_ relay: TestRelay) throws {
    while relay.commits.isEmpty { try #require(relay.step(), "the save reaches the store") }
    relay.advance(2)
    relay.runCommits(relay.commits.count)
    relay.advance(3)
    relay.runUntilIdle()
  }

  @Test func theTimesOfASaveAreToldInOrder() throws {
    let relay = TestRelay(nodes: 2)
    let device = try relay.newAccount()
    let other = try SocketClient(relay, node: 1, as: device)
    let socket = try SocketClient(relay, as: device)
    let wall = relay.moment.wall
    socket.sendMessage(.save(timed("a", 1)))
    try pass(relay)
    let timing = try #require(try answer(socket).timing)
    #expect(
      timing
        == SaveTiming(
          received: wall * 1_000, durable: (wall + 2) * 1_000, pushed: (wall + 5) * 1_000))
    withExtendedLifetime(other) {}
  }

  @Test func aSaveOverHTTPIsToldFromItsHeadOn() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let wall = relay.moment.wall
    let client = HTTPClient(relay)
    let body = timed("a", 1).encodedBody()
    let bytes = HTTPClient.bytes("POST", "/v1/zones/z/records", token: device.token, body)
    client.expectAnswer(to: "POST")
    relay.send(client.id, Array(bytes.dropLast()))
    relay.advance(4)
    relay.send(client.id, Array(bytes.suffix(1)))
    try pass(relay)
    let response = try #require(try client.next())
    let timing = try #require(try SaveAnswer.decoded(body: response.body).timing)
    #expect(timing.received == wall * 1_000)
    #expect(timing.durable == (wall + 6) * 1_000)
    #expect(timing.pushed == (wall + 9) * 1_000)
  }

  @Test func nobodyIsToldWhoDoesNotAsk() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    socket.call(.save(save("a", id: batch(1))))
    #expect(try answer(socket).timing == nil)
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token,
      String(decoding: save("b", id: batch(2)).encodedBody(), as: UTF8.self))
    #expect(response.status == 200)
    #expect(response.json?["results"] != nil && response.json?["timing"] == nil)
  }

  /// A repeated batch has neither the times of the first answer nor any other: nothing was saved.
  @Test func aRepeatedBatchIsTheSameAndHasNoTimes() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    socket.call(.save(save("a", id: batch(1))))
    let first = try answer(socket)
    for request in [timed("a", 1), save("a", id: batch(1))] {
      socket.call(.save(request))
      let again = try answer(socket)
      #expect(again.results == first.results && again.timing == nil)
    }
    socket.call(.save(timed("b", 2)))
    #expect(try answer(socket).timing != nil)
    socket.call(.save(save("b", id: batch(2))))
    #expect(try answer(socket).timing == nil)
  }

  @Test func whatWasNotSavedHasNoTimes() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    socket.call(.save(save("a", id: batch(1))))
    _ = try answer(socket)
    socket.call(.save(timed("a", 2, base: 0)))
    let answer = try answer(socket)
    guard case .conflict? = answer.results.first else {
      Issue.record("no conflict: \(answer)")
      return
    }
    #expect(answer.timing == nil)
  }

  /// Saves of several devices and both kinds share a transaction: each has its own times or none.
  @Test(arguments: 0..<20) func mixedSavesHaveTheirOwnTimes(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let relay = TestRelay(nodes: 2, seed: seed)
    let device = try relay.newAccount()
    let sockets = try (0..<3).map { try SocketClient(relay, node: $0 % 2, as: device) }
    var asked: [BatchID: (isTimed: Bool, at: Int64)] = [:]
    for number in 1...12 {
      var request = save("r\(number)", id: batch(number))
      request.timed = Bool.random(using: &random)
      asked[request.id] = (request.timed, relay.moment.wall)
      sockets[Int.random(in: 0..<3, using: &random)].sendMessage(.save(request))
      relay.advance(Int64.random(in: 0...3, using: &random))
      if Bool.random(using: &random), !relay.commits.isEmpty {
        relay.runCommits(Int.random(in: 1...relay.commits.count, using: &random))
      }
      _ = relay.deliverCommitEvent(Int.random(in: 0...1, using: &random))
    }
    relay.runUntilIdle()
    for socket in sockets {
      for case .saved(let id, let answer) in try socket.all() {
        let known = asked.removeValue(forKey: id)
        let (isTimed, at) = try #require(known)
        #expect((answer.timing != nil) == isTimed)
        guard let timing = answer.timing else { continue }
        #expect(timing.received >= at * 1_000)
        #expect(timing.received <= timing.durable && timing.durable <= timing.pushed)
        #expect(timing.pushed <= relay.moment.wall * 1_000)
      }
    }
    #expect(asked.isEmpty)
  }

  @Test func theTimesAreNothingOfTheBatch() {
    var request = save("a", id: batch(1))
    let digest = BatchDigest.hash(of: request)
    request.timed = true
    #expect(BatchDigest.hash(of: request) == digest)
  }
}

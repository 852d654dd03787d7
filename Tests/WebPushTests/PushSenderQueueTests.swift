import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import Testing

/// The queue of a sender: pauses, turns and limits.
struct PushSenderQueueTests {
  private static let unavailable =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: "

  // MARK: pauses

  @Test func aPauseHoldsForTheWholeServiceAndForNoOther() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    let id = hand.connections[0]
    try hand.send(2)
    hand.answer(id, Self.unavailable + "10\r\n\r\n")
    #expect(hand.results.last == .answered(.paused(milliseconds: 10_000)))
    try hand.send(3)
    try hand.send(4, to: "https://push.example.net/another")
    try hand.prove(5, to: "https://b.example/")
    hand.advance(milliseconds: 9_999)
    #expect(hand.outcomes.map(\.id) == [1, 2, 5])
    #expect(hand.requests[id]?.count == 2)
    hand.advance(milliseconds: 1)
    #expect(hand.requests[id]?.count == 3)
    hand.answer(id, SenderInHand.created)
    // The second push needed a connection of its own.
    hand.establish(try #require(hand.connections.last))
    hand.answer(try #require(hand.connections.last), SenderInHand.created)
    #expect(hand.outcomes.map(\.id) == [1, 2, 5, 3, 4])
    #expect(hand.results.suffix(3).allSatisfy { $0 == .answered(.sent) })
  }

  @Test func pushesDoNotWaitForTheEndOfALongPause() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    // As many as have a connection, and three more.
    for number: UInt64 in 2...8 { try hand.send(number) }
    #expect(hand.sender.waitingCount == 3)
    hand.advance(milliseconds: 5_000)
    hand.answer(hand.connections[0], Self.unavailable + "3600\r\n\r\n")
    #expect(hand.outcomes.map(\.id) == [1, 2, 6, 7, 8])
    #expect(
      hand.results.suffix(4).allSatisfy { $0 == .answered(.paused(milliseconds: 3_600_000)) })
    hand.advance(milliseconds: 60_000)
    try hand.send(9)
    #expect(
      hand.outcomes.last
        == PushOutcome(id: 9, result: .answered(.paused(milliseconds: 3_540_000))))
    hand.advance(milliseconds: 3_540_000)
    try hand.send(10)
    #expect(hand.open == [try #require(hand.connections.last)])
  }

  @Test func aPauseIsNotShortenedByAnEarlierPush() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    try hand.send(2)
    try hand.send(3)
    hand.establish(hand.connections[1])
    hand.answer(hand.connections[0], Self.unavailable + "20\r\n\r\n")
    hand.answer(hand.connections[1], Self.unavailable + "1\r\n\r\n")
    try hand.send(4)
    hand.advance(milliseconds: 14_000)
    #expect(hand.outcomes.map(\.id) == [1, 2, 3])
    #expect(hand.sender.waitingCount == 1)
    hand.advance(milliseconds: 6_000)
    #expect(hand.sender.waitingCount == 0)
  }

  @Test func tooManyPushesToOneSubscriptionStopNoOther() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    let id = hand.connections[0]
    try hand.send(2)
    hand.answer(
      id, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n")
    #expect(hand.results.last == .answered(.throttled(milliseconds: 600_000)))
    try hand.send(3)
    #expect(hand.requests[id]?.count == 3)
    hand.answer(id, SenderInHand.created)
    #expect(hand.results.last == .answered(.sent))
  }

  // MARK: limits

  @Test func oneServiceDoesNotFillTheQueue() throws {
    var hand = try SenderInHand()
    var accepted = 0
    for number in 0..<1_000 { accepted += try hand.send(UInt64(number)) ? 1 : 0 }
    // The first one has a connection.
    #expect(accepted == Limits.wakesWaitingPerOrigin + 1)
    #expect(hand.connections.count == 1)
    let isAccepted = try hand.send(2_000, to: "https://b.example/")
    #expect(isAccepted)
    #expect(hand.connections.count == 2)
  }

  @Test func theQueueIsBounded() throws {
    var hand = try SenderInHand()
    var accepted = 0
    for number in 0..<6_000 {
      let url = "https://host\(number % 1_500).example/"
      accepted += try hand.send(UInt64(number), to: url) ? 1 : 0
    }
    #expect(accepted == Limits.wakesWaiting + Limits.wakeSilentConnections)
    #expect(hand.sender.waitingCount == Limits.wakesWaiting)
    #expect(hand.connections.count == Limits.wakeSilentConnections)
    hand.advance(milliseconds: Limits.wakeWaitMilliseconds + Limits.wakeAnswerMilliseconds)
    #expect(hand.sender.isEmpty && hand.sender.nextDeadline == nil)
    #expect(hand.outcomes.count == accepted)
    #expect(Set(hand.outcomes.map(\.id)).count == accepted)
    let expected: Set<PushOutcome.Result> = [.unreachable(.timedOut), .unreachable(.waited)]
    #expect(Set(hand.results) == expected)
  }

  @Test func aServiceHasMoreConnectionsOnceItHasAnswered() throws {
    var hand = try SenderInHand()
    for number: UInt64 in 1...9 { try hand.send(number) }
    #expect(hand.connections.count == 1)
    hand.establish(hand.connections[0])
    hand.answer(hand.connections[0], SenderInHand.created)
    #expect(hand.connections.count == Limits.wakeConnectionsPerOrigin)
    #expect(hand.sender.waitingCount == 4)
    // From then on it has one again, as soon as a push is not answered.
    hand.lose(hand.connections[3], .connectFailed("no route"))
    hand.lose(hand.connections[2], .connectFailed("no route"))
    #expect(hand.connections.count == 4)
    hand.answer(hand.connections[0], SenderInHand.created)
    #expect(hand.connections.count == 6)
    #expect(hand.sender.connectionCount == Limits.wakeConnectionsPerOrigin)
  }

  @Test func silentServicesLeaveConnectionsToOthers() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    for number: UInt64 in 2...101 { try hand.send(number, to: "https://host\(number).example/") }
    #expect(hand.sender.connectionCount == 1 + Limits.wakeSilentConnections)
    for number: UInt64 in 102...105 { try hand.send(number) }
    #expect(
      hand.sender.connectionCount
        == Limits.wakeConnectionsPerOrigin + Limits.wakeSilentConnections)
    #expect(hand.requests[hand.connections[0]]?.count == 2)
  }

  @Test func connectionsAreBoundedAndTheLongestIdleMakesWay() throws {
    var hand = try SenderInHand()
    for number in 0..<Limits.wakeConnections {
      try hand.prove(UInt64(number), to: "https://host\(number).example/")
      hand.advance(milliseconds: 10)
    }
    #expect(hand.open.count == Limits.wakeConnections)
    try hand.send(100, to: "https://host0.example/")
    #expect(hand.closed.isEmpty)
    try hand.prove(101, to: "https://one.example/")
    #expect(hand.closed == [hand.connections[1]])
    #expect(hand.open.count == Limits.wakeConnections)
    // All are in use.
    for number in 2..<Limits.wakeConnections {
      try hand.send(UInt64(200 + number), to: "https://host\(number).example/")
    }
    try hand.send(300, to: "https://one.example/")
    try hand.send(301, to: "https://two.example/")
    #expect(hand.sender.waitingCount == 1)
    #expect(hand.open.count == Limits.wakeConnections)
    hand.answer(hand.connections[5], SenderInHand.created)
    #expect(hand.sender.waitingCount == 0)
    #expect(hand.closed == [hand.connections[1], hand.connections[5]])
    #expect(hand.addresses.last == .screened("two.example", port: 443, allowsLocal: false))
  }

  // MARK: turns

  @Test func servicesTakeTurns() throws {
    var hand = try SenderInHand()
    // All connections for services that have not answered are in use.
    for number in 0..<Limits.wakeSilentConnections {
      try hand.send(UInt64(number), to: "https://host\(number).example/")
    }
    for number: UInt64 in 100...119 { try hand.send(number, to: "https://busy.example/") }
    try hand.send(200, to: "https://a.example/")
    try hand.send(300, to: "https://b.example/")
    for number: UInt64 in 120...129 { try hand.send(number, to: "https://busy.example/") }
    let hosts = { (hand: SenderInHand) in
      hand.addresses.dropFirst(Limits.wakeSilentConnections).map { address in
        guard case .screened(let host, _, _) = address else { return "" }
        return host
      }
    }
    for place in 0..<3 { hand.lose(hand.connections[place], .connectFailed("no route")) }
    #expect(hosts(hand) == ["busy.example", "a.example", "b.example"])
    hand.lose(hand.connections[Limits.wakeSilentConnections], .connectFailed("no route"))
    #expect(hosts(hand).last == "busy.example")
    #expect(hand.sender.waitingCount == 28)
    #expect(hand.outcomes.map(\.id) == [0, 1, 2, 100])
  }

  @Test func aPushThatHasNoTurnInItsTimeIsGivenUp() throws {
    var hand = try SenderInHand()
    for number: UInt64 in 0...9 { try hand.send(number) }
    hand.advance(milliseconds: 5_000)
    try hand.send(10)
    // Three have a turn, one after another; then the time of the others is over.
    hand.advance(milliseconds: 25_000)
    let expected: [PushOutcome.Result] =
      Array(repeating: .unreachable(.timedOut), count: 3)
      + Array(repeating: .unreachable(.waited), count: 7)
    #expect(hand.results == expected)
    #expect(hand.connections.count == 4)
    hand.establish(hand.connections[3])
    hand.answer(hand.connections[3], SenderInHand.created)
    #expect(hand.outcomes.last == PushOutcome(id: 10, result: .answered(.sent)))
  }

  @Test func onlySoManyServicesAreRemembered() throws {
    var hand = try SenderInHand()
    try hand.send(0, to: "https://paused.example/")
    hand.establish(hand.connections[0])
    hand.answer(hand.connections[0], Self.unavailable + "86400\r\n\r\n")
    try hand.send(1, to: "https://paused.example/")
    #expect(hand.results.last == .answered(.paused(milliseconds: 86_400_000)))
    for number in 1...Limits.wakeOrigins {
      hand.advance(milliseconds: 1_000)
      let id = UInt64(number + 1)
      try hand.send(id, to: "https://host\(number).example/")
      hand.lose(try #require(hand.connections.last), .connectFailed("no route"))
    }
    try hand.send(1_000, to: "https://paused.example/")
    #expect(hand.outcomes.last?.id != 1_000, "its pause is forgotten, and it is asked again")
  }

  // MARK: any order of events

  /// A network that does anything: no push is lost, none has two outcomes, and no limit is
  /// exceeded.
  @Test(arguments: UInt64(0)..<20)
  func everyPushHasOneOutcome(seed: UInt64) throws {
    var hand = try SenderInHand()
    var random = SeededRandom(seed: seed)
    var accepted: [UInt64] = []
    for number: UInt64 in 0..<2_000 {
      if Int.random(in: 0..<3, using: &random) == 0 {
        let host = Int.random(in: 0..<12, using: &random)
        if try hand.send(number, to: "https://host\(host).example/") { accepted.append(number) }
      }
      hand.advance(milliseconds: Int64.random(in: 0...300, using: &random))
      if let id = hand.open.randomElement(using: &random) { play(id, &hand, &random) }
      #expect(hand.sender.connectionCount <= Limits.wakeConnections)
      #expect(hand.sender.connectionCount == hand.open.count)
      #expect(
        hand.sender.nextDeadline.map { $0 > hand.moment.instant } ?? hand.sender.isEmpty)
    }
    hand.advance(milliseconds: Limits.wakeWaitMilliseconds + Limits.wakeAnswerMilliseconds)
    #expect(hand.outcomes.map(\.id).sorted() == accepted)
    #expect(Set(hand.results.map(kind)).count >= 4, "the network did many things")
    hand.advance(milliseconds: Limits.wakeIdleMilliseconds)
    #expect(hand.sender.isEmpty && hand.sender.nextDeadline == nil)
  }

  private func play(_ id: ConnectionID, _ hand: inout SenderInHand, _ random: inout SeededRandom) {
    let answers = [
      SenderInHand.created, SenderInHand.created, Self.unavailable + "5\r\n\r\n",
      Self.unavailable + "90\r\n\r\n", "HTTP/1.1 410 Gone\r\n\r\n", "HTTP/1.1 201 Cre", "?\r\n",
      "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno",
      "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n",
    ]
    switch Int.random(in: 0..<8, using: &random) {
    case 0: hand.lose(id)
    case 1: hand.lose(id, .failed("reset"))
    case 2, 3, 4: hand.establish(id)
    default:
      guard hand.requests[id] != nil, let answer = answers.randomElement(using: &random) else {
        return hand.establish(id)
      }
      hand.answer(id, answer)
    }
  }

  private func kind(_ result: PushOutcome.Result) -> String {
    switch result {
    case .answered(let answer): "\(answer)"
    case .unreachable(let fault): "\(fault)"
    case .refused(let refusal): "\(refusal)"
    }
  }
}

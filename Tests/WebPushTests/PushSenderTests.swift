import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import Testing

struct PushSenderTests {
  private typealias Result = PushOutcome.Result

  // MARK: request

  @Test func aPushIsOneRequestToItsEndpoint() throws {
    var hand = try SenderInHand(subject: "mailto:me@example.org")
    try hand.send(7, to: "https://push.example.net/p/%7eA%41?b=%2f&c")
    #expect(
      hand.addresses == [.screened("push.example.net", port: 443, allowsLocal: false)])
    #expect(hand.requests.isEmpty, "nothing is sent before the certificate is verified")
    let id = hand.connections[0]
    hand.establish(id)
    let request = try SentRequest(try #require(hand.requests[id]?.first))
    #expect(request.lines[0] == "POST /p/%7eA%41?b=%2f&c HTTP/1.1", "not encoded once more")
    #expect(request.field("Host") == "push.example.net")
    #expect(request.field("TTL") == "3600")
    #expect(request.field("Topic") == "topic-7")
    #expect(request.field("Urgency") == "normal")
    #expect(request.field("Content-Encoding") == "aes128gcm")
    #expect(request.field("Content-Type") == "application/octet-stream")
    #expect(request.field("Content-Length") == "\(PushMessage.bodyBytes)")
    #expect(request.lines.count == 9)
    #expect(
      PushMessage.decrypt(request.body, key: hand.device, auth: [UInt8](1...16))
        == Array("wake 7".utf8))
    let token = try VAPIDToken(
      checking: try #require(request.field("Authorization")),
      audience: "https://push.example.net", at: hand.moment.wall)
    #expect(token.key == hand.key.publicKey)
    #expect(token.claims.subject == "mailto:me@example.org")
    hand.answer(id, SenderInHand.created)
    #expect(hand.outcomes == [PushOutcome(id: 7, result: .answered(.sent))])
  }

  @Test(arguments: [
    ("https://ntfy.lan:8443/x", PeerAddress.screened("ntfy.lan", port: 8_443, allowsLocal: true)),
    ("https://[fd00:0::1]/x", .screened("fd00::1", port: 443, allowsLocal: true)),
    ("https://[2606:4700::1111]/", .screened("2606:4700::1111", port: 443, allowsLocal: false)),
    ("https://8.8.8.8/", .screened("8.8.8.8", port: 443, allowsLocal: false)),
  ])
  func onlyNamedHostsMayBeLocal(url: String, address: PeerAddress) throws {
    var hand = try SenderInHand(allowing: ["ntfy.lan:8443", "[fd00::1]"])
    try hand.send(1, to: url)
    #expect(hand.addresses == [address])
    hand.establish(hand.connections[0])
    let request = try SentRequest(try #require(hand.requests[hand.connections[0]]?.first))
    #expect("https://" + (request.field("Host") ?? "") == (try PushEndpoint(url).origin))
  }

  @Test func aRefusedHostIsNotConnectedTo() throws {
    var hand = try SenderInHand()
    for (id, url) in ["https://127.0.0.1/", "https://ntfy/", "https://a.example:8443/"].enumerated()
    {
      let isAccepted = try hand.send(UInt64(id), to: url)
      #expect(isAccepted)
    }
    #expect(
      hand.results == [
        .refused(.address("loopback")), .refused(.singleLabel), .refused(.port(8_443)),
      ])
    #expect(hand.connections.isEmpty && hand.sender.isEmpty)
  }

  @Test func aNameWithoutAnAllowedAddressIsRefused() throws {
    var hand = try SenderInHand()
    try hand.send(1)
    hand.lose(hand.connections[0], .addressNotAllowed)
    #expect(hand.results == [.refused(.resolvedAddresses)])
    #expect(hand.sender.isEmpty && hand.sender.nextDeadline == nil)
  }

  @Test func theOwnersAddressIsChecked() {
    for subject in ["me@example.org", ""] {
      #expect(PushSender(rules: PushRules(), secrets: secrets(seed: 1), subject: subject) == nil)
    }
  }

  // MARK: answers

  @Test(arguments: [
    ("200 OK\r\n", PushAnswer.sent), ("201 Created\r\nLocation: https://a.example/r/1\r\n", .sent),
    ("202 Accepted\r\n", .sent), ("404 Not Found\r\n", .gone), ("410 Gone\r\n", .gone),
    ("400 Bad Request\r\n", .invalid(status: 400)),
    ("413 Content Too Large\r\n", .invalid(status: 413)),
    ("401 Unauthorized\r\n", .keyRefused(status: 401)),
    ("403 Forbidden\r\n", .keyRefused(status: 403)),
    ("429 Too Many Requests\r\nRetry-After: 120\r\n", .throttled(milliseconds: 120_000)),
    ("429 Too Many Requests\r\n", .throttled(milliseconds: 60_000)),
    (
      "503 Service Unavailable\r\nRetry-After: Sun, 01 Mar 2026 12:05:00 GMT\r\n",
      .paused(milliseconds: 300_000)
    ),
    ("500 Internal Server Error\r\n", .failed(status: 500)), ("502 \r\n", .failed(status: 502)),
    ("307 Temporary Redirect\r\nLocation: https://127.0.0.1/\r\n", .redirected(status: 307)),
    ("301 Moved Permanently\r\nLocation: https://b.example/\r\n", .redirected(status: 301)),
    ("299 \r\n", .failed(status: 299)),
  ])
  func eachAnswerHasItsMeaning(lines: String, answer: PushAnswer) throws {
    let text = "HTTP/1.1 \(lines)Content-Length: 3\r\n\r\nyes"
    for parts in [[Array(text.utf8)], text.utf8.map { [$0] }] {
      var hand = try SenderInHand()
      try hand.send(1)
      let id = hand.connections[0]
      hand.establish(id)
      for part in parts { hand.answer(id, part) }
      #expect(hand.outcomes == [PushOutcome(id: 1, result: .answered(answer))])
      #expect(hand.connections == [id], "no redirect is followed")
      #expect(hand.open == [id], "the connection can be used again")
      #expect(hand.requests[id]?.count == 1)
    }
  }

  @Test(arguments: [
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
      + "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
  ])
  func anyFramingOfAnAnswerIsRead(text: String) throws {
    var hand = try SenderInHand()
    try hand.send(1)
    hand.establish(hand.connections[0])
    for byte in text.utf8 { hand.answer(hand.connections[0], [byte]) }
    #expect(hand.results == [.answered(.sent)])
    #expect(hand.open == hand.connections)
  }

  @Test(arguments: [
    CloseCause.connectFailed("Connection refused"), .notTrusted(.otherName),
    .failed("Connection reset by peer"), .endOfStream,
  ])
  func aLostConnectionIsTold(cause: CloseCause) throws {
    var hand = try SenderInHand()
    try hand.send(1)
    hand.lose(hand.connections[0], cause)
    try hand.send(2)
    hand.establish(hand.connections[1])
    hand.lose(hand.connections[1], cause)
    #expect(
      hand.outcomes
        == [1, 2].map { PushOutcome(id: $0, result: .unreachable(.connection(cause))) })
    #expect(hand.sender.isEmpty && hand.sender.nextDeadline == nil)
    #expect(hand.closed.isEmpty, "they are closed already")
    #expect(!PushFault.connection(cause).description.isEmpty)
  }

  @Test func aResetWithinTheHeadIsNoAnswer() throws {
    var hand = try SenderInHand()
    try hand.send(1)
    hand.establish(hand.connections[0])
    hand.answer(hand.connections[0], "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n")
    hand.lose(hand.connections[0], .failed("reset"))
    #expect(hand.results == [.unreachable(.connection(.failed("reset")))])
  }

  @Test func aResetWithinTheBodyComesAfterTheAnswer() throws {
    var hand = try SenderInHand()
    try hand.send(1)
    hand.establish(hand.connections[0])
    hand.answer(hand.connections[0], "HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\n{")
    #expect(hand.results == [.answered(.gone)])
    hand.lose(hand.connections[0], .failed("reset"))
    #expect(hand.results == [.answered(.gone)])
    #expect(hand.sender.isEmpty)
  }

  @Test(arguments: [
    "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 201\r\n", "HTTP/1.1 abc\r\n",
    "HTTP/1.1 201 Created\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 201 Created\n\n",
    "HTTP/1.1 201 Created\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
  ])
  func whatIsNotHTTPIsNoAnswer(text: String) throws {
    var hand = try SenderInHand()
    try hand.send(1)
    hand.establish(hand.connections[0])
    hand.answer(hand.connections[0], text)
    #expect(hand.results == [.unreachable(.malformed)])
    #expect(hand.closed == [hand.connections[0]])
    #expect(hand.sender.isEmpty)
  }

  @Test func aLongBodyIsNotRead() throws {
    for fields in ["Content-Length: 4194304\r\n", "Transfer-Encoding: chunked\r\n", ""] {
      var hand = try SenderInHand()
      try hand.send(1)
      let id = hand.connections[0]
      hand.establish(id)
      let head = "HTTP/1.1 201 Created\r\n\(fields)\r\n"
      hand.answer(id, head)
      #expect(hand.results == [.answered(.sent)])
      if hand.sender.owns(id) {
        let chunk = Array((fields.hasPrefix("T") ? "400000\r\n" : "").utf8)
        hand.answer(
          id, chunk + [UInt8](repeating: 0x61, count: Limits.wakeAnswerBytes - head.utf8.count))
      }
      #expect(hand.closed == [id])
      #expect(hand.results == [.answered(.sent)])
      #expect(hand.sender.isEmpty)
    }
  }

  @Test func fourMegabytesAtOnceAreCutAfterTheLimit() throws {
    let body = [UInt8](repeating: 0x61, count: 4 << 20)
    for (head, result) in [
      ("HTTP/1.1 404 Not Found\r\n\r\n", Result.answered(.gone)),
      ("HTTP/1.1 404 Not Found\r\nX: ", .unreachable(.tooLong)),
      ("HTTP/1.1 404 ", .unreachable(.tooLong)), ("", .unreachable(.tooLong)),
    ] {
      var hand = try SenderInHand()
      try hand.send(1)
      hand.establish(hand.connections[0])
      hand.answer(hand.connections[0], Array(head.utf8) + body)
      #expect(hand.results == [result], "\(head)")
      #expect(hand.closed == [hand.connections[0]])
    }
  }

  @Test func anAnswerOfTheLimitIsReadAndReused() throws {
    let head = "HTTP/1.1 201 Created\r\nContent-Length: 4000\r\nX: "
    let rest = Limits.wakeAnswerBytes - 4_000 - head.utf8.count - 4
    let padded = head + String(repeating: "x", count: rest) + "\r\n\r\n"
    var hand = try SenderInHand()
    try hand.send(1)
    let id = hand.connections[0]
    hand.establish(id)
    hand.answer(id, Array(padded.utf8) + [UInt8](repeating: 0, count: 4_000))
    #expect(hand.results == [.answered(.sent)])
    #expect(hand.open == [id])
    try hand.send(2)
    hand.answer(id, Array(padded.utf8) + [UInt8](repeating: 0, count: 4_001))
    #expect(hand.results == [.answered(.sent), .answered(.sent)])
    #expect(hand.closed == [id], "one more byte belongs to no push")
  }

  // MARK: time

  @Test func aServiceThatNeverAnswersIsGivenUp() throws {
    for isEstablished in [false, true] {
      var hand = try SenderInHand()
      try hand.send(1)
      let start = hand.moment.instant
      hand.advance(milliseconds: 4_000)
      // Connecting counts, too.
      if isEstablished { hand.establish(hand.connections[0]) }
      #expect(
        hand.sender.nextDeadline
          == start.advanced(milliseconds: Limits.wakeAnswerMilliseconds))
      hand.advance(milliseconds: 5_999)
      #expect(hand.outcomes.isEmpty)
      hand.advance(milliseconds: 1)
      #expect(hand.results == [.unreachable(.timedOut)])
      #expect(hand.closed == [hand.connections[0]])
      #expect(hand.sender.isEmpty && hand.sender.nextDeadline == nil)
    }
  }

  @Test func aSlowBodyIsGivenUpAfterItsAnswer() throws {
    var hand = try SenderInHand()
    try hand.send(1)
    let id = hand.connections[0]
    hand.establish(id)
    hand.answer(id, "HTTP/1.1 201 Created\r\nContent-Length: 20\r\n\r\n")
    for _ in 0..<9 {
      hand.advance(milliseconds: 1_000)
      hand.answer(id, "x")
    }
    #expect(hand.open == [id])
    hand.advance(milliseconds: 1_000)
    #expect(hand.closed == [id])
    #expect(hand.results == [.answered(.sent)])
  }

  @Test func aSlowHeadIsNoAnswer() throws {
    var hand = try SenderInHand()
    try hand.send(1)
    hand.establish(hand.connections[0])
    for byte in SenderInHand.created.utf8 {
      hand.answer(hand.connections[0], [byte])
      hand.advance(milliseconds: 500)
    }
    #expect(hand.results == [.unreachable(.timedOut)])
  }

  // MARK: connections

  @Test func aConnectionCarriesOnePushAfterAnother() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    let id = hand.connections[0]
    for number: UInt64 in 2...5 {
      try hand.send(number, to: "https://push.example.net/\(number)")
      hand.answer(id, SenderInHand.created)
    }
    #expect(hand.outcomes.map(\.id) == [1, 2, 3, 4, 5])
    #expect(hand.results.allSatisfy { $0 == .answered(.sent) })
    #expect(hand.connections == [id])
    #expect(hand.requests[id]?.count == 5)
    // Another port is another service.
    try hand.send(6, to: "https://push.example.net.example/")
    #expect(hand.connections.count == 2)
  }

  @Test(arguments: [
    "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 201 Created\r\n\r\n",
    SenderInHand.created + "HTTP/1.1 408 Request Timeout\r\n\r\n", SenderInHand.created + "\r\n",
  ])
  func aConnectionThatEndsIsNotUsedAgain(answer: String) throws {
    var hand = try SenderInHand()
    try hand.send(1)
    let id = hand.connections[0]
    hand.establish(id)
    hand.answer(id, answer)
    #expect(hand.results == [.answered(.sent)])
    if hand.sender.owns(id) { hand.lose(id) }
    try hand.send(2)
    #expect(hand.connections.count == 2)
  }

  @Test func anIdleConnectionIsClosedAfterItsTime() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    hand.advance(milliseconds: Limits.wakeIdleMilliseconds - 1)
    #expect(hand.open == hand.connections)
    try hand.send(2)
    hand.answer(hand.connections[0], SenderInHand.created)
    hand.advance(milliseconds: Limits.wakeIdleMilliseconds - 1)
    #expect(hand.open == hand.connections)
    hand.advance(milliseconds: 1)
    #expect(hand.closed == [hand.connections[0]])
    #expect(hand.sender.isEmpty && hand.sender.nextDeadline == nil)
  }

  @Test func bytesOnAnIdleConnectionCloseIt() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    hand.answer(hand.connections[0], "HTTP/1.1 408 Request Timeout\r\n\r\n")
    #expect(hand.closed == [hand.connections[0]])
    #expect(hand.outcomes.count == 1)
  }

  @Test func aPushOnAConnectionThatJustClosesIsSentOnceMore() throws {
    for cause in [CloseCause.endOfStream, .failed("Connection reset by peer")] {
      var hand = try SenderInHand()
      try hand.prove(1)
      let start = hand.moment.instant
      try hand.send(2)
      hand.advance(milliseconds: 3_000)
      hand.lose(hand.connections[0], cause)
      #expect(hand.outcomes.count == 1)
      try #require(hand.connections.count == 2)
      let second = hand.connections[1]
      #expect(
        hand.sender.nextDeadline
          == start.advanced(milliseconds: Limits.wakeAnswerMilliseconds), "in the same time")
      hand.establish(second)
      let request = try SentRequest(try #require(hand.requests[second]?.first))
      #expect(request.field("Topic") == "topic-2")
      hand.answer(second, SenderInHand.created)
      #expect(hand.outcomes.map(\.id) == [1, 2])
      #expect(hand.results == [.answered(.sent), .answered(.sent)])
    }
  }

  @Test func thatIsDoneOnlyOnce() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    try hand.send(2)
    hand.lose(hand.connections[0])
    hand.establish(hand.connections[1])
    hand.lose(hand.connections[1])
    #expect(
      hand.results == [.answered(.sent), .unreachable(.connection(.endOfStream))])
    #expect(hand.connections.count == 2)
  }

  @Test func aPushWhoseAnswerHasBegunIsNotSentOnceMore() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    try hand.send(2)
    hand.answer(hand.connections[0], "H")
    hand.lose(hand.connections[0])
    #expect(
      hand.results == [.answered(.sent), .unreachable(.connection(.endOfStream))])
    #expect(hand.connections.count == 1)
  }

  // MARK: keys

  @Test(arguments: [401, 403])
  func aRefusedTokenIsSignedAnew(status: Int) throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    let id = hand.connections[0]
    hand.advance(milliseconds: 2_000)
    try hand.send(2, madeAt: 2)
    hand.answer(id, SenderInHand.created)
    try hand.send(3)
    hand.answer(id, "HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
    hand.advance(milliseconds: 2_000)
    try hand.send(4)
    hand.answer(id, SenderInHand.created)
    try hand.send(5, madeAt: 2)
    hand.answer(id, SenderInHand.created)
    let tokens = try (hand.requests[id] ?? []).map { try SentRequest($0).field("Authorization") }
    #expect(tokens[2] == tokens[0])
    #expect(tokens[3] != tokens[0], "the refused one")
    #expect(tokens[4] == tokens[1], "the one of another key")
    #expect(hand.results[2] == .answered(.keyRefused(status: status)))
  }

  @Test func onlyKeysThatAreThereSign() throws {
    var hand = try SenderInHand()
    try hand.send(1, madeAt: 9)
    #expect(hand.results == [.unreachable(.noKey)])
    #expect(hand.connections.isEmpty)
    try hand.prove(2)
    let id = hand.connections[0]
    hand.setKeys([(madeAt: 1, key: hand.key), (madeAt: 3, key: hand.otherKey)])
    hand.advance(milliseconds: 2_000)
    try hand.send(3)
    hand.answer(id, SenderInHand.created)
    try hand.send(4, madeAt: 3)
    hand.answer(id, SenderInHand.created)
    try hand.send(5, madeAt: 2)
    #expect(hand.results.last == .unreachable(.noKey))
    let tokens = try (hand.requests[id] ?? []).map { try SentRequest($0).field("Authorization") }
    #expect(tokens.count == 3)
    #expect(tokens[1] == tokens[0], "a key that stays keeps its tokens")
    // A key that is dropped while its push connects.
    try hand.send(6, to: "https://b.example/")
    hand.setKeys([])
    hand.establish(try #require(hand.connections.last))
    #expect(hand.outcomes.last == PushOutcome(id: 6, result: .unreachable(.noKey)))
    hand.advance(milliseconds: Limits.wakeIdleMilliseconds)
    #expect(hand.sender.isEmpty)
  }

  // MARK: end

  @Test func aStoppedSenderEndsWhatIsUnderWayAndNothingElse() throws {
    var hand = try SenderInHand()
    try hand.prove(1)
    try hand.prove(2, to: "https://b.example/")
    try hand.send(3)
    for number: UInt64 in 4...6 { try hand.send(number, to: "https://c.example/") }
    hand.stop()
    #expect(hand.outcomes.suffix(2).map(\.id) == [5, 6])
    #expect(hand.results.suffix(2) == [.unreachable(.stopped), .unreachable(.stopped)])
    #expect(hand.closed == [hand.connections[1]], "the idle one")
    let isAccepted = try hand.send(7)
    #expect(!isAccepted)
    hand.answer(hand.connections[0], SenderInHand.created)
    hand.establish(hand.connections[2])
    hand.answer(hand.connections[2], SenderInHand.created)
    #expect(hand.outcomes.map(\.id) == [1, 2, 5, 6, 3, 4])
    #expect(hand.sender.isEmpty && hand.closed.count == 3)
  }
}

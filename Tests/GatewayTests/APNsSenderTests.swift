import LockstepModel
import LockstepRuntime
import Testing

@testable import LockstepGateway

/// A sender, and the servers at the other end of its connections.
private final class Stage {
  var sender = APNsSender(Samples.team)
  var now = Samples.moment()
  private(set) var opened: [(id: ConnectionID, host: APNsHost)] = []
  private(set) var closed: [ConnectionID] = []
  private(set) var outcomes: [APNsSender.Outcome] = []
  private(set) var reports: [APNsReport] = []
  /// Frames of the client, by connection.
  private(set) var frames: [ConnectionID: [HTTP2Peer.Frame]] = [:]
  private var peers: [ConnectionID: HTTP2Peer] = [:]
  private var nextPush: UInt64 = 0

  func perform() {
    while let outcome = sender.nextOutcome() { outcomes.append(outcome) }
    while let action = sender.nextAction() {
      switch action {
      case .open(let id, let host): opened.append((id, host))
      case .close(let id): closed.append(id)
      case .report(let report): reports.append(report)
      case .send(let id, let bytes):
        let found = peers[id, default: HTTP2Peer()].frames(in: bytes)
        frames[id, default: []] += found
      }
    }
  }

  @discardableResult
  func push(_ environment: APNsEnvironment = .production) -> Bool {
    let notification = APNsNotification(
      id: nextPush, target: Samples.target(environment), expires: 0, collapseID: nil,
      message: [1, 2, 3])
    nextPush += 1
    defer { perform() }
    return sender.send(notification, at: now)
  }

  func receive(_ bytes: [UInt8], on number: Int = 0) {
    sender.received(opened[number].id, bytes.span.bytes, at: now)
    perform()
  }

  /// Establishes a connection: the server sends its settings.
  func establish(_ number: Int = 0, streams: Int = 100) {
    sender.opened(opened[number].id, at: now)
    receive(HTTP2Peer.settings(streams: streams), on: number)
  }

  func lose(_ number: Int, _ cause: CloseCause = .endOfStream) {
    sender.closed(opened[number].id, cause, at: now)
    perform()
  }

  /// Lets the time pass, deadline by deadline.
  func wait(_ milliseconds: Int64) {
    let end = Moment(
      instant: now.instant.advanced(milliseconds: milliseconds), wall: now.wall + milliseconds)
    while let next = sender.nextDeadline, next <= end.instant {
      now = Moment(
        instant: next, wall: now.wall + next.milliseconds(since: now.instant))
      sender.expire(at: now)
      perform()
    }
    now = end
  }

  /// Streams of requests on a connection.
  func requests(_ number: Int = 0) -> [Int32] {
    (frames[opened[number].id] ?? []).filter { $0.type == HTTP2Peer.headers }.map(\.stream)
  }

  func count(_ type: UInt8, on number: Int = 0) -> Int {
    (frames[opened[number].id] ?? []).count { $0.type == type }
  }

  var results: [APNsResult] { outcomes.map(\.result) }
}

struct APNsSenderTests {
  @Test func connectionIsOpenedForTheFirstPushOfAnEnvironment() {
    let stage = Stage()
    #expect(stage.sender.nextDeadline == nil)
    stage.push()
    stage.push()
    #expect(stage.opened.map(\.host) == [APNsHost(host: "api.push.apple.com", port: 443)])
    stage.push(.development)
    #expect(stage.opened.last?.host.host == "api.sandbox.push.apple.com")
    #expect(stage.opened.count == 2)
  }

  @Test func pushIsSentOnceTheSettingsAreThere() {
    let stage = Stage()
    stage.push()
    stage.sender.opened(stage.opened[0].id, at: stage.now)
    stage.perform()
    #expect(stage.requests().isEmpty)
    stage.receive(HTTP2Peer.settings())
    #expect(stage.requests() == [1])
    stage.receive(HTTP2Peer.answer(200, stream: 1))
    #expect(stage.results == [.accepted(notification: nil)])
    stage.push()
    #expect(stage.requests() == [1, 3])
    #expect(stage.opened.count == 1)
  }

  @Test func noMoreStreamsAreOpenThanAPNsAllows() {
    let stage = Stage()
    for _ in 0..<5 { stage.push() }
    stage.establish(streams: 1)
    var answered: [Int32] = []
    for stream: Int32 in [1, 3, 5, 7, 9] {
      #expect(stage.requests() == answered + [stream])
      answered.append(stream)
      stage.receive(HTTP2Peer.answer(200, stream: stream))
    }
    #expect(stage.outcomes.map(\.id) == [0, 1, 2, 3, 4])
  }

  @Test func streamsWaitWhileAPNsAllowsNone() {
    let stage = Stage()
    stage.push()
    stage.establish(streams: 0)
    #expect(stage.requests().isEmpty)
    stage.receive(HTTP2Peer.settings(streams: 1))
    #expect(stage.requests() == [1])
  }

  @Test func queueIsBounded() {
    let stage = Stage()
    for _ in 0..<GatewayLimits.waitingPushes { #expect(stage.push()) }
    #expect(!stage.push())
    #expect(stage.push(.development), "the other environment has its own queue")
    stage.wait(GatewayLimits.pushMilliseconds)
    #expect(stage.outcomes.count == GatewayLimits.waitingPushes + 1)
    #expect(stage.sender.pendingCount == 0)
  }

  @Test func pushesOfALostConnectionGoOnTheNextOne() {
    let stage = Stage()
    stage.push()
    stage.establish()
    stage.receive(HTTP2Peer.answer(200, stream: 1))
    stage.push()
    stage.push()
    stage.lose(0)
    #expect(stage.opened.count == 2, "a connection that has worked is replaced at once")
    stage.establish(1)
    #expect(stage.requests(1) == [1, 3])
  }

  @Test func refusedStreamIsSentAgainButNotForever() {
    let stage = Stage()
    stage.push()
    stage.establish()
    for number in 0..<GatewayLimits.attempts {
      stage.receive(HTTP2Peer.reset(Int32(2 * number + 1), code: 7))
    }
    #expect(stage.requests() == [1, 3, 5])
    #expect(stage.results == [.unavailable(milliseconds: 60_000)])
  }

  @Test func goAwayLetsOpenStreamsEndAndMovesTheOthers() {
    let stage = Stage()
    for _ in 0..<3 { stage.push() }
    stage.establish()
    stage.receive(HTTP2Peer.answer(200, stream: 1))
    stage.receive(HTTP2Peer.goAway(last: 3))
    #expect(stage.opened.count == 2)
    stage.establish(1)
    #expect(stage.requests(1) == [1], "the stream after the last one")
    #expect(stage.closed.isEmpty)
    stage.receive(HTTP2Peer.answer(200, stream: 3))
    #expect(stage.closed == [stage.opened[0].id])
    stage.receive(HTTP2Peer.answer(200, stream: 1), on: 1)
    #expect(Set(stage.outcomes.map(\.id)) == [0, 1, 2])
  }

  /// Each of them is ended while a push on it has no answer, which must not add up.
  @Test func drainingConnectionsCountAsConnections() {
    let stage = Stage()
    for number in 0..<5 * GatewayLimits.connectionsPerEnvironment {
      stage.push()
      #expect(stage.opened.count == number + 1, "one connection takes the next push")
      stage.establish(number)
      stage.receive(HTTP2Peer.answer(200, stream: stage.requests(number).last ?? 0), on: number)
      stage.push()
      let last = stage.requests(number).last ?? 0
      stage.receive(HTTP2Peer.goAway(last: last), on: number)
      let open = Set(stage.opened.map(\.id)).subtracting(stage.closed)
      #expect(open.count <= GatewayLimits.connectionsPerEnvironment, "after \(number + 1)")
    }
    stage.wait(GatewayLimits.pushMilliseconds)
    #expect(stage.outcomes.count == 10 * GatewayLimits.connectionsPerEnvironment)
  }

  @Test func oldestDrainingConnectionMakesRoomAndItsPushGoesOn() {
    let stage = Stage()
    for number in 0..<GatewayLimits.connectionsPerEnvironment {
      stage.push()
      stage.establish(number)
      stage.receive(HTTP2Peer.answer(200, stream: 1), on: number)
      stage.push()
      stage.receive(HTTP2Peer.goAway(last: 3), on: number)
    }
    #expect(stage.closed.isEmpty)
    stage.push()
    #expect(stage.closed == [stage.opened[0].id])
    #expect(stage.opened.count == GatewayLimits.connectionsPerEnvironment + 1)
    stage.establish(GatewayLimits.connectionsPerEnvironment)
    #expect(
      stage.requests(GatewayLimits.connectionsPerEnvironment) == [1, 3],
      "the push of the connection that was given up, and the new one")
  }

  /// Each of these connections is ended before it has carried an answer.
  @Test func peerThatEndsEachConnectionIsConnectedToLessAndLessOften() {
    let stage = Stage()
    var times: [Int64] = []
    for number in 0..<4 {
      stage.push()
      var waited: Int64 = 0
      while stage.opened.count == number, waited < 60_000 {
        stage.wait(100)
        waited += 100
        if stage.sender.pendingCount == 0 { stage.push() }
      }
      times.append(waited)
      stage.establish(number)
      stage.receive(HTTP2Peer.goAway(last: 0), on: number)
    }
    #expect(times == [0, 500, 1_000, 2_000])
  }

  @Test func pushWithoutAnAnswerEndsBeforeTheRelayGivesUp() {
    let stage = Stage()
    stage.push()
    stage.establish()
    stage.wait(GatewayLimits.pushMilliseconds - 1)
    #expect(stage.outcomes.isEmpty)
    stage.wait(1)
    #expect(stage.results == [.unavailable(milliseconds: 60_000)])
    #expect(stage.closed == [stage.opened[0].id], "nothing has come since the push was sent")
    #expect(GatewayLimits.pushMilliseconds < Limits.wakeAnswerMilliseconds)
  }

  @Test func lateAnswerDoesNotEndAConnectionOnWhichOthersAreAnswered() {
    let stage = Stage()
    stage.push()
    stage.establish()
    stage.wait(1_000)
    stage.push()
    stage.receive(HTTP2Peer.answer(200, stream: 3))
    stage.wait(7_000)
    #expect(stage.outcomes.map(\.id) == [1, 0])
    #expect(stage.closed.isEmpty)
    #expect(stage.count(HTTP2Peer.reset) == 1)
  }

  @Test func silentConnectionIsAskedAndThenGivenUp() {
    let stage = Stage()
    stage.push()
    stage.establish()
    stage.receive(HTTP2Peer.answer(200, stream: 1))
    stage.wait(GatewayLimits.silenceMilliseconds)
    #expect(stage.count(HTTP2Peer.ping) == 1)
    stage.receive(HTTP2Peer.frame(HTTP2Peer.ping, flags: 1, [0, 0, 0, 0, 0, 0, 0, 0]))
    stage.wait(GatewayLimits.silenceMilliseconds)
    #expect(stage.count(HTTP2Peer.ping) == 2)
    #expect(stage.closed.isEmpty)
    stage.wait(GatewayLimits.pingMilliseconds)
    #expect(stage.closed == [stage.opened[0].id])
    #expect(stage.opened.count == 1, "the next push opens another one")
    #expect(stage.sender.nextDeadline == nil)
  }

  /// A relay has few connections to a gateway, so each push that waits in vain delays others.
  @Test func pushThatCannotBeSentInTimeIsAnsweredAtOnce() {
    let stage = Stage()
    stage.push()
    for length: Int64 in [500, 1_000, 2_000, 4_000] {
      stage.lose(stage.opened.count - 1, .failed("refused"))
      #expect(stage.outcomes.isEmpty, "the next connection is tried in time")
      stage.wait(length)
    }
    stage.lose(stage.opened.count - 1, .failed("refused"))
    #expect(stage.results == [.unavailable(milliseconds: 8_000)])
    stage.push()
    #expect(stage.results.count == 2)
    stage.push(.development)
    #expect(stage.results.count == 2, "the other environment is not concerned")
    stage.wait(1_000)
    stage.push()
    #expect(stage.results.count == 2, "it can be sent in time")
    stage.wait(7_000)
    #expect(stage.opened.count { $0.host.host == "api.push.apple.com" } == 6)
  }

  @Test func connectionThatNeverGetsReadyIsGivenUp() {
    let stage = Stage()
    stage.push()
    stage.sender.opened(stage.opened[0].id, at: stage.now)
    stage.perform()
    stage.wait(GatewayLimits.connectMilliseconds)
    #expect(stage.closed == [stage.opened[0].id])
    stage.wait(500)
    #expect(stage.opened.count == 2)
  }

  @Test func violationWithPushesOnTheirWayMovesThem() {
    let stage = Stage()
    stage.push()
    stage.establish()
    stage.receive(HTTP2Peer.answer(200, stream: 1))
    stage.push()
    stage.receive(HTTP2Peer.frame(HTTP2Peer.ping, [1]))
    #expect(stage.closed == [stage.opened[0].id])
    stage.establish(1)
    #expect(stage.requests(1) == [1])
  }

  @Test func violationOfTheProtocolEndsTheConnection() {
    let stage = Stage()
    stage.push()
    stage.sender.opened(stage.opened[0].id, at: stage.now)
    stage.receive(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
    #expect(stage.closed == [stage.opened[0].id])
    #expect(
      stage.reports.contains(
        .lost(.production, .violated, retryMilliseconds: 500)))
  }

  @Test func peerThatDoesNotReadIsGivenUp() {
    let stage = Stage()
    stage.push()
    stage.establish()
    stage.sender.drained(
      stage.opened[0].id, unsent: GatewayLimits.unsentBytes + 1, at: stage.now)
    stage.perform()
    #expect(stage.closed == [stage.opened[0].id])
  }

  @Test func expiredTokenIsReplacedAndThePushRepeated() {
    let stage = Stage()
    stage.push()
    stage.push()
    stage.establish()
    stage.receive(HTTP2Peer.answer(403, stream: 1, reason: "ExpiredProviderToken"))
    #expect(stage.requests() == [1, 3, 5])
    // It was sent with the token before, too.
    stage.receive(HTTP2Peer.answer(403, stream: 3, reason: "ExpiredProviderToken"))
    #expect(stage.requests() == [1, 3, 5, 7])
    stage.receive(HTTP2Peer.answer(200, stream: 7))
    // A token that was made just now cannot have expired.
    stage.receive(HTTP2Peer.answer(403, stream: 5, reason: "ExpiredProviderToken"))
    #expect(stage.results == [.accepted(notification: nil), .misconfigured])
    #expect(stage.reports.contains(.clockWrong(.production)))
  }

  @Test func tooManyTokensStopAllPushesForAWhile() {
    let stage = Stage()
    for _ in 0..<3 { stage.push() }
    stage.establish()
    stage.receive(HTTP2Peer.answer(429, stream: 1, reason: "TooManyProviderTokenUpdates"))
    stage.receive(HTTP2Peer.answer(429, stream: 3, reason: "TooManyProviderTokenUpdates"))
    stage.receive(HTTP2Peer.answer(429, stream: 5, reason: "TooManyProviderTokenUpdates"))
    #expect(stage.results == Array(repeating: .unavailable(milliseconds: 60_000), count: 3))
    #expect(stage.closed == [stage.opened[0].id])
    stage.wait(20_000)
    stage.push()
    #expect(stage.results.last == .unavailable(milliseconds: 40_000), "at once")
    #expect(stage.opened.count == 1)
    stage.wait(40_000)
    stage.push()
    #expect(stage.opened.count == 2)
    stage.establish(1)
    stage.receive(
      HTTP2Peer.answer(429, stream: 1, reason: "TooManyProviderTokenUpdates"), on: 1)
    #expect(stage.results.last == .unavailable(milliseconds: 120_000))
  }

  @Test func stoppedSenderEndsWhatIsPendingAndCloses() {
    let stage = Stage()
    stage.push()
    stage.establish()
    stage.sender.stop(at: stage.now)
    stage.perform()
    #expect(!stage.push())
    #expect(stage.closed.isEmpty)
    stage.receive(HTTP2Peer.answer(200, stream: 1))
    #expect(stage.results == [.accepted(notification: nil)])
    #expect(stage.closed == [stage.opened[0].id])
    #expect(stage.count(HTTP2Peer.goAway) == 1)
    #expect(!stage.sender.hasConnections)
  }
}

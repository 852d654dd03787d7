import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import LockstepWire
import Testing

@testable import LockstepGateway

/// A gateway node, a client of it, and APNs.
private final class Stage {
  private var node: GatewayNode
  var now = Samples.moment()
  private(set) var sent: [ConnectionID: [UInt8]] = [:]
  private(set) var opened: [ConnectionID] = []
  private(set) var closed: [ConnectionID] = []
  private(set) var reports: [GatewayReport] = []
  private var nextClient: UInt64 = 1
  private var parsers: [ConnectionID: HTTPResponseParser] = [:]

  init(trustedProxies: [IPNetwork] = []) throws {
    var configuration = try #require(
      GatewayConfiguration(
        publicURL: try PushEndpoint(Samples.origin), topics: ["com.example.app"],
        sealingKey: [UInt8](repeating: 7, count: 64), team: Samples.team))
    configuration.trustedProxies = trustedProxies
    node = GatewayNode(configuration)
  }

  private func perform() {
    while let action = node.nextAction() {
      switch action {
      case .open(let id, _): opened.append(id)
      case .send(let id, let bytes): sent[id, default: []] += bytes
      case .close(let id, _): closed.append(id)
      case .report(let report): reports.append(report)
      case .multicast, .pauseReading, .resumeReading, .run, .broadcast: break
      }
    }
  }

  func handle(_ event: NodeEvent<NoJob, Never, Never>) {
    node.handle(event, at: now)
    perform()
  }

  func receive(_ id: ConnectionID, _ bytes: [UInt8]) {
    node.received(id, bytes.span.bytes, at: now)
    perform()
  }

  func connect(
    from host: String = "192.0.2.1", _ kind: Opening.ListenerKind = .public
  ) -> ConnectionID {
    let id = ConnectionID(rawValue: nextClient)
    nextClient += 1
    handle(.opened(id, Opening(listenerKind: kind, peer: .host(host, port: 1))))
    return id
  }

  func wait(_ milliseconds: Int64) {
    let end = Samples.moment(now.wall - Samples.wall + milliseconds)
    while let next = node.nextDeadline, next <= end.instant {
      now = Moment(instant: next, wall: now.wall + next.milliseconds(since: now.instant))
      handle(.deadlineReached)
    }
    now = end
  }

  /// Returns the first unread answer on a connection.
  func answer(_ id: ConnectionID) throws -> (status: Int, headers: HTTPHeaders, body: [UInt8])? {
    var parser = parsers[id] ?? HTTPResponseParser()
    parser.expectAnswer(to: "POST")
    let bytes = sent.removeValue(forKey: id) ?? []
    parser.receive(bytes.span.bytes)
    var (head, body): (HTTPResponseHead?, [UInt8]) = (nil, [])
    while let event = try parser.next() {
      switch event {
      case .head(let found): head = found
      case .body(let bytes): body += bytes
      case .end:
        parsers[id] = parser
        guard let head else { return nil }
        return (head.status, head.headers, body)
      }
    }
    return nil
  }

  func post(
    _ path: String, _ headers: HTTPHeaders = HTTPHeaders(), _ body: [UInt8],
    on connection: ConnectionID? = nil
  ) throws -> (status: Int, headers: HTTPHeaders, body: [UInt8])? {
    let id = connection ?? connect()
    receive(
      id,
      HTTPWriter.request(
        method: "POST", rawTarget: path, host: "push.example", headers: headers, body: body))
    return try answer(id)
  }

  func endpoint(
    _ token: [UInt8] = Samples.deviceToken, environment: String = "production",
    key: P256PublicKey = Samples.key(1).publicKey, on client: ConnectionID? = nil
  ) throws -> String {
    let body = Stage.body(token, environment: environment, key: key)
    let answer = try #require(try post("/v1/endpoints", HTTPHeaders(), body, on: client))
    let text = try #require(JSONValue(ifJSON: answer.body)?["endpoint"]?.string)
    #expect(text.hasPrefix(Samples.origin + "/v1/push/"))
    return String(text.dropFirst(Samples.origin.count))
  }

  static func body(
    _ token: [UInt8] = Samples.deviceToken, topic: String = "com.example.app",
    environment: String = "production", key: P256PublicKey = Samples.key(1).publicKey
  ) -> [UInt8] {
    Array(
      """
      {"token":"\(HexText.text(of: token))","topic":"\(topic)","environment":"\(environment)",\
      "key":"\(Base64.encodeURL(key.bytes))","x":1}
      """.utf8)
  }

  func headers(
    key: P256PrivateKey = Samples.key(1), audience: String = Samples.origin, ttl: String = "60"
  ) -> HTTPHeaders {
    let claims = VAPIDClaims(
      audience: audience, expires: now.wall / 1_000 + 3_600, subject: nil)
    return [
      "TTL": ttl, "Content-Encoding": "aes128gcm",
      "Authorization": claims.authorization(signedBy: key),
    ]
  }

  /// Lets APNs accept the connection, or answer its next push.
  func apns(_ bytes: [UInt8]) throws {
    receive(try #require(opened.last), bytes)
  }

  /// Streams of the pushes that have reached APNs on its last connection.
  var pushes: [Int32] {
    guard let id = opened.last, let bytes = sent[id] else { return [] }
    var peer = HTTP2Peer()
    return peer.frames(in: bytes).filter { $0.type == HTTP2Peer.headers }.map(\.stream)
  }

  /// Pushes, lets APNs give that answer if it gets the push, and returns the gateway's own.
  func push(
    to endpoint: String, key: P256PrivateKey = Samples.key(1), apns status: Int,
    reason: String? = nil, on relay: ConnectionID
  ) throws -> Int? {
    let before = pushes.count
    if let answer = try post(endpoint, headers(key: key), Samples.push, on: relay) {
      return answer.status
    }
    if before == 0, pushes.isEmpty { try apns(HTTP2Peer.settings()) }
    let stream = try #require(pushes.count > before ? pushes.last : nil)
    try apns(HTTP2Peer.answer(status, stream: stream, reason: reason))
    return try answer(relay)?.status
  }
}

struct GatewayNodeTests {
  private func code(_ body: [UInt8]) -> String? { JSONValue(ifJSON: body)?["code"]?.string }

  @Test func pushIsAnsweredOnceAPNsHasAnswered() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let relay = stage.connect()
    #expect(try stage.post(endpoint, stage.headers(), Samples.push, on: relay) == nil)
    stage.handle(.opened(stage.opened[0], Opening(listenerKind: .outgoing, peer: .local(path: ""))))
    try stage.apns(HTTP2Peer.settings())
    #expect(try stage.answer(relay) == nil)
    let id = "01234567-89ab-cdef-0123-456789abcdef"
    try stage.apns(HTTP2Peer.answer(200, stream: 1, fields: [("apns-id", id)]))
    let answer = try #require(try stage.answer(relay))
    #expect(answer.status == 201)
    #expect(answer.headers["Location"] == Samples.origin + "/v1/messages/" + id)
    #expect(answer.headers["TTL"] == "60")
  }

  @Test func requestsOfOneConnectionAreAnsweredInOrder() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let relay = stage.connect()
    let push = HTTPWriter.request(
      method: "POST", rawTarget: endpoint, host: "push.example", headers: stage.headers(),
      body: Samples.push)
    let health = HTTPWriter.request(method: "GET", rawTarget: "/healthz", host: "push.example")
    stage.receive(relay, push + health)
    #expect(try stage.answer(relay) == nil)
    try stage.apns(HTTP2Peer.settings())
    try stage.apns(HTTP2Peer.answer(410, stream: 1, reason: "Unregistered"))
    #expect(try stage.answer(relay)?.status == 410)
    #expect(stage.sent[relay] == nil || stage.sent[relay]?.isEmpty == true)
  }

  @Test func clientThatHasGoneIsNotAnswered() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let relay = stage.connect()
    _ = try stage.post(endpoint, stage.headers(), Samples.push, on: relay)
    stage.handle(.closed(relay, .endOfStream))
    try stage.apns(HTTP2Peer.settings())
    try stage.apns(HTTP2Peer.answer(200, stream: 1))
    #expect(stage.sent[relay] == nil)
  }

  @Test func pushOfAnotherRelayIsRefused() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let answer = try #require(
      try stage.post(endpoint, stage.headers(key: Samples.key(2)), Samples.push))
    #expect(answer.status == 403 && code(answer.body) == "keyRefused")
    #expect(stage.opened.isEmpty, "APNs is not bothered")
  }

  @Test func withoutATokenTheSchemeIsNamed() throws {
    let stage = try Stage()
    let answer = try #require(
      try stage.post(try stage.endpoint(), ["TTL": "1"], Samples.push))
    #expect(answer.status == 401 && answer.headers["WWW-Authenticate"] == "vapid")
  }

  @Test func otherAppsTopicIsRefused() throws {
    let stage = try Stage()
    let answer = try #require(
      try stage.post("/v1/endpoints", HTTPHeaders(), Stage.body(topic: "com.example.other")))
    #expect(answer.status == 403 && code(answer.body) == "topicNotAllowed")
  }

  @Test func plainTextIsNoPush() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    for body in [[], Array("hello".utf8), [UInt8](repeating: 0, count: 200)] {
      let answer = try #require(try stage.post(endpoint, stage.headers(), body))
      #expect(answer.status == 400 && code(answer.body) == "badRequest")
    }
  }

  @Test(arguments: ["", "-1", "1.5", "x", "+1"])
  func malformedTimeToLiveIsRefused(_ ttl: String) throws {
    let stage = try Stage()
    let answer = try #require(
      try stage.post(try stage.endpoint(), stage.headers(ttl: ttl), Samples.push))
    #expect(answer.status == 400)
  }

  @Test func longTimeToLiveIsShortened() throws {
    let stage = try Stage()
    let relay = stage.connect()
    let endpoint = try stage.endpoint()
    let headers = stage.headers(ttl: "99999999999999999999")
    _ = try stage.post(endpoint, headers, Samples.push, on: relay)
    try stage.apns(HTTP2Peer.settings())
    try stage.apns(HTTP2Peer.answer(200, stream: 1))
    #expect(try stage.answer(relay)?.headers["TTL"] == String(28 * 86_400))
  }

  @Test func endpointsOfOneAddressAreLimited() throws {
    let stage = try Stage()
    for _ in 0..<GatewayLimits.endpointsPerNetwork {
      #expect(try stage.post("/v1/endpoints", HTTPHeaders(), Stage.body())?.status == 200)
    }
    let answer = try #require(try stage.post("/v1/endpoints", HTTPHeaders(), Stage.body()))
    #expect(answer.status == 429 && answer.headers["Retry-After"] != nil)
    let other = stage.connect(from: "198.51.100.1")
    #expect(
      try stage.post("/v1/endpoints", HTTPHeaders(), Stage.body(), on: other)?.status == 200)
  }

  @Test func clientsOfATrustedProxyHaveTheirOwnLimits() throws {
    let stage = try Stage(trustedProxies: [try #require(IPNetwork("192.0.2.1"))])
    for _ in 0..<GatewayLimits.endpointsPerNetwork {
      let headers: HTTPHeaders = ["X-Forwarded-For": "203.0.113.1"]
      #expect(try stage.post("/v1/endpoints", headers, Stage.body())?.status == 200)
    }
    for (client, status) in [("203.0.113.1", 429), ("203.0.113.2", 200)] {
      let headers: HTTPHeaders = ["X-Forwarded-For": client]
      #expect(try stage.post("/v1/endpoints", headers, Stage.body())?.status == status)
    }
  }

  /// All accounts of a relay share its address. An account chooses its endpoints freely: those that
  /// no gateway has made, and those that were made for another relay.
  @Test func wrongEndpointsOfOneAccountStopNoOtherOfItsRelay() throws {
    let stage = try Stage()
    let good = try stage.endpoint()
    let foreign = try stage.endpoint(key: Samples.key(2).publicKey)
    let (relay, headers) = (stage.connect(), stage.headers())
    for _ in 0..<1_000 {
      #expect(try stage.post("/v1/push/AAAA", headers, Samples.push, on: relay)?.status == 404)
      #expect(try stage.post(foreign, headers, Samples.push, on: relay)?.status == 403)
    }
    #expect(try stage.post(good, headers, Samples.push, on: relay) == nil, "it waits for APNs")
  }

  @Test func malformedPushesStopNoOther() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let (relay, headers) = (stage.connect(), stage.headers())
    for _ in 0..<1_000 {
      #expect(try stage.post(endpoint, headers, [1], on: relay)?.status == 400)
    }
    #expect(try stage.post(endpoint, headers, Samples.push, on: relay) == nil)
  }

  /// Returns headers that name the relay's key, and are signed by another one.
  private func forged(_ stage: Stage) throws -> HTTPHeaders {
    let genuine = try #require(stage.headers()["Authorization"])
    let signed = try #require(stage.headers(key: Samples.key(2))["Authorization"])
    let (token, key) = (signed.split(separator: ",")[0], genuine.split(separator: ",")[1])
    return ["TTL": "60", "Content-Encoding": "aes128gcm", "Authorization": "\(token),\(key)"]
  }

  @Test func forgedTokensStopNoRelayThatIsKnown() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let (relay, busy, other) = (stage.connect(), stage.connect(), stage.connect())
    let (headers, forged) = (stage.headers(), try forged(stage))
    _ = try stage.post(endpoint, headers, Samples.push, on: busy)
    for _ in 0..<GatewayLimits.failedSignatures {
      #expect(try stage.post(endpoint, forged, Samples.push, on: relay)?.status == 403)
    }
    let answer = try #require(try stage.post(endpoint, forged, Samples.push, on: relay))
    #expect(answer.status == 429 && answer.headers["Retry-After"] != nil)
    #expect(
      try stage.post(endpoint, headers, Samples.push, on: relay) == nil,
      "its token was accepted before")
    let third = try stage.endpoint(key: Samples.key(3).publicKey)
    #expect(
      try stage.post(third, stage.headers(key: Samples.key(3)), Samples.push, on: other) == nil,
      "another relay at the same address")
  }

  @Test func forgedTokensOfOneAddressStopNoOther() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let (attacker, forged) = (stage.connect(from: "198.51.100.1"), try forged(stage))
    for _ in 0...GatewayLimits.failedSignatures {
      _ = try stage.post(endpoint, forged, Samples.push, on: attacker)
    }
    #expect(try stage.post(endpoint, forged, Samples.push, on: attacker)?.status == 429)
    #expect(try stage.post(endpoint, stage.headers(), Samples.push) == nil)
  }

  @Test func acceptedTokenExpiresAllTheSame() throws {
    let stage = try Stage()
    let (endpoint, headers) = (try stage.endpoint(), stage.headers())
    _ = try stage.post(endpoint, headers, Samples.push)
    stage.wait(3_599_000)
    #expect(try stage.post(endpoint, headers, Samples.push) == nil)
    stage.wait(1_000)
    let answer = try #require(try stage.post(endpoint, headers, Samples.push))
    #expect(answer.status == 403 && code(answer.body) == "keyRefused")
  }

  // MARK: tokens of no device

  @Test(arguments: [(410, "Unregistered"), (400, "BadDeviceToken")])
  func deviceThatIsGoneIsNotAskedForAgain(_ status: Int, _ reason: String) throws {
    let stage = try Stage()
    let relay = stage.connect()
    let endpoint = try stage.endpoint()
    #expect(try stage.push(to: endpoint, apns: status, reason: reason, on: relay) == 410)
    #expect(try stage.push(to: endpoint, apns: 200, on: relay) == 410)
    #expect(stage.pushes.count == 1, "APNs is not asked")
    let other = try stage.endpoint(key: Samples.key(2).publicKey)
    #expect(
      try stage.push(to: other, key: Samples.key(2), apns: 200, on: relay) == 201,
      "the app has just asked for an endpoint")
    #expect(try stage.push(to: endpoint, apns: 200, on: relay) == 201)
  }

  @Test func deviceThatWasGoneIsAskedForLater() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    #expect(
      try stage.push(to: endpoint, apns: 410, reason: "Unregistered", on: stage.connect()) == 410)
    stage.wait(GatewayLimits.goneMilliseconds - 1)
    #expect(try stage.push(to: endpoint, apns: 200, on: stage.connect()) == 410)
    stage.wait(1)
    // The silence was too long for the connection.
    _ = try stage.post(endpoint, stage.headers(), Samples.push)
    #expect(stage.opened.count == 2)
  }

  /// Returns tokens that no device has.
  private func invented(_ numbers: Range<Int>) -> [[UInt8]] {
    numbers.map { [0xBA, 0xD0, UInt8($0 >> 8), UInt8($0 & 0xFF)] }
  }

  /// An attacker needs no relay: he makes a key, and pushes himself.
  @Test func inventedTokensOfOneAddressReachAPNsRarely() throws {
    let stage = try Stage()
    let attacker = stage.connect(from: "198.51.100.1")
    let limit = GatewayLimits.badTokensPerNetwork
    for token in invented(0..<limit) {
      let endpoint = try stage.endpoint(token, on: attacker)
      let answer = try stage.push(to: endpoint, apns: 400, reason: "BadDeviceToken", on: attacker)
      #expect(answer == 410)
    }
    let next = try stage.endpoint(invented(limit..<limit + 1)[0], on: attacker)
    let answer = try #require(try stage.post(next, stage.headers(), Samples.push, on: attacker))
    #expect(try meaning(of: answer) == .throttled(milliseconds: GatewayLimits.pauseMilliseconds))
    #expect(stage.pushes.count == limit)
    let relay = stage.connect()
    #expect(try stage.push(to: next, apns: 200, on: relay) == 429, "from wherever it is pushed")
    stage.wait(GatewayLimits.rateMilliseconds / Int64(limit))
    _ = try stage.post(next, stage.headers(), Samples.push, on: stage.connect())
    #expect(stage.pushes.count == limit + 1, "one more now and then")
  }

  /// The attacker's endpoints are those of an account of a relay, which pushes to them.
  @Test func inventedTokensOfOneAccountStopNoOtherOfItsRelay() throws {
    let stage = try Stage()
    let (relay, attacker) = (stage.connect(), stage.connect(from: "198.51.100.1"))
    let known = try stage.endpoint(on: attacker)
    #expect(try stage.push(to: known, apns: 200, on: relay) == 201)
    let limit = GatewayLimits.badTokensPerNetwork
    let endpoints = try invented(0..<limit + 1).map { try stage.endpoint($0, on: attacker) }
    for endpoint in endpoints.dropLast() {
      #expect(
        try stage.push(to: endpoint, apns: 400, reason: "BadDeviceToken", on: relay) == 410)
    }
    #expect(try stage.push(to: endpoints[limit], apns: 200, on: relay) == 429)
    #expect(try stage.push(to: known, apns: 200, on: relay) == 201, "APNs knows the device")
    let new = try stage.endpoint([1], on: stage.connect(from: "203.0.113.1"))
    #expect(try stage.push(to: new, apns: 200, on: relay) == 201, "another address asked for it")
  }

  /// Meaning of an answer for a relay. `.paused` would keep all its pushes from the gateway, of
  /// every app and environment.
  private func meaning(
    of answer: (status: Int, headers: HTTPHeaders, body: [UInt8])?
  ) throws -> PushAnswer {
    let answer = try #require(answer)
    return PushAnswer(
      status: answer.status, retryAfter: answer.headers["Retry-After"], at: Samples.wall)
  }

  @Test(arguments: [500, 503])
  func failureOfTheSandboxStopsNoPushToProduction(_ status: Int) throws {
    let stage = try Stage()
    let relay = stage.connect()
    let sandbox = try stage.endpoint(environment: "development")
    _ = try stage.post(sandbox, stage.headers(), Samples.push, on: relay)
    try stage.apns(HTTP2Peer.settings())
    try stage.apns(HTTP2Peer.answer(status, stream: 1, reason: "InternalServerError"))
    let answer = try #require(try stage.answer(relay))
    #expect(try meaning(of: answer) == .failed(status: 502))
    #expect(code(answer.body) == "apnsUnavailable")
    _ = try stage.post(try stage.endpoint(), stage.headers(), Samples.push, on: relay)
    try stage.apns(HTTP2Peer.settings())
    try stage.apns(HTTP2Peer.answer(200, stream: 1))
    #expect(try stage.answer(relay)?.status == 201)
  }

  @Test func serverThatIsAwayConcernsThePushAlone() throws {
    let stage = try Stage()
    let relay = stage.connect()
    _ = try stage.post(try stage.endpoint(), stage.headers(), Samples.push, on: relay)
    stage.wait(GatewayLimits.pushMilliseconds)
    #expect(try meaning(of: try stage.answer(relay)) == .failed(status: 502))
  }

  @Test func fullQueueOfTheSandboxConcernsItsPushesAlone() throws {
    let stage = try Stage()
    for number in 0..<GatewayLimits.waitingPushes {
      let token = [UInt8(number >> 8), UInt8(number & 0xFF)]
      let client = stage.connect(from: "192.0.2.\(number / 50)")
      let endpoint = try stage.endpoint(token, environment: "development", on: client)
      let answer = try stage.post(endpoint, stage.headers(), Samples.push, on: client)
      try #require(answer == nil, "it waits")
    }
    let relay = stage.connect(from: "198.51.100.1")
    let sandbox = try stage.endpoint(environment: "development", on: relay)
    let answer = try stage.post(sandbox, stage.headers(), Samples.push, on: relay)
    #expect(try meaning(of: answer) == .failed(status: 502))
    let production = try stage.endpoint(on: relay)
    #expect(try stage.post(production, stage.headers(), Samples.push, on: relay) == nil)
  }

  @Test func stoppingGatewayAsksRelaysToWait() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let (busy, relay) = (stage.connect(), stage.connect())
    _ = try stage.post(endpoint, stage.headers(), Samples.push, on: busy)
    stage.receive(relay, Array("POST ".utf8))
    stage.handle(.stopping)
    let rest = "\(endpoint) HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    stage.receive(relay, Array(rest.utf8))
    #expect(try meaning(of: try stage.answer(relay)) == .paused(milliseconds: 5_000))
  }

  @Test func slowClientIsClosed() throws {
    let stage = try Stage()
    let (slow, idle) = (stage.connect(), stage.connect())
    stage.receive(slow, Array("POST /v1/endpoints HTTP/1.1\r\nHost: x\r\n".utf8))
    stage.wait(GatewayLimits.requestMilliseconds + GatewayLimits.sweepMilliseconds)
    #expect(Set(stage.closed) == [slow, idle])
    #expect(try stage.answer(slow)?.status == 408)
    #expect(stage.sent[idle] == nil)
  }

  @Test func bytesThatAreNoRequestEndTheConnection() throws {
    let stage = try Stage()
    let client = stage.connect()
    stage.receive(client, [0x16, 3, 1, 0, 5])
    #expect(try stage.answer(client)?.status == 400)
    #expect(stage.closed == [client])
  }

  @Test func largeBodyIsNotRead() throws {
    let stage = try Stage()
    let client = stage.connect()
    stage.receive(
      client,
      Array("POST /v1/push/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4097\r\n\r\n".utf8))
    #expect(try stage.answer(client)?.status == 413)
    #expect(stage.closed == [client])
  }

  @Test func metricsAreTheOwnersAlone() throws {
    let stage = try Stage()
    let get = HTTPWriter.request(method: "GET", rawTarget: "/metrics", host: "x")
    let (other, owner) = (stage.connect(), stage.connect(.admin))
    stage.receive(other, get)
    #expect(try stage.answer(other)?.status == 404)
    stage.receive(owner, get)
    let answer = try #require(try stage.answer(owner))
    #expect(answer.status == 200)
    let text = String(decoding: answer.body, as: UTF8.self)
    #expect(text.contains("lockstep_gateway_pushes_total{result=\"accepted\"} 0\n"))
  }

  @Test func stoppingGatewayAnswersWhatIsPending() throws {
    let stage = try Stage()
    let endpoint = try stage.endpoint()
    let (relay, idle) = (stage.connect(), stage.connect())
    _ = try stage.post(endpoint, stage.headers(), Samples.push, on: relay)
    try stage.apns(HTTP2Peer.settings())
    stage.handle(.stopping)
    #expect(stage.closed.contains(idle) && !stage.closed.contains(relay))
    #expect(!stage.reports.contains(.stopped))
    try stage.apns(HTTP2Peer.answer(200, stream: 1))
    #expect(try stage.answer(relay)?.status == 201)
    #expect(stage.reports.last == .stopped)
  }
}

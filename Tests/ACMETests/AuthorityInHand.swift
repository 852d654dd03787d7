import LockstepACME
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import Testing

/// Client of an authority whose network, disk and clock a test plays, and the authority.
struct AuthorityInHand {
  /// Sun, 01 Mar 2026 12:00:00 GMT.
  static let noon: Int64 = 1_772_366_400_000
  static let name = "sync.example.org"
  static let origin = "https://ca.test"

  struct Request {
    var method: String
    var target: String
    var payload: JSONValue?
    var header: JSONValue?
  }

  struct Answer {
    var status = 200
    var fields: [String] = []
    var body = "{}"
  }

  private(set) var node: ACMENode
  private(set) var moment: Moment
  private(set) var jobs: [ACMEJob] = []
  private(set) var reports: [ACMEReport] = []
  private(set) var requests: [Request] = []
  private(set) var addresses: [PeerAddress] = []
  private(set) var closed: [ConnectionID] = []
  /// Bytes for clients of the listener without TLS.
  private(set) var answers: [ConnectionID: [UInt8]] = [:]
  /// Answers in place of the usual ones, by target; nil: none comes.
  var overrides: [String: Answer?] = [:]
  /// Reason for which nothing can be connected to.
  var outage: CloseCause?
  /// Changes answers by chance; nil: none.
  var noise: SeededRandom?
  /// True for jobs that fail.
  var breaksJob: (ACMEJob) -> Bool = { _ in false }
  /// True once a challenge was answered.
  private var isValidated = false
  private var isFinalized = false
  private var nonces = 0
  /// Key of the last order that was stored.
  private(set) var orderKey: P256PrivateKey?
  private var pending:
    [NodeEvent<ByLane<ACMEJobOutcome, Never, Never>, ACMEOrderFromOwner, Never>] =
      []
  private var received: [(ConnectionID, [UInt8])] = []

  init(
    stored: ACMENode.Stored = ACMENode.Stored(), kinds: [ACMEChallengeKind] = [.http01],
    wall: Int64 = AuthorityInHand.noon
  ) throws {
    let configuration = ACMEConfiguration(
      directory: try PushEndpoint(AuthorityInHand.origin + "/directory"),
      names: [AuthorityInHand.name], contact: "me@example.org", kinds: kinds, version: "1")
    node = ACMENode(
      configuration, stored: stored, secrets: secrets(), random: SeededRandom(seed: 1))
    moment = Moment(instant: Instant(nanoseconds: 5_000_000_000), wall: wall)
  }

  /// A certificate that is valid from a day before to six days after `wall`, and its key.
  static func certificate(_ key: P256PrivateKey, at wall: Int64) throws -> [UInt8] {
    try #require(
      ValidationCertificate.make(
        name: name, digest: [UInt8](repeating: 0, count: 32), key: key, at: wall))
  }

  static func stored(certificateAt wall: Int64) throws -> ACMENode.Stored {
    let key = try #require(P256PrivateKey([UInt8](repeating: 7, count: 32)))
    var stored = ACMENode.Stored()
    stored.certificate = CertificateChain(file: try certificate(key, at: wall))
    return stored
  }

  var faults: [ACMEFault] {
    reports.compactMap { if case .failed(let fault, _) = $0 { fault } else { nil } }
  }

  /// Times of the next attempt, as they were reported.
  var retries: [Int64] {
    reports.compactMap { if case .failed(_, let time) = $0 { time } else { nil } }
  }

  var isIssued: Bool {
    reports.contains { if case .issued = $0 { true } else { false } }
  }

  var progress: ACMEProgress? {
    jobs.reversed().lazy.compactMap { job -> ACMEProgress? in
      if case .saveProgress(let bytes) = job { ACMEProgress(stored: bytes) } else { nil }
    }.first
  }

  var account: ACMEAccount? {
    jobs.reversed().lazy.compactMap { job -> ACMEAccount? in
      if case .saveAccount(let bytes) = job { ACMEAccount(stored: bytes) } else { nil }
    }.first
  }

  // MARK: what a test does

  /// Lets time pass until then, with all that happens meanwhile.
  mutating func pass(milliseconds: Int64) throws {
    let end = moment.instant.advanced(milliseconds: milliseconds)
    try drain()
    while let next = node.nextDeadline, next <= end {
      advance(to: max(next, moment.instant))
      node.handle(.deadlineReached, at: moment)
      try drain()
    }
    advance(to: end)
  }

  mutating func setClock(forward milliseconds: Int64) { moment.wall += milliseconds }

  /// The owner asks for an attempt now.
  mutating func retry() throws {
    node.handle(.ordered(.retry), at: moment)
    try drain()
  }

  mutating func stop() throws {
    node.handle(.stopping, at: moment)
    try drain()
  }

  /// Sends bytes of a client to the listener without TLS.
  mutating func send(_ text: String, on number: UInt64) throws {
    let id = ConnectionID(rawValue: number)
    let peer = Opening(listenerKind: .public, peer: .host("192.0.2.1", port: 9))
    node.handle(.opened(id, peer), at: moment)
    node.received(id, Array(text.utf8).span.bytes, at: moment)
    try drain()
  }

  private mutating func advance(to instant: Instant) {
    moment.wall += instant.milliseconds(since: moment.instant)
    moment.instant = instant
  }

  private mutating func drain() throws {
    var rounds = 0
    repeat {
      rounds += 1
      try #require(rounds < 100_000, "the node does not come to rest")
      while let action = node.nextAction() { try perform(action) }
      if !pending.isEmpty {
        node.handle(pending.removeFirst(), at: moment)
      } else if !received.isEmpty {
        let (id, bytes) = received.removeFirst()
        node.received(id, bytes.span.bytes, at: moment)
      } else {
        return
      }
    } while true
  }

  private mutating func perform(_ action: ACMENode.Action) throws {
    switch action {
    case .open(let id, let address):
      addresses.append(address)
      if let outage {
        pending.append(.closed(id, outage))
      } else {
        pending.append(.opened(id, Opening(listenerKind: .outgoing, peer: address)))
      }
    case .send(let id, let bytes):
      guard id.isOutgoing else {
        answers[id] = bytes
        return
      }
      if let answer = try answer(bytes) { received.append((id, answer)) }
    case .close(let id, _): closed.append(id)
    case .run(let id, .commit(let job)):
      jobs.append(job)
      if case .saveProgress(let bytes) = job { orderKey = ACMEProgress(stored: bytes).order?.key }
      let isBroken = breaksJob(job)
      pending.append(.finished(id, .commit(isBroken ? .failed("the disk is full") : .done)))
    case .report(let report): reports.append(report)
    case .run, .multicast, .pauseReading, .resumeReading, .broadcast:
      Issue.record("an action that this node does not use")
    }
  }

  // MARK: authority

  private mutating func answer(_ bytes: [UInt8]) throws -> [UInt8]? {
    let text = String(decoding: bytes, as: UTF8.self)
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    let line = try #require(parts.first?.split(separator: "\r\n").first).split(separator: " ")
    var request = Request(method: String(line[0]), target: String(line[1]))
    if request.method == "POST" {
      let outer = try JSONValue(parsing: String(parts[1]))
      request.header = try part("protected", of: outer)
      request.payload = try part("payload", of: outer)
    }
    requests.append(request)
    var found: Answer
    if let override = overrides[request.target] {
      guard let override else { return nil }
      found = override
    } else {
      found = try usualAnswer(to: request)
    }
    spoil(&found)
    var head = "HTTP/1.1 \(found.status) X\r\n"
    if request.method != "GET" {
      nonces += 1
      head += "Replay-Nonce: nonce\(nonces)\r\n"
    }
    for field in found.fields { head += field + "\r\n" }
    let isHead = request.method == "HEAD"
    head += "Content-Length: \(found.body.utf8.count)\r\n\r\n"
    return Array((head + (isHead ? "" : found.body)).utf8)
  }

  /// Changes an answer in one of four cases: its status, a byte of its body, or its end.
  private mutating func spoil(_ answer: inout Answer) {
    guard var random = noise else { return }
    defer { noise = random }
    var body = Array(answer.body.utf8)
    switch Int.random(in: 0..<12, using: &random) {
    case 0:
      let statuses = [200, 201, 204, 301, 400, 403, 404, 409, 429, 500, 503, 999]
      answer.status = statuses.randomElement(using: &random) ?? 200
      if answer.status == 204 { body = [] }
    case 1 where !body.isEmpty:
      body[Int.random(in: body.indices, using: &random)] = UInt8.random(
        in: 32...126, using: &random)
    case 2: body.removeLast(Int.random(in: 0...body.count, using: &random))
    default: return
    }
    answer.body = String(decoding: body, as: UTF8.self)
  }

  private func part(_ name: String, of outer: JSONValue) throws -> JSONValue? {
    let bytes = try #require(outer[name]?.string.flatMap { Base64.decodeURL($0) })
    return bytes.isEmpty ? nil : try JSONValue(parsing: bytes)
  }

  private mutating func usualAnswer(to request: Request) throws -> Answer {
    let origin = AuthorityInHand.origin
    switch request.target {
    case "/directory":
      let members = ["newNonce", "newAccount", "newOrder"].map { #""\#($0)":"\#(origin)/\#($0)""# }
      return Answer(body: "{" + members.joined(separator: ",") + "}")
    case "/newNonce": return Answer(body: "")
    case "/newAccount": return Answer(status: 201, fields: ["Location: \(origin)/account/1"])
    case "/newOrder":
      (isValidated, isFinalized) = (false, false)
      return Answer(status: 201, fields: ["Location: \(origin)/order/1"], body: order)
    case "/order/1": return Answer(body: order)
    case "/authorization/1": return Answer(body: authorization)
    case "/challenge/1":
      isValidated = true
      return Answer()
    case "/finalize/1":
      isFinalized = true
      return Answer(body: order)
    case "/certificate/1":
      let key = try #require(orderKey)
      let file = try AuthorityInHand.certificate(key, at: moment.wall)
      return Answer(body: String(decoding: file, as: UTF8.self))
    default: return Answer(status: 404)
    }
  }

  private var order: String {
    let origin = AuthorityInHand.origin
    let status = isFinalized ? "valid" : isValidated ? "ready" : "pending"
    return """
      {"status":"\(status)","identifiers":[{"type":"dns","value":"\(AuthorityInHand.name)"}],\
      "authorizations":["\(origin)/authorization/1"],"finalize":"\(origin)/finalize/1",\
      "certificate":"\(origin)/certificate/1"}
      """
  }

  private var authorization: String {
    let challenges = ["http-01", "tls-alpn-01"].map {
      #"{"type":"\#($0)","url":"\#(AuthorityInHand.origin)/challenge/1","token":"t0ken-","#
        + #""status":"pending"}"#
    }
    return """
      {"status":"\(isValidated ? "valid" : "pending")",\
      "identifier":{"type":"dns","value":"\(AuthorityInHand.name)"},\
      "challenges":[\(challenges.joined(separator: ","))]}
      """
  }
}

/// Secrets that differ at each draw, and are the same in each run.
func secrets() -> SecretSource {
  let draws = Draws()
  return SecretSource { count in draws.next(count) }
}

private final class Draws: @unchecked Sendable {
  private var random = SeededRandom(seed: 3)

  func next(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 1...200, using: &random) }
  }
}

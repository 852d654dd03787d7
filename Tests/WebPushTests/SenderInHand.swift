import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import Testing

/// Sender of pushes whose network and clock a test plays.
struct SenderInHand {
  /// Sun, 01 Mar 2026 12:00:00 GMT.
  static let noon: Int64 = 1_772_366_400_000
  static let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"

  let device = PushMessage.newKey(from: secrets(seed: 1))
  let key = PushMessage.newKey(from: secrets(seed: 3))
  let otherKey = PushMessage.newKey(from: secrets(seed: 4))
  private(set) var sender: PushSender
  private(set) var moment = Moment(
    instant: Instant(nanoseconds: 5_000_000_000), wall: SenderInHand.noon)
  /// All connections, in the order in which they were opened, and their addresses.
  private(set) var connections: [ConnectionID] = []
  private(set) var addresses: [PeerAddress] = []
  /// Requests of each connection, in order.
  private(set) var requests: [ConnectionID: [[UInt8]]] = [:]
  /// Connections that neither side has closed.
  private(set) var open: [ConnectionID] = []
  /// Connections that the sender has closed.
  private(set) var closed: Set<ConnectionID> = []
  private(set) var outcomes: [PushOutcome] = []

  init(allowing exceptions: [String] = [], subject: String? = nil) throws {
    sender = try #require(
      PushSender(
        rules: try PushRules(allowing: exceptions), secrets: secrets(seed: 2), subject: subject))
    sender.setKeys([(madeAt: 1, key: key), (madeAt: 2, key: otherKey)])
  }

  var results: [PushOutcome.Result] { outcomes.map(\.result) }

  func request(_ id: UInt64, to url: String, madeAt: Int64 = 1) throws -> PushRequest {
    PushRequest(
      id: id, endpoint: try PushEndpoint(url),
      recipient: try #require(
        PushRecipient(publicKey: device.publicKey.bytes, auth: [UInt8](1...16))),
      content: Array("wake \(id)".utf8), topic: "topic-\(id)", ttlSeconds: 3_600,
      urgency: .normal, keyMadeAt: madeAt)
  }

  @discardableResult
  mutating func send(
    _ id: UInt64, to url: String = "https://push.example.net/x", madeAt: Int64 = 1
  ) throws -> Bool {
    let isAccepted = sender.send(try request(id, to: url, madeAt: madeAt), at: moment)
    drain()
    return isAccepted
  }

  /// Sends a push over the newest connection, which is established for it, and has it accepted.
  mutating func prove(_ id: UInt64, to url: String = "https://push.example.net/x") throws {
    try send(id, to: url)
    let connection = try #require(connections.last)
    establish(connection)
    answer(connection, Self.created)
    #expect(outcomes.last == PushOutcome(id: id, result: .answered(.sent)))
  }

  mutating func establish(_ id: ConnectionID) {
    sender.opened(id, at: moment)
    drain()
  }

  mutating func answer(_ id: ConnectionID, _ text: String) { answer(id, Array(text.utf8)) }

  mutating func answer(_ id: ConnectionID, _ bytes: [UInt8]) {
    sender.received(id, bytes.span.bytes, at: moment)
    drain()
  }

  mutating func lose(_ id: ConnectionID, _ cause: CloseCause = .endOfStream) {
    open.removeAll { $0 == id }
    sender.closed(id, cause, at: moment)
    drain()
  }

  /// Advances the clocks, and ends at each deadline what is over then.
  mutating func advance(milliseconds: Int64) {
    let end = moment.instant.advanced(milliseconds: milliseconds)
    while let next = sender.nextDeadline, next <= end { advance(to: next) }
    advance(to: end)
  }

  private mutating func advance(to instant: Instant) {
    moment.wall += instant.milliseconds(since: moment.instant)
    moment.instant = instant
    sender.expire(at: moment)
    drain()
  }

  mutating func setKeys(_ keys: [(madeAt: Int64, key: P256PrivateKey)]) { sender.setKeys(keys) }

  mutating func stop() {
    sender.stop(at: moment)
    drain()
  }

  private mutating func drain() {
    while let action = sender.nextAction() {
      switch action {
      case .open(let id, let address):
        #expect(connections.last.map { $0 < id } ?? true, "no id is used twice")
        connections.append(id)
        open.append(id)
        addresses.append(address)
      case .send(let id, let bytes):
        #expect(!closed.contains(id))
        requests[id, default: []].append(bytes)
      case .close(let id):
        #expect(closed.insert(id).inserted)
        open.removeAll { $0 == id }
      }
    }
    while let outcome = sender.nextOutcome() {
      outcomes.append(PushOutcome(id: outcome.id, result: outcome.result))
    }
  }
}

/// A request as it was sent.
struct SentRequest {
  let lines: [String]
  let body: [UInt8]

  init(_ bytes: [UInt8]) throws {
    let end = Array("\r\n\r\n".utf8)
    let start = try #require(bytes.indices.first { bytes[$0...].starts(with: end) })
    lines = String(decoding: bytes[..<start], as: UTF8.self)
      .split(separator: "\r\n").map(String.init)
    body = Array(bytes[(start + 4)...])
  }

  func field(_ name: String) -> String? {
    lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
  }
}

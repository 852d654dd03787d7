import LockstepJSON
import LockstepModel

/// The limits that a relay's owner may set: on load, on clients, and on waiting times. Limits
/// compiled into clients and relay (names, records, batches, pages) are in `Limits` alone, and the
/// same for all relays.
@usableFromInline
package struct RelayLimits: Sendable, Hashable {
  // Of the whole relay.
  @usableFromInline package var connections = Limits.connections
  @usableFromInline package var connectionsPerAddress = Limits.connectionsPerAddress
  @usableFromInline package var connectionsPerAccount = Limits.connectionsPerAccount
  @usableFromInline package var bodyBudgetBytes = Limits.bodyBudgetBytes
  @usableFromInline package var accounts = Limits.accounts
  @usableFromInline package var accountsPerHourPerAddress = Limits.accountsPerHourPerAddress
  @usableFromInline package var pairingGuessesPerAddress = Limits.pairingGuessesPerAddress
  @usableFromInline package var pairingGuessesInAll = Limits.pairingGuessesInAll
  @usableFromInline package var devicesPerAccount = Limits.devicesPerAccount
  // Of each loop.
  @usableFromInline package var requestsPerSecondPerDevice = Limits.requestsPerSecondPerDevice
  @usableFromInline package var requestBurstPerDevice = Limits.requestBurstPerDevice
  @usableFromInline package var requestsPerSecondPerAddress = Limits.requestsPerSecondPerAddress
  @usableFromInline package var requestBurstPerAddress = Limits.requestBurstPerAddress
  @usableFromInline package var storeRequests = Limits.storeRequests
  @usableFromInline package var uploads = Limits.uploads
  @usableFromInline package var uploadsPerAccount = Limits.uploadsPerAccount
  @usableFromInline package var handshakesAtOnce = Limits.handshakesAtOnce
  // Of each connection.
  @usableFromInline package var handshakeMilliseconds = Int(Limits.handshakeMilliseconds)
  @usableFromInline package var requestMilliseconds = Int(Limits.requestMilliseconds)
  @usableFromInline package var helloMilliseconds = Int(Limits.helloMilliseconds)
  @usableFromInline package var idleMilliseconds = Int(Limits.idleMilliseconds)
  @usableFromInline package var stalledMilliseconds = Int(Limits.stalledMilliseconds)
  @usableFromInline package var sendQueueBytes = Limits.sendQueueBytes
  @usableFromInline package var socketRequests = Limits.socketRequests

  @usableFromInline package init() {}

  /// Sets a limit by its name, from text: digits, and for bytes also `K`, `M` or `G` after them.
  @usableFromInline
  package mutating func set(_ name: String, to text: String) throws(LimitFault) {
    guard let limit = SettableLimit.named(name) else { throw .unknown(name) }
    guard let value = limit.unit.parse(text) else { throw .noNumber(limit, text) }
    guard limit.range.contains(value) else { throw .outOfRange(limit, text) }
    limit.set(&self, value)
  }

  /// Returns the share of one of so many loops in `bodyBudgetBytes`.
  func bodyBudgetBytes(ofOneIn nodes: Int) -> Int { bodyBudgetBytes / nodes }

  /// Returns all faults, each a sentence.
  func validate() -> [String] {
    SettableLimit.all.compactMap { limit in
      let value = limit.value(self)
      return limit.range.contains(value)
        ? nil : LimitFault.outOfRange(limit, String(value)).description
    }
  }
}

/// One limit that a relay's owner may set, with all that `--limits`, `GET /v1/limits` and
/// docs/relay/limits.md show of it.
@usableFromInline
package struct SettableLimit: Sendable {
  @usableFromInline
  package enum Unit: String, Sendable {
    case count
    case bytes
    case milliseconds
    case perSecond = "per second"
    case perHour = "per hour"
    case perMinute = "per minute"

    /// Returns nil if the text is not a number of this unit.
    func parse(_ text: String) -> Int? {
      var digits = text[...]
      var factor = 1
      if self == .bytes, let last = text.last,
        let power = ["k": 10, "m": 20, "g": 30][last.lowercased()]
      {
        factor = 1 << power
        digits = text.dropLast()
      }
      guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let count = Int(digits)
      else { return nil }
      let (value, isTooLarge) = count.multipliedReportingOverflow(by: factor)
      return isTooLarge ? nil : value
    }
  }

  /// Scope of a limit: each connection, each loop, or the whole relay.
  @usableFromInline
  package enum Scope: String, Sendable {
    case relay
    case loop
    case connection
  }

  @usableFromInline package let name: String
  @usableFromInline package let unit: Unit
  @usableFromInline package let scope: Scope
  @usableFromInline package let range: ClosedRange<Int>
  /// Description, one sentence.
  @usableFromInline package let meaning: String
  let value: @Sendable (RelayLimits) -> Int
  let set: @Sendable (inout RelayLimits, Int) -> Void

  /// Default value.
  @usableFromInline package var usual: Int { value(RelayLimits()) }

  init(
    _ name: String, _ unit: Unit, _ scope: Scope, _ range: ClosedRange<Int>,
    _ path: any WritableKeyPath<RelayLimits, Int> & Sendable, _ meaning: String
  ) {
    self.name = name
    self.unit = unit
    self.scope = scope
    self.range = range
    self.meaning = meaning
    value = { $0[keyPath: path] }
    set = { $0[keyPath: path] = $1 }
  }

  @usableFromInline
  package static func named(_ name: String) -> SettableLimit? { all.first { $0.name == name } }

  /// In the order of display.
  @usableFromInline package static let all = admission + rates + memory + times

  private static let admission = [
    SettableLimit(
      "connections", .count, .relay, 1...10_000_000, \.connections,
      "Connections of clients; further ones are closed at once."),
    SettableLimit(
      "connectionsPerAddress", .count, .relay, 1...10_000_000, \.connectionsPerAddress,
      "Of these, those from one address (IPv4) or one /64 network (IPv6)."),
    SettableLimit(
      "connectionsPerAccount", .count, .loop, 1...10_000_000, \.connectionsPerAccount,
      "Sockets, streams and waiting long-polls of one account on a loop; 429 or 4429 beyond it."),
    SettableLimit(
      "devicesPerAccount", .count, .relay, 1...Limits.devicesPerAccount, \.devicesPerAccount,
      "Devices of one account; 403 `tooManyDevices` beyond it."),
    SettableLimit(
      "accounts", .count, .relay, 0...1_000_000_000, \.accounts,
      "Accounts in the store beyond which unknown clients cannot create more (open relay): 403."),
    SettableLimit(
      "accountsPerHourPerAddress", .perHour, .relay, 1...1_000_000, \.accountsPerHourPerAddress,
      "Accounts per hour, and at once, that one address may create on an open relay; then 429."),
    SettableLimit(
      "pairingGuessesPerAddress", .perMinute, .relay, 1...10_000, \.pairingGuessesPerAddress,
      "Wrong pairing codes from one address; then 429, also for a right one from there."),
    SettableLimit(
      "pairingGuessesInAll", .perMinute, .relay, 1...100_000, \.pairingGuessesInAll,
      "Wrong pairing codes from all addresses; then 429 for further wrong ones only."),
  ]

  private static let rates = [
    SettableLimit(
      "requestsPerSecondPerDevice", .perSecond, .loop, 1...1_000_000, \.requestsPerSecondPerDevice,
      "Requests and messages of a device, on average: 429, or a socket is read later."),
    SettableLimit(
      "requestBurstPerDevice", .count, .loop, 1...1_000_000, \.requestBurstPerDevice,
      "Requests and messages of a device that may arrive at once."),
    SettableLimit(
      "requestsPerSecondPerAddress", .perSecond, .loop, 1...1_000_000,
      \.requestsPerSecondPerAddress,
      "Requests without a valid token from one address: 429."),
    SettableLimit(
      "requestBurstPerAddress", .count, .loop, 1...1_000_000, \.requestBurstPerAddress,
      "Requests without a valid token that may arrive at once from one address."),
  ]

  private static let memory = [
    SettableLimit(
      "bodyBudgetBytes", .bytes, .relay, 1...1 << 40, \.bodyBudgetBytes,
      "Bodies, messages and unsent answers in memory, shared evenly by the loops; 503 beyond it."),
    SettableLimit(
      "sendQueueBytes", .bytes, .connection, 1...1 << 30, \.sendQueueBytes,
      "Unsent bytes of a connection, beyond which its changes become one hint."),
    SettableLimit(
      "socketRequests", .count, .connection, 1...Limits.socketRequests, \.socketRequests,
      "Unanswered requests of a socket, beyond which it is not read."),
    SettableLimit(
      "storeRequests", .count, .loop, 1...1_000_000, \.storeRequests,
      "Requests that wait for the store; 503 beyond it."),
    SettableLimit(
      "uploads", .count, .loop, 1...10_000, \.uploads,
      "Uploads of chunks of files at a time; 503 beyond it."),
    SettableLimit(
      "uploadsPerAccount", .count, .loop, 1...10_000, \.uploadsPerAccount,
      "Of these, uploads of one account."),
    SettableLimit(
      "handshakesAtOnce", .count, .loop, 1...100_000, \.handshakesAtOnce,
      "TLS handshakes at a time; beyond it the oldest one is closed."),
  ]

  private static let times = [
    SettableLimit(
      "handshakeMilliseconds", .milliseconds, .connection, 100...3_600_000, \.handshakeMilliseconds,
      "Time for a TLS handshake; then it is closed."),
    SettableLimit(
      "requestMilliseconds", .milliseconds, .connection, 100...3_600_000, \.requestMilliseconds,
      "Time for a request's head, its body, 128 KiB of a chunk, a socket's message; 408 or 4408."),
    SettableLimit(
      "helloMilliseconds", .milliseconds, .connection, 100...3_600_000, \.helloMilliseconds,
      "Time from a socket's upgrade to its hello; then 4408."),
    SettableLimit(
      "idleMilliseconds", .milliseconds, .connection, 100...86_400_000, \.idleMilliseconds,
      "Time after which a connection without a request is closed. Longer than in proxies."),
    SettableLimit(
      "stalledMilliseconds", .milliseconds, .connection, 100...3_600_000, \.stalledMilliseconds,
      "Time after which a connection that accepts none of its waiting bytes is closed."),
  ]
}

/// The fault of a name or a value that is not a limit, from an option or a file.
@usableFromInline
package enum LimitFault: Error, Sendable, CustomStringConvertible {
  case unknown(String)
  case noNumber(SettableLimit, String)
  case outOfRange(SettableLimit, String)

  /// A sentence without its final dot. A caller that can guess the intended name adds it.
  @usableFromInline
  package var description: String {
    switch self {
    case .unknown(let name): "there is no limit \"\(name)\""
    case .noNumber(let limit, let text):
      limit.unit == .bytes
        ? "\(limit.name): \"\(text)\" is not a number of bytes, such as 65536, 64K or 1G"
        : "\(limit.name): \"\(text)\" is not a whole number"
    case .outOfRange(let limit, let text):
      "\(limit.name): \(text) is not between \(limit.range.lowerBound) and \(limit.range.upperBound)"
    }
  }
}

/// The answer to `GET /v1/limits`: limits that a client must keep, and those that it may rely on;
/// `isOpen`, true if anyone may create an account; the relay's key for push services.
package enum LimitsInForce {
  package static func encodedBody(_ configuration: RelayConfiguration) -> [UInt8] {
    JSONValue.object(
      all(configuration).map { JSONMember($0.0, JSONValue(integerLiteral: $0.1)) }
    ).setting("isOpen", to: .bool(configuration.isOpen)).setting(
      "wakeKey", to: configuration.wakes.map { .string($0.publicKey) }
    ).serialized()
  }

  private static func all(_ configuration: RelayConfiguration) -> [(String, Int64)] {
    fixed + store(configuration)
      + SettableLimit.all.map { ($0.name, Int64($0.value(configuration.limits))) }
  }

  /// Compiled into clients and relay.
  private static let fixed = [
    ("nameBytes", Int64(Limits.nameBytes)),
    ("recordBytes", Int64(Limits.recordBytes)),
    ("batchRecords", Int64(Limits.batchRecords)),
    ("batchBytes", Int64(Limits.batchBytes)),
    ("jsonDepth", Int64(Limits.jsonDepth)),
    ("clockAheadMilliseconds", Limits.clockAheadMilliseconds),
    ("chunkBytes", Int64(Limits.chunkBytes)),
    ("chunksPerRecord", Int64(Limits.chunksPerRecord)),
    ("chunksPerBatch", Int64(Limits.chunksPerBatch)),
    ("chunkHashes", Int64(Limits.chunkHashes)),
    ("chunkHashesBytes", Int64(Limits.chunkHashesBytes)),
    ("pageRecords", Int64(Limits.pageRecords)),
    ("pageBytes", Int64(Limits.pageBytes)),
    ("pushBytes", Int64(Limits.pushBytes)),
    ("longPollMilliseconds", Limits.longPollMilliseconds),
    ("listedZones", Int64(Limits.listedZones)),
    ("requestLineBytes", Int64(Limits.requestLineBytes)),
    ("headerBytes", Int64(Limits.headerBytes)),
    ("headerCount", Int64(Limits.headerCount)),
    ("smallBodyBytes", Int64(Limits.smallBodyBytes)),
    ("messageBytes", Int64(Limits.messageBytes)),
    ("requestIDBytes", Int64(Limits.requestIDBytes)),
    ("descriptionBytes", Int64(Limits.descriptionBytes)),
    ("subscriptionsPerDevice", Int64(Limits.subscriptionsPerDevice)),
    ("subscriptionConditions", Int64(Limits.subscriptionConditions)),
    ("subscriptionBytes", Int64(Limits.subscriptionBytes)),
    ("wakesPerDevice", Int64(Limits.wakesPerDevice)),
    ("pairingMilliseconds", Limits.pairingMilliseconds),
    ("pairingCodesPerAccount", Int64(Limits.pairingCodesPerAccount)),
    ("pairingWindowMilliseconds", Limits.pairingWindowMilliseconds),
  ]

  /// Set by the owner with separate options.
  private static func store(_ configuration: RelayConfiguration) -> [(String, Int64)] {
    [
      ("chunkBytesPerAccount", configuration.rules.chunkBytesPerAccount),
      ("recordBytesPerAccount", configuration.rules.recordBytesPerAccount),
      ("recordsPerAccount", configuration.rules.recordsPerAccount),
      ("batchesPerAccount", configuration.rules.batchesPerAccount),
      ("chunkLeaseMilliseconds", configuration.rules.chunkLeaseMilliseconds),
      ("historyMilliseconds", configuration.rules.historyMilliseconds),
      ("keepAliveMilliseconds", configuration.keepAliveMilliseconds),
    ]
  }
}

import LockstepModel

/// The limits that a relay's owner may set: on load, on clients, and on waiting times. Limits
/// compiled into clients and relay (names, records, batches, pages) are in `Limits` alone, and the
/// same for all relays.
public struct RelayLimits: Sendable, Hashable {
  // Of the whole relay.
  public var connections = Limits.connections
  public var connectionsPerAddress = Limits.connectionsPerAddress
  public var connectionsPerAccount = Limits.connectionsPerAccount
  public var bodyBudgetBytes = Limits.bodyBudgetBytes
  public var accounts = Limits.accounts
  public var accountsPerHourPerAddress = Limits.accountsPerHourPerAddress
  public var pairingGuessesPerAddress = Limits.pairingGuessesPerAddress
  public var pairingGuessesInAll = Limits.pairingGuessesInAll
  public var devicesPerAccount = Limits.devicesPerAccount
  // Of each loop.
  public var requestsPerSecondPerDevice = Limits.requestsPerSecondPerDevice
  public var requestBurstPerDevice = Limits.requestBurstPerDevice
  public var requestsPerSecondPerAddress = Limits.requestsPerSecondPerAddress
  public var requestBurstPerAddress = Limits.requestBurstPerAddress
  public var storeRequests = Limits.storeRequests
  public var uploads = Limits.uploads
  public var uploadsPerAccount = Limits.uploadsPerAccount
  public var handshakesAtOnce = Limits.handshakesAtOnce
  // Of each connection.
  public var handshakeMilliseconds = Int(Limits.handshakeMilliseconds)
  public var requestMilliseconds = Int(Limits.requestMilliseconds)
  public var helloMilliseconds = Int(Limits.helloMilliseconds)
  public var idleMilliseconds = Int(Limits.idleMilliseconds)
  public var stalledMilliseconds = Int(Limits.stalledMilliseconds)
  public var sendQueueBytes = Limits.sendQueueBytes
  public var socketRequests = Limits.socketRequests

  public init() {}

  /// Sets a limit by its name, from text: digits, and for bytes also `K`, `M` or `G` after them.
  public mutating func set(_ name: String, to text: String) throws(LimitFault) {
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
/// docs/operations.md show of it.
public struct SettableLimit: Sendable {
  public enum Unit: String, Sendable {
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
  public enum Scope: String, Sendable {
    case relay
    case loop
    case connection
  }

  public let name: String
  public let unit: Unit
  public let scope: Scope
  public let range: ClosedRange<Int>
  /// Description, one sentence.
  public let meaning: String
  let value: @Sendable (RelayLimits) -> Int
  let set: @Sendable (inout RelayLimits, Int) -> Void

  /// Default value.
  public var usual: Int { value(RelayLimits()) }

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

  public static func named(_ name: String) -> SettableLimit? { all.first { $0.name == name } }

  /// In the order of display.
  public static let all = admission + rates + memory + times

  private static let admission = [
    SettableLimit(
      "connections", .count, .relay, 1...10_000_000, \.connections,
      "Connections at the front door; further ones are closed at once."),
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
      "Accounts in the store beyond which strangers make no more on an open relay: 403."),
    SettableLimit(
      "accountsPerHourPerAddress", .perHour, .relay, 1...1_000_000, \.accountsPerHourPerAddress,
      "Accounts that one address may make on an open relay, and as many at once; 429 beyond it."),
    SettableLimit(
      "pairingGuessesPerAddress", .perMinute, .relay, 1...10_000, \.pairingGuessesPerAddress,
      "Wrong pairing codes from one address; 429 beyond it, also for a right one from there."),
    SettableLimit(
      "pairingGuessesInAll", .perMinute, .relay, 1...100_000, \.pairingGuessesInAll,
      "Wrong pairing codes from everybody; 429 for further wrong ones, and for no right one."),
  ]

  private static let rates = [
    SettableLimit(
      "requestsPerSecondPerDevice", .perSecond, .loop, 1...1_000_000, \.requestsPerSecondPerDevice,
      "Requests and messages of a device, in the long run: 429, or a socket is read slower."),
    SettableLimit(
      "requestBurstPerDevice", .count, .loop, 1...1_000_000, \.requestBurstPerDevice,
      "As many of them may come at once."),
    SettableLimit(
      "requestsPerSecondPerAddress", .perSecond, .loop, 1...1_000_000,
      \.requestsPerSecondPerAddress,
      "Requests without a token, or with one that proves wrong, from one address: 429."),
    SettableLimit(
      "requestBurstPerAddress", .count, .loop, 1...1_000_000, \.requestBurstPerAddress,
      "As many of them may come at once."),
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
      "Chunks of files that come in at once; 503 beyond it."),
    SettableLimit(
      "uploadsPerAccount", .count, .loop, 1...10_000, \.uploadsPerAccount,
      "Of these, those of one account."),
    SettableLimit(
      "handshakesAtOnce", .count, .loop, 1...100_000, \.handshakesAtOnce,
      "TLS handshakes under way; beyond it the one that takes longest is cut off."),
  ]

  private static let times = [
    SettableLimit(
      "handshakeMilliseconds", .milliseconds, .connection, 100...3_600_000, \.handshakeMilliseconds,
      "For a TLS handshake, from its first moment; it is cut off after it."),
    SettableLimit(
      "requestMilliseconds", .milliseconds, .connection, 100...3_600_000, \.requestMilliseconds,
      "For a request's head, its body, each 128 KiB of a chunk, a socket's message; 408 or 4408."),
    SettableLimit(
      "helloMilliseconds", .milliseconds, .connection, 100...3_600_000, \.helloMilliseconds,
      "From a socket's upgrade to its hello; 4408 after it."),
    SettableLimit(
      "idleMilliseconds", .milliseconds, .connection, 100...86_400_000, \.idleMilliseconds,
      "After it a connection that asks nothing is closed. Longer than proxies keep theirs."),
    SettableLimit(
      "stalledMilliseconds", .milliseconds, .connection, 100...3_600_000, \.stalledMilliseconds,
      "After it a connection that takes no byte of what waits for it is closed."),
  ]
}

/// The fault of a name or a value that is not a limit, from an option or a file.
public enum LimitFault: Error, Sendable, CustomStringConvertible {
  case unknown(String)
  case noNumber(SettableLimit, String)
  case outOfRange(SettableLimit, String)

  /// A sentence without its final dot. A caller that can guess the intended name adds it.
  public var description: String {
    switch self {
    case .unknown(let name): "there is no limit \"\(name)\""
    case .noNumber(let limit, let text):
      limit.unit == .bytes
        ? "\(limit.name): \"\(text)\" is no number of bytes, such as 65536, 64K or 1G"
        : "\(limit.name): \"\(text)\" is no whole number"
    case .outOfRange(let limit, let text):
      "\(limit.name): \(text) is not between \(limit.range.lowerBound) and \(limit.range.upperBound)"
    }
  }
}

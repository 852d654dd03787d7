import Changes

/// The answer to `GET /v1/limits`: what a client must keep to, and what it may count on.
enum LimitsInForce {
  static func encodedBody(_ configuration: RelayConfiguration) -> [UInt8] {
    JSONValue.object(
      all(configuration).map { JSONMember($0.0, JSONValue(integerLiteral: $0.1)) }
    ).serialized()
  }

  private static func all(_ configuration: RelayConfiguration) -> [(String, Int64)] {
    records + chunks(configuration) + reading + requests + sockets(configuration)
      + accounts(configuration)
  }

  private static let records = [
    ("nameBytes", Int64(Limits.nameBytes)),
    ("recordBytes", Int64(Limits.recordBytes)),
    ("batchRecords", Int64(Limits.batchRecords)),
    ("batchBytes", Int64(Limits.batchBytes)),
    ("jsonDepth", Int64(Limits.jsonDepth)),
    ("clockAheadMilliseconds", Limits.clockAheadMilliseconds),
  ]

  private static func chunks(_ configuration: RelayConfiguration) -> [(String, Int64)] {
    [
      ("chunkBytes", Int64(Limits.chunkBytes)),
      ("chunksPerRecord", Int64(Limits.chunksPerRecord)),
      ("chunkHashes", Int64(Limits.chunkHashes)),
      ("chunkHashesBytes", Int64(Limits.chunkHashesBytes)),
      ("chunkBytesPerAccount", configuration.rules.chunkBytesPerAccount),
      ("chunkLeaseMilliseconds", configuration.rules.chunkLeaseMilliseconds),
    ]
  }

  private static let reading = [
    ("pageRecords", Int64(Limits.pageRecords)),
    ("pageBytes", Int64(Limits.pageBytes)),
    ("pushBytes", Int64(Limits.pushBytes)),
    ("longPollMilliseconds", Limits.longPollMilliseconds),
    ("listedZones", Int64(Limits.listedZones)),
  ]

  private static let requests = [
    ("requestLineBytes", Int64(Limits.requestLineBytes)),
    ("headerBytes", Int64(Limits.headerBytes)),
    ("headerCount", Int64(Limits.headerCount)),
    ("smallBodyBytes", Int64(Limits.smallBodyBytes)),
    ("requestMilliseconds", Limits.requestMilliseconds),
    ("idleMilliseconds", Limits.idleMilliseconds),
    ("stalledMilliseconds", Limits.stalledMilliseconds),
  ]

  private static func sockets(_ configuration: RelayConfiguration) -> [(String, Int64)] {
    [
      ("messageBytes", Int64(Limits.messageBytes)),
      ("helloMilliseconds", Limits.helloMilliseconds),
      ("keepAliveMilliseconds", configuration.keepAliveMilliseconds),
      ("socketRequests", Int64(Limits.socketRequests)),
      ("requestIDBytes", Int64(Limits.requestIDBytes)),
    ]
  }

  private static func accounts(_ configuration: RelayConfiguration) -> [(String, Int64)] {
    [
      ("descriptionBytes", Int64(Limits.descriptionBytes)),
      ("devicesPerAccount", Int64(Limits.devicesPerAccount)),
      ("subscriptionsPerDevice", Int64(Limits.subscriptionsPerDevice)),
      ("subscriptionConditions", Int64(Limits.subscriptionConditions)),
      ("subscriptionBytes", Int64(Limits.subscriptionBytes)),
      ("pairingMilliseconds", Limits.pairingMilliseconds),
      ("pairingCodesPerAccount", Int64(Limits.pairingCodesPerAccount)),
      ("pairingGuessesPerAddress", Int64(Limits.pairingGuessesPerAddress)),
      ("pairingWindowMilliseconds", Limits.pairingWindowMilliseconds),
      ("historyMilliseconds", configuration.rules.historyMilliseconds),
    ]
  }
}

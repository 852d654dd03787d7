import LockstepModel

/// The answer to `GET /v1/limits`: limits that a client must keep, and those that it may rely on.
package enum LimitsInForce {
  package static func encodedBody(_ configuration: RelayConfiguration) -> [UInt8] {
    JSONValue.object(
      all(configuration).map { JSONMember($0.0, JSONValue(integerLiteral: $0.1)) }
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

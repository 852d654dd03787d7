import Changes

/// The answer to `GET /v1/limits`: what a client must keep to, and what it may count on.
enum LimitsInForce {
  static func encodedBody() -> [UInt8] {
    let limits: [(String, Int64)] = [
      ("nameBytes", Int64(Limits.nameBytes)),
      ("recordBytes", Int64(Limits.recordBytes)),
      ("batchRecords", Int64(Limits.batchRecords)),
      ("batchBytes", Int64(Limits.batchBytes)),
      ("clockAheadMilliseconds", Limits.clockAheadMilliseconds),
      ("pageRecords", Int64(Limits.pageRecords)),
      ("pageBytes", Int64(Limits.pageBytes)),
      ("pushBytes", Int64(Limits.pushBytes)),
      ("longPollMilliseconds", Limits.longPollMilliseconds),
      ("messageBytes", Int64(Limits.messageBytes)),
      ("helloMilliseconds", Limits.helloMilliseconds),
      ("socketRequests", Int64(Limits.socketRequests)),
      ("headerBytes", Int64(Limits.headerBytes)),
      ("headerCount", Int64(Limits.headerCount)),
      ("requestLineBytes", Int64(Limits.requestLineBytes)),
      ("requestMilliseconds", Limits.requestMilliseconds),
      ("idleMilliseconds", Limits.idleMilliseconds),
      ("pairingMilliseconds", Limits.pairingMilliseconds),
      ("pairingCodesPerAccount", Int64(Limits.pairingCodesPerAccount)),
      ("devicesPerAccount", Int64(Limits.devicesPerAccount)),
      ("subscriptionsPerDevice", Int64(Limits.subscriptionsPerDevice)),
      ("subscriptionConditions", Int64(Limits.subscriptionConditions)),
      ("subscriptionBytes", Int64(Limits.subscriptionBytes)),
      ("listedZones", Int64(Limits.listedZones)),
      ("historyMilliseconds", Limits.historyMilliseconds),
    ]
    return JSONValue.object(
      limits.map { JSONMember($0.0, JSONValue(integerLiteral: $0.1)) }
    ).serialized()
  }
}

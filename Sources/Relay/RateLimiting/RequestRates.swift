import LockstepModel
import LockstepWire

/// Rate limits of devices and addresses on one node. A request is charged to the device that makes
/// it. If the device is unknown, or its token proves wrong, it is charged to the address: this
/// bounds both guesses of tokens and requests without one.
struct RequestRates: Sendable {
  var devices: TokenBuckets<Presence.Key>
  var addresses: TokenBuckets<PeerNetwork>
  /// Welcomes of sockets, by account.
  var welcomes: TokenBuckets<AccountID>
  /// Accounts created on an open relay. News of each go to all nodes, so that they count the same.
  var newAccounts: TokenBuckets<PeerNetwork>

  init(_ limits: RelayLimits) {
    devices = TokenBuckets(
      limits.requestsPerSecondPerDevice, inMilliseconds: 1_000,
      burst: limits.requestBurstPerDevice, keys: Limits.countedAskers)
    addresses = TokenBuckets(
      limits.requestsPerSecondPerAddress, inMilliseconds: 1_000,
      burst: limits.requestBurstPerAddress, keys: Limits.countedAskers)
    welcomes = TokenBuckets(
      Limits.welcomesPerSecond, inMilliseconds: 1_000, burst: Limits.welcomesAtOnce,
      keys: Limits.countedAskers)
    newAccounts = TokenBuckets(
      limits.accountsPerHourPerAddress, inMilliseconds: 3_600_000,
      burst: limits.accountsPerHourPerAddress, keys: Limits.countedAskers)
  }

  static func tooOften(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests, "Too many requests came at once; wait as long as Retry-After says.",
      retryAfterMilliseconds: wait)
  }

  static func tooManyAccounts(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests,
      "Too many accounts were made from this address; wait as long as Retry-After says.",
      retryAfterMilliseconds: wait)
  }

  static let tooManyConnections = Refusal(
    .tooManyRequests,
    "The account has as many connections as it may have; close one of them, then come back.",
    retryAfterMilliseconds: 30_000)
}

import LockstepModel
import LockstepRuntime
import LockstepStorage
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
  /// Pushes with a code for a new registration, by account.
  var wakeCodes: TokenBuckets<AccountID>

  init(_ limits: RelayLimits) {
    devices = TokenBuckets(
      limits.requestsPerSecondPerDevice, inMilliseconds: 1_000,
      burst: limits.requestBurstPerDevice, keys: Limits.rateLimitKeys)
    addresses = TokenBuckets(
      limits.requestsPerSecondPerAddress, inMilliseconds: 1_000,
      burst: limits.requestBurstPerAddress, keys: Limits.rateLimitKeys)
    welcomes = TokenBuckets(
      Limits.welcomesPerSecond, inMilliseconds: 1_000, burst: Limits.welcomesAtOnce,
      keys: Limits.rateLimitKeys)
    newAccounts = TokenBuckets(
      limits.accountsPerHourPerAddress, inMilliseconds: 3_600_000,
      burst: limits.accountsPerHourPerAddress, keys: Limits.rateLimitKeys)
    wakeCodes = TokenBuckets(
      Limits.wakeCodesAtOnce, inMilliseconds: 600_000, burst: Limits.wakeCodesAtOnce,
      keys: Limits.rateLimitKeys)
  }

  static func tooOften(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests, "Too many requests; wait as long as Retry-After says.",
      retryAfterMilliseconds: wait)
  }

  static func tooManyAccounts(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests,
      "Too many accounts were created from this address; wait as long as Retry-After says.",
      retryAfterMilliseconds: wait)
  }

  static func tooManyWakeCodes(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests,
      "Too many registrations for wakes were made; wait as long as Retry-After says.",
      retryAfterMilliseconds: wait)
  }

  static let tooManyConnections = Refusal(
    .tooManyRequests,
    "The account has reached its limit of connections; close one, then connect again.",
    retryAfterMilliseconds: 30_000)
}

/// Limits of the node's load: bytes of bodies, guesses of pairing codes.
struct Admission: Sendable {
  /// The client to whose share memory is charged.
  enum Holder: Hashable, Sendable {
    case account(AccountID)
    /// A network of clients that have not signed in.
    case address(PeerNetwork)
    /// Bounded only by the total: the owner, and clients without a limit by address.
    case anybody
  }

  private let bodyLimit: Int
  private let shareLimit: Int
  /// Memory of bodies, messages and unsent answers, over all connections.
  private(set) var bodyBytes = 0
  /// Its parts by holder; holders with none are absent.
  private var shares: [Holder: Int] = [:]
  var guesses: PairingGuesses

  init(_ configuration: RelayConfiguration) {
    bodyLimit = configuration.limits.bodyBudgetBytes(ofOneIn: configuration.nodes)
    shareLimit = min(bodyLimit, max(bodyLimit / Limits.bodyShares, Limits.bodyShareFloorBytes))
    guesses = PairingGuesses(configuration.limits)
  }

  /// True if the holder may use more memory, for example for a page of changes.
  func hasRoom(for holder: Holder) -> Bool { bodyBytes <= bodyLimit && hasShare(holder) }

  /// Records that a connection of `holder` uses `now` bytes, after `before`. Returns false if the
  /// holder's share or the total is exceeded: this connection should then give way.
  mutating func recordUse(_ now: Int, before: Int, by holder: Holder) -> Bool {
    guard now != before else { return true }
    bodyBytes += now - before
    if holder != .anybody {
      let share = (shares[holder] ?? 0) + now - before
      shares[holder] = share > 0 ? share : nil
    }
    return now < before || hasRoom(for: holder)
  }

  /// Returns the refusal for a holder without room.
  func refusal(of holder: Holder) -> Refusal {
    bodyBytes > bodyLimit || hasShare(holder) ? StoreQueue.overloaded : Admission.shareUsedUp
  }

  private func hasShare(_ holder: Holder) -> Bool {
    // While the total is within one share, no holder is looked up.
    bodyBytes <= shareLimit || (shares[holder] ?? 0) <= shareLimit
  }

  static func tooManyGuesses(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests, "Too many pairing codes were tried; wait as long as Retry-After says.",
      retryAfterMilliseconds: wait)
  }

  private static let shareUsedUp = Refusal(
    .tooManyRequests,
    "The relay's memory for this account or address is used up; read the waiting answers first.",
    retryAfterMilliseconds: 1_000)
}

extension CommitRequest {
  /// Memory in addition to the bytes of the request as received.
  var overheadBytes: Int {
    guard case .save(let save) = self else { return 0 }
    return save.request.mutations.count * Limits.recordOverheadBytes
  }
}

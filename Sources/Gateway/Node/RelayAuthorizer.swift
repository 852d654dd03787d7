import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import LockstepWire

/// Check that a push is from the relay that its endpoint was made for (RFC 8292).
///
/// Everybody at an address, and all accounts of a relay, have to share it. So nothing is charged to
/// an address alone, and nothing at all for a refusal that costs no signature check. Failed checks
/// are charged to an address together with the key that was named, and then tokens that were
/// accepted before are still accepted.
struct RelayAuthorizer {
  /// Relay that a request claims to be from, and where it came from.
  private struct Claim: Hashable, Sendable {
    let network: PeerNetwork
    let keyHash: [UInt8]
  }

  /// Origin of the gateway, for which tokens must be made.
  private let origin: String
  /// Ends of accepted tokens, in seconds since the Unix epoch, by SHA-256 of the field.
  private var accepted = RecentMemory<[UInt8], Int64>(
    keys: GatewayLimits.acceptedTokens, milliseconds: Limits.vapidMostSeconds * 1_000)
  private var failures = TokenBuckets<Claim>(
    GatewayLimits.failedSignatures, inMilliseconds: GatewayLimits.rateMilliseconds,
    burst: GatewayLimits.failedSignatures, keys: GatewayLimits.rateKeys)

  init(origin: String) { self.origin = origin }

  /// Checks the token of a request from that network.
  mutating func authorize(
    _ headers: HTTPHeaders, for endpoint: SealedEndpoint, from network: PeerNetwork,
    at moment: Moment
  ) throws(GatewayProblem) {
    guard let field = headers["Authorization"] else {
      throw GatewayProblem(.unauthorized, "Send `Authorization: vapid t=…, k=…` (RFC 8292).")
    }
    guard let key = VAPIDToken.namedKey(in: field) else { throw problem(of: .malformed) }
    guard endpoint.allows(key) else {
      throw GatewayProblem(
        .keyRefused, "Sign with the key that the endpoint was made for; this is another one.")
    }
    // The hash of the field, so that no token is kept.
    let name = SHA256.hash(Array(field.utf8))
    if let end = accepted.value(of: name, at: moment.instant), end * 1_000 > moment.wall { return }
    let claim = Claim(network: network, keyHash: endpoint.relayKeyHash)
    guard failures.hasToken(claim, at: moment.instant) else {
      throw GatewayProblem(
        .tooManyRequests, "Too many VAPID tokens with this key were refused; correct them first.",
        retryAfterMilliseconds: GatewayLimits.pauseMilliseconds)
    }
    do throws(VAPIDFault) {
      let token = try VAPIDToken(checking: field, audience: origin, at: moment.wall)
      accepted.remember(token.claims.expires, of: name, at: moment.instant)
    } catch {
      failures.spendTokens(claim, at: moment.instant)
      throw problem(of: error)
    }
  }

  private func problem(of fault: VAPIDFault) -> GatewayProblem {
    let text =
      switch fault {
      case .malformed: "Send a VAPID token of RFC 8292; this one does not have its form."
      case .algorithm: "Sign the VAPID token with ES256."
      case .signature: "Sign the VAPID token with the key that `k` names."
      case .audience: "Make the VAPID token for the audience \(origin)."
      case .expired: "The VAPID token has expired; check the clock, and make a new one."
      case .tooLong: "Make a VAPID token that is valid for 24 hours at the most."
      }
    return GatewayProblem(.keyRefused, text)
  }
}

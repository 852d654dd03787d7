import LockstepModel
import LockstepRuntime

/// Limits of pushes by the device that they are for. Anybody can ask for an endpoint with an
/// invented token, so the gateway must not ask APNs about each of them: Apple could shut it out.
///
/// - A device that is gone is remembered, unless its app asks for an endpoint again.
/// - Tokens that APNs says it never gave are charged to the network that asked for their endpoints;
///   if that is forgotten, to the one that pushes. A network that has had too many of them, or all
///   networks together, can push to known devices alone: those of which APNs has accepted a push.
/// - A device has few pushes: Apple delivers a few an hour.
///
/// A relay is not charged for its accounts as long as the network is remembered, and never loses
/// known devices.
struct DeviceLimiter {
  private var gone = RecentMemory<APNsTarget, Bool>(
    keys: GatewayLimits.goneDevices, milliseconds: GatewayLimits.goneMilliseconds)
  private var known = RecentMemory<APNsTarget, Bool>(
    keys: GatewayLimits.knownDevices, milliseconds: GatewayLimits.knownMilliseconds)
  /// Networks that have asked for the endpoints of devices that are not known yet.
  private var askers = RecentMemory<APNsTarget, PeerNetwork>(
    keys: GatewayLimits.newDevices, milliseconds: GatewayLimits.newMilliseconds)
  private var badTokens = TokenBuckets<PeerNetwork>(
    GatewayLimits.badTokensPerNetwork, inMilliseconds: GatewayLimits.rateMilliseconds,
    burst: GatewayLimits.badTokensPerNetwork, keys: GatewayLimits.rateKeys)
  /// One bucket for all networks.
  private var allBadTokens = TokenBuckets<Bool>(
    GatewayLimits.badTokens, inMilliseconds: GatewayLimits.rateMilliseconds,
    burst: GatewayLimits.badTokens, keys: 2)
  private var pushes = TokenBuckets<APNsTarget>(
    GatewayLimits.pushesPerDevice, inMilliseconds: GatewayLimits.rateMilliseconds,
    burst: GatewayLimits.pushesPerDevice, keys: GatewayLimits.rateKeys)

  /// Records that an app on the device has asked for an endpoint, or somebody who says so.
  mutating func recordEndpoint(
    _ target: APNsTarget, from network: PeerNetwork, at now: Instant
  ) {
    gone.forget(target)
    if known.value(of: target, at: now) == nil {
      askers.remember(network, of: target, at: now)
    }
  }

  /// Charges for a push from that network. Returns the network that answers for the token.
  mutating func admit(
    _ target: APNsTarget, from network: PeerNetwork, at now: Instant
  ) throws(GatewayProblem) -> PeerNetwork {
    if gone.value(of: target, at: now) != nil { throw .gone }
    let asker = askers.value(of: target, at: now) ?? network
    if known.value(of: target, at: now) == nil {
      guard badTokens.hasToken(asker, at: now), allBadTokens.hasToken(true, at: now) else {
        throw GatewayProblem(
          .tooManyRequests, "Too many device tokens were none of APNs'; try this one again later.",
          retryAfterMilliseconds: GatewayLimits.pauseMilliseconds)
      }
    }
    if let wait = pushes.takeToken(target, at: now) {
      throw GatewayProblem(
        .tooManyRequests, "Too many pushes to this device; Apple delivers a few an hour.",
        retryAfterMilliseconds: wait)
    }
    return asker
  }

  /// Records what APNs has answered. `asker`: network that answers for the token (`admit`).
  mutating func record(
    _ result: APNsResult, of target: APNsTarget, asker: PeerNetwork, at now: Instant
  ) {
    switch result {
    case .accepted, .throttled: known.remember(true, of: target, at: now)
    case .gone: recordGone(target, at: now)
    case .badToken:
      recordGone(target, at: now)
      badTokens.spendTokens(asker, at: now)
      allBadTokens.spendTokens(true, at: now)
    case .unavailable, .misconfigured: break
    }
  }

  private mutating func recordGone(_ target: APNsTarget, at now: Instant) {
    known.forget(target)
    gone.remember(true, of: target, at: now)
  }
}

import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepWire

/// An account that has moved to another relay: the former relay names the address, which the home
/// keeps before the agent uses it.
extension Agent {
  /// Follows the account to the relay that a refusal names. If relays send the device in a circle,
  /// each further address waits for the backoff.
  mutating func follow(_ refusal: Refusal, at moment: Moment) {
    guard !isStopping, let former = credentials?.relay, !isFollowing else { return }
    let relay: RelayAddress
    do throws(MoveFault) {
      relay = try former.successor(refusal)
    } catch {
      return retryLater(because: error.explanation(former), refusal, at: moment)
    }
    moves += 1
    let isCircle = moves > Limits.relayFollows
    disconnect(
      because: isCircle
        ? localized(
          "the relays at {former} and {relay} each send this device to another address; ask their "
            + "owners where the account is", ["former": former.link, "relay": relay.link])
        : localized("the account lives at {relay} now", ["relay": relay.link]),
      at: moment)
    if isCircle {
      scheduleRetry(retryAfterMilliseconds: nil, at: moment)
    } else {
      transportSelector.reset()
    }
    submit(.follow(relay: relay.url), .following, at: moment)
  }

  /// True while the new address is being stored: the former one is not used any more.
  var isFollowing: Bool { jobs.contains { $0.kind == .following } }

  /// Handles the relay's refusal of a request, if it is about the account's place.
  mutating func followIfMoved(_ refusal: Refusal, at moment: Moment) {
    if refusal.code == .accountMoved { follow(refusal, at: moment) }
  }

  private mutating func retryLater(
    because reason: String, _ refusal: Refusal, at moment: Moment
  ) {
    disconnect(because: reason, at: moment)
    scheduleRetry(retryAfterMilliseconds: refusal.retryAfterMilliseconds, at: moment)
    endSyncOrders(at: moment)
  }

  private mutating func scheduleRetry(retryAfterMilliseconds: Int64?, at moment: Moment) {
    let delay = backoff.next(retryAfterMilliseconds: retryAfterMilliseconds, random: &random)
    deadlines.set(.retry, moment.instant.advanced(milliseconds: delay))
  }

  /// Continues at the new address, which is durable.
  mutating func relayFollowed(
    _ found: LoadedHome, _ outbox: OutboxSummary, at moment: Moment
  ) {
    // Another relay has another clock, and the account may have another plan there.
    clock.invalidate()
    engine.unblockZones()
    homeLoaded(found, outbox, connects: deadlines[.retry] == nil, at: moment)
    if let identity = found.identity { report(.moved(identity)) }
    if moves > Limits.relayFollows { endSyncOrders(at: moment) }
  }
}

/// Reason for which a device does not follow its account to an address.
package enum MoveFault: Error, Hashable, Sendable {
  /// The answer names no address of a relay.
  case noAddress
  /// The relay names its own address.
  case sameAddress
  /// A relay must not lead a device that uses TLS to an address without.
  case notSecure(RelayAddress)

  /// The fault and the next step, for users. `former`: the relay that gave the answer.
  package func explanation(_ former: RelayAddress) -> String {
    switch self {
    case .noAddress:
      localized(
        "the relay at {former} says that the account has moved, and does not say to which address; "
          + "ask its owner", ["former": former.link])
    case .sameAddress:
      localized(
        "the relay at {former} says that the account has moved to this same address; ask its owner",
        ["former": former.link])
    case .notSecure(let relay):
      localized(
        "the relay at {former} says that the account has moved to {relay}, an address without TLS, "
          + "which is not followed; ask its owner",
        ["former": former.link, "relay": relay.link])
    }
  }
}

extension RelayAddress {
  /// Returns the address to which an account has moved, from the answer of the relay at this one.
  package func successor(_ refusal: Refusal) throws(MoveFault) -> RelayAddress {
    guard let relay = refusal.relay.flatMap({ RelayAddress(url: $0) }) else {
      throw .noAddress
    }
    guard relay != self else { throw .sameAddress }
    guard relay.isSecure || !isSecure else { throw .notSecure(relay) }
    return relay
  }
}

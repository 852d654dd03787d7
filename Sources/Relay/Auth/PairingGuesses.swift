import LockstepModel
import LockstepWire

/// Counts wrong pairing codes of the last minute, by the network they come from and in all. News
/// tell all nodes of the process every guess, so that each counts the same.
///
/// A guess counts as wrong from when it is made, so that many at once gain nothing, and is taken
/// back when it proves right. A network that made too many may make none, right or wrong, until
/// the first of them are a minute old: otherwise it would learn by its guesses whether one is
/// right. All others are not concerned. Too many in all only have wrong codes refused in another
/// way, so that nobody can keep a right one from being taken.
struct PairingGuesses: Sendable {
  private struct Guess: Sendable {
    var at: Instant
    var address: PeerNetwork
  }

  private let perAddress: Int
  private let inAll: Int
  /// When each network made those that count, oldest first.
  private var byAddress: [PeerNetwork: [Instant]] = [:]
  /// Oldest first, from `start` on; those that proved right among them.
  private var guesses: [Guess] = []
  private var start = 0
  private var count = 0

  init(_ limits: RelayLimits) {
    perAddress = limits.pairingGuessesPerAddress
    inAll = limits.pairingGuessesInAll
  }

  /// nil where another guess may be made from there; otherwise for how many milliseconds it may
  /// not.
  mutating func wait(for address: PeerNetwork, at now: Instant) -> Int64? {
    forget(at: now)
    guard let own = byAddress[address], own.count >= perAddress else { return nil }
    return PairingGuesses.wait(for: own[own.count - perAddress], at: now)
  }

  /// For how many milliseconds wrong codes are too many in all, the last one included; nil where
  /// they are not.
  mutating func waitInAll(at now: Instant) -> Int64? {
    forget(at: now)
    guard count > inAll, guesses.count - start >= inAll else { return nil }
    return PairingGuesses.wait(for: guesses[guesses.count - inAll].at, at: now)
  }

  mutating func guessed(from address: PeerNetwork, at now: Instant) {
    forget(at: now)
    if guesses.count - start >= Limits.countedGuesses { forgetOldest() }
    guesses.append(Guess(at: now, address: address))
    byAddress[address, default: []].append(now)
    count += 1
  }

  mutating func provedRight(from address: PeerNetwork) {
    guard byAddress[address]?.popLast() != nil else { return }
    if byAddress[address]?.isEmpty == true { byAddress[address] = nil }
    count -= 1
  }

  private mutating func forget(at now: Instant) {
    while start < guesses.count,
      now.milliseconds(since: guesses[start].at) >= Limits.pairingWindowMilliseconds
    {
      forgetOldest()
    }
  }

  private mutating func forgetOldest() {
    let oldest = guesses[start]
    start += 1
    if byAddress[oldest.address]?.first == oldest.at {
      byAddress[oldest.address]?.removeFirst()
      if byAddress[oldest.address]?.isEmpty == true { byAddress[oldest.address] = nil }
      count -= 1
    }
    // Those that are forgotten are moved over once they are half, so that each is moved once.
    if start * 2 > guesses.count {
      guesses.removeFirst(start)
      start = 0
    }
  }

  private static func wait(for guess: Instant, at now: Instant) -> Int64 {
    max(0, Limits.pairingWindowMilliseconds - now.milliseconds(since: guess))
  }
}

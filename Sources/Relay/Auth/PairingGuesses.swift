import LockstepModel
import LockstepRuntime

/// Counts wrong pairing codes of the last minute, per network and in total. Every guess is sent as
/// news to all nodes of the process, so that all count the same.
///
/// A guess counts as wrong as soon as it is made, so that many parallel guesses gain nothing, and
/// is uncounted if it proves right. A network with too many guesses may make none, right or wrong,
/// until the first of them are a minute old: otherwise the answers would show it if a guess is
/// right. Other networks are not affected. If the total is too high, only wrong codes get another
/// refusal, so that an attacker cannot block a right code.
struct PairingGuesses: Sendable {
  private struct Guess: Sendable {
    var at: Instant
    var address: PeerNetwork
  }

  private let perAddress: Int
  private let inAll: Int
  /// Times of the counted guesses per network, oldest first.
  private var byAddress: [PeerNetwork: [Instant]] = [:]
  /// All guesses, oldest first, from index `start` on; includes those that proved right.
  private var guesses: [Guess] = []
  private var start = 0
  private var count = 0

  init(_ limits: RelayLimits) {
    perAddress = limits.pairingGuessesPerAddress
    inAll = limits.pairingGuessesInAll
  }

  /// Returns nil if the network may make another guess; otherwise the wait in milliseconds.
  mutating func wait(for address: PeerNetwork, at now: Instant) -> Int64? {
    removeExpired(at: now)
    guard let own = byAddress[address], own.count >= perAddress else { return nil }
    return PairingGuesses.wait(for: own[own.count - perAddress], at: now)
  }

  /// Returns for how many milliseconds the total of wrong codes is too high, including the last
  /// one; nil if it is not.
  mutating func totalWait(at now: Instant) -> Int64? {
    removeExpired(at: now)
    guard count > inAll, guesses.count - start >= inAll else { return nil }
    return PairingGuesses.wait(for: guesses[guesses.count - inAll].at, at: now)
  }

  mutating func recordGuess(from address: PeerNetwork, at now: Instant) {
    removeExpired(at: now)
    if guesses.count - start >= Limits.countedGuesses { removeOldest() }
    guesses.append(Guess(at: now, address: address))
    byAddress[address, default: []].append(now)
    count += 1
  }

  mutating func uncountGuess(from address: PeerNetwork) {
    guard byAddress[address]?.popLast() != nil else { return }
    if byAddress[address]?.isEmpty == true { byAddress[address] = nil }
    count -= 1
  }

  private mutating func removeExpired(at now: Instant) {
    while start < guesses.count,
      now.milliseconds(since: guesses[start].at) >= Limits.pairingWindowMilliseconds
    {
      removeOldest()
    }
  }

  private mutating func removeOldest() {
    let oldest = guesses[start]
    start += 1
    if byAddress[oldest.address]?.first == oldest.at {
      byAddress[oldest.address]?.removeFirst()
      if byAddress[oldest.address]?.isEmpty == true { byAddress[oldest.address] = nil }
      count -= 1
    }
    // Forgotten entries are removed once they are half of the array, so that each is moved once.
    if start * 2 > guesses.count {
      guesses.removeFirst(start)
      start = 0
    }
  }

  private static func wait(for guess: Instant, at now: Instant) -> Int64 {
    max(0, Limits.pairingWindowMilliseconds - now.milliseconds(since: guess))
  }
}

import Changes
import Link

/// Counts wrong pairing codes of the last minute, by the network they come from and in all. News
/// tell all nodes of the process every guess, so that each counts the same.
///
/// A guess counts as wrong from when it is made, so that many at once gain nothing, and is taken
/// back when it proves right.
struct PairingGuesses: Sendable {
  private struct Guess: Sendable {
    var at: Instant
    var address: PeerNetwork
  }

  private let perAddress: Int
  private let inAll: Int
  /// Oldest first. At most `inAll` for each node, as each stops there.
  private var guesses: [Guess] = []

  init(_ limits: RelayLimits) {
    perAddress = limits.pairingGuessesPerAddress
    inAll = limits.pairingGuessesInAll
  }

  /// nil where another guess may be made; otherwise for how many milliseconds it may not.
  mutating func wait(for address: PeerNetwork, at now: Instant) -> Int64? {
    forget(at: now)
    let own = guesses.filter { $0.address == address }
    let waits = [(own, perAddress), (guesses, inAll)].compactMap { guesses, limit in
      guesses.count < limit ? nil : guesses[guesses.count - limit].at
    }
    return waits.max().map { Limits.pairingWindowMilliseconds - now.milliseconds(since: $0) }
  }

  mutating func guessed(from address: PeerNetwork, at now: Instant) {
    forget(at: now)
    guesses.append(Guess(at: now, address: address))
  }

  mutating func provedRight(from address: PeerNetwork) {
    if let index = guesses.lastIndex(where: { $0.address == address }) {
      guesses.remove(at: index)
    }
  }

  private mutating func forget(at now: Instant) {
    let old = guesses.prefix {
      now.milliseconds(since: $0.at) >= Limits.pairingWindowMilliseconds
    }
    guesses.removeFirst(old.count)
  }
}

import LockstepModel

/// What a node is finding out about the doings of other relays.
struct PeerRelays: Sendable {
  private struct Reading: Sendable {
    /// The newest token heard of meanwhile.
    var heard: ChangeToken
    /// How many polls had been parked when it began.
    var polls: UInt64
  }

  /// Accounts of which is being read what was saved unheard.
  private var reading: [AccountID: Reading] = [:]
  /// Accounts that the store placed, at the last look, before where they stood here then.
  private var behind: [AccountID: ChangeToken] = [:]
  /// Long-polls that were parked so far, of whatever account.
  private var parked: UInt64 = 0
  /// Whether the store is asked where accounts stand.
  enum Look: Sendable {
    case none
    case planned
    case underWay
  }

  var look = Look.none
  /// The place in the hub that is asked about next; nil where the round ends.
  var nextPlace: Int?

  /// The number of a poll that is parked now.
  mutating func park() -> UInt64 {
    parked += 1
    return parked
  }

  /// Whether the store stands before `newest` at two looks in a row, and nobody has saved between
  /// them: a single look may only be late.
  mutating func isBehind(
    _ account: AccountID, _ newest: ChangeToken?, storeAt token: ChangeToken
  ) -> Bool {
    guard let newest, newest.covers(token), newest.sequence > token.sequence else {
      behind[account] = nil
      return false
    }
    if behind.removeValue(forKey: account) == newest { return true }
    if behind.count >= Limits.movementAccounts { behind = [:] }
    behind[account] = newest
    return false
  }

  func isReading(_ account: AccountID) -> Bool { reading[account] != nil }

  /// Whether what is being read of the account will be followed up to `token`.
  mutating func isReading(_ account: AccountID, upTo token: ChangeToken) -> Bool {
    guard let heard = reading[account]?.heard else { return false }
    if !heard.covers(token) { reading[account]?.heard = token }
    return true
  }

  mutating func begin(_ account: AccountID, upTo token: ChangeToken) {
    reading[account] = Reading(heard: token, polls: parked)
  }

  /// The newest token that was heard of while the account was read, and the number of the last
  /// poll that was parked before; nil where it was not read.
  mutating func end(_ account: AccountID) -> (heard: ChangeToken, lastPoll: UInt64)? {
    reading.removeValue(forKey: account).map { ($0.heard, $0.polls) }
  }
}

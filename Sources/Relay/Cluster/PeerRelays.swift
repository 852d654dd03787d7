import LockstepModel

/// State of a node's reads of changes made by other relays.
struct PeerRelays: Sendable {
  private struct Reading: Sendable {
    /// The newest token announced since the read began.
    var newest: ChangeToken
    /// Number of polls parked before the read began.
    var polls: UInt64
  }

  /// Accounts whose changes by other relays are being read.
  private var reading: [AccountID: Reading] = [:]
  /// Accounts that were behind in the store at the last check, with the token known here then.
  private var behind: [AccountID: ChangeToken] = [:]
  /// Number of long-polls parked so far, over all accounts.
  private var parked: UInt64 = 0
  /// State of the check of the accounts' tokens in the store.
  private enum Check: Sendable {
    /// → planned, underWay
    case none
    /// → underWay, none
    case planned
    /// → underWay, planned, none
    case underWay
  }

  private var check = Check.none
  /// Hub index to check next; nil at the end of the round.
  private(set) var nextIndex: Int?

  /// True if a check is planned or under way.
  var isChecking: Bool { check != .none }

  /// True if the store was asked for the tokens.
  var awaitsVersions: Bool { check == .underWay }

  mutating func planCheck() { check = .planned }

  /// Records that the store is asked for tokens. `next`: hub index of those to ask for next.
  mutating func beginCheck(next: Int?) {
    check = .underWay
    nextIndex = next
  }

  /// Records that there are no accounts to check.
  mutating func endChecks() { check = .none }

  /// Returns the number of a poll that is parked now.
  mutating func park() -> UInt64 {
    parked += 1
    return parked
  }

  /// True if the store was behind `newest` at two checks in a row, without a save between them: a
  /// single check may only be late.
  mutating func isBehind(
    _ account: AccountID, _ newest: ChangeToken?, storeAt token: ChangeToken
  ) -> Bool {
    guard let newest, newest.covers(token), newest.sequence > token.sequence else {
      behind[account] = nil
      return false
    }
    if behind.removeValue(forKey: account) == newest { return true }
    if behind.count >= Limits.versionCheckAccounts { behind = [:] }
    behind[account] = newest
    return false
  }

  func isReading(_ account: AccountID) -> Bool { reading[account] != nil }

  /// True if the account is being read; the read is then continued up to `token`.
  mutating func isReading(_ account: AccountID, upTo token: ChangeToken) -> Bool {
    guard let newest = reading[account]?.newest else { return false }
    if !newest.covers(token) { reading[account]?.newest = token }
    return true
  }

  mutating func begin(_ account: AccountID, upTo token: ChangeToken) {
    reading[account] = Reading(newest: token, polls: parked)
  }

  /// Ends a read. Returns the newest token announced during it, and the number of the last poll
  /// parked before it; nil if the account was not being read.
  mutating func end(_ account: AccountID) -> (newest: ChangeToken, lastPoll: UInt64)? {
    reading.removeValue(forKey: account).map { ($0.newest, $0.polls) }
  }
}

import Changes

/// What a node is finding out about the doings of other relays.
struct Neighbours: Sendable {
  /// Accounts of which is being read what another relay saved, and the newest token heard of each.
  private var reading: [AccountID: ChangeToken] = [:]
  /// Whether the store is asked where accounts stand.
  enum Look: Sendable {
    case none
    case planned
    case underWay
  }

  var look = Look.none
  /// The place in the hub that is asked about next; nil where the round ends.
  var nextPlace: Int?

  /// Whether what is being read of the account will be followed up to `token`.
  mutating func isReading(_ account: AccountID, upTo token: ChangeToken) -> Bool {
    guard let heard = reading[account] else { return false }
    if !heard.covers(token) { reading[account] = token }
    return true
  }

  mutating func begin(_ account: AccountID, upTo token: ChangeToken) { reading[account] = token }

  /// The newest token that was heard of while the account was read; nil where it was not.
  mutating func end(_ account: AccountID) -> ChangeToken? { reading.removeValue(forKey: account) }
}

import LockstepModel

/// The connections that watch each account on this node, in the order in which they came, which is
/// the order of delivery.
struct Hub: Sendable {
  /// Index of a connection in the node's table.
  typealias Slot = Int

  struct Watchers: Sendable {
    /// nil if the entry is free.
    var account: AccountID?
    /// All connections that are signed in to the account.
    var members: [Slot] = []
    /// Sockets among them, from the start of their welcome on.
    var sockets: [Slot] = []
    /// Connections among them with a long-poll, being read or parked.
    var polls: [Slot] = []
    /// Connections among them with an event stream under way.
    var streams: [Slot] = []
    /// Filters of the devices among them; nil if there are none.
    var rules: FilterTable?
    /// The account's newest token heard of; nil until the store has reported it once.
    var newest: ChangeToken?
    /// `AccountVersion.membershipVersion`, as the store last reported it; nil until then.
    var membershipVersion: Int64?
  }

  private var places: [AccountID: Int] = [:]
  private var watchers: [Watchers] = []
  private var free: [Int] = []
  /// Number of long-polls and streams under way, over all accounts.
  private(set) var pollCount = 0
  private(set) var streamCount = 0

  /// Number of accounts with a connection on this node.
  var accountCount: Int { places.count }

  /// Returns nil if the account has no connection on this node.
  func watchers(of account: AccountID) -> Watchers? { places[account].map { watchers[$0] } }

  /// Returns the number of sockets, streams and long-polls of the account.
  func watcherCount(of account: AccountID) -> Int {
    places[account].map { watcherCount(at: $0) } ?? 0
  }

  private func watcherCount(at place: Int) -> Int {
    watchers[place].sockets.count + watchers[place].streams.count + watchers[place].polls.count
  }

  mutating func join(_ slot: Slot, _ account: AccountID) {
    let place = places[account] ?? newPlace(account)
    watchers[place].members.append(slot)
  }

  /// Removes a connection that is no longer signed in; it stops watching too.
  mutating func leave(_ slot: Slot, _ account: AccountID) {
    guard let place = places[account] else { return }
    _ = watchers[place].members.removeFirst(slot)
    _ = watchers[place].sockets.removeFirst(slot)
    pollCount -= watchers[place].polls.removeFirst(slot) ? 1 : 0
    streamCount -= watchers[place].streams.removeFirst(slot) ? 1 : 0
    if watchers[place].members.isEmpty {
      places[account] = nil
      watchers[place] = Watchers()
      free.append(place)
    }
  }

  mutating func watchBySocket(_ slot: Slot, _ account: AccountID) {
    guard let place = places[account] else { return }
    watchers[place].sockets.append(slot)
  }

  mutating func watchByPoll(_ slot: Slot, _ account: AccountID) {
    guard let place = places[account] else { return }
    watchers[place].polls.append(slot)
    pollCount += 1
  }

  /// Does the same for a poll that asks for changes after `since`. Returns false, and does nothing,
  /// if that is not the account's newest token, or if `limit` connections watch it already.
  mutating func watchByPoll(
    _ slot: Slot, _ account: AccountID, standingAt since: ChangeToken, limit: Int
  ) -> Bool {
    guard let place = places[account], watchers[place].newest == since,
      watcherCount(at: place) < limit
    else { return false }
    watchers[place].polls.append(slot)
    pollCount += 1
    return true
  }

  mutating func endPoll(_ slot: Slot, _ account: AccountID) {
    guard let place = places[account] else { return }
    pollCount -= watchers[place].polls.removeFirst(slot) ? 1 : 0
  }

  mutating func watchByStream(_ slot: Slot, _ account: AccountID) {
    guard let place = places[account] else { return }
    watchers[place].streams.append(slot)
    streamCount += 1
  }

  mutating func endStream(_ slot: Slot, _ account: AccountID) {
    guard let place = places[account] else { return }
    streamCount -= watchers[place].streams.removeFirst(slot) ? 1 : 0
  }

  /// Returns the account's newest token, as far as this node has heard; nil if it is unknown. Any
  /// later commit is still to be announced, so a device with this token need not read the store.
  func newest(of account: AccountID) -> ChangeToken? {
    places[account].flatMap { watchers[$0].newest }
  }

  /// Records the token of a commit.
  mutating func moved(_ account: AccountID, to token: ChangeToken) {
    guard let place = places[account] else { return }
    watchers[place].newest = token
  }

  /// Records the account's token as read from the store. It is used only if no commit was heard of
  /// before: a token from news is as new.
  mutating func learned(_ account: AccountID, standsAt token: ChangeToken) {
    guard let place = places[account], watchers[place].newest == nil else { return }
    watchers[place].newest = token
  }

  /// Records `membershipVersion` as the store reports it. Returns true if it was older before: the
  /// account's devices must be read again.
  mutating func learned(_ account: AccountID, membershipVersion: Int64) -> Bool {
    guard let place = places[account] else { return false }
    let known = watchers[place].membershipVersion
    if let known, known >= membershipVersion { return false }
    watchers[place].membershipVersion = membershipVersion
    return known != nil
  }

  /// Marks the known `membershipVersion` as possibly outdated.
  mutating func invalidateMembership(of account: AccountID) {
    guard let place = places[account] else { return }
    watchers[place].membershipVersion = -1
  }

  /// Returns at most `limit` accounts with a connection here, in index order from `place` on, and
  /// the next index; nil if that was the last.
  func accounts(from place: Int, limit: Int) -> (accounts: [AccountID], next: Int?) {
    var accounts: [AccountID] = []
    for index in watchers.indices.dropFirst(place) {
      if accounts.count == limit { return (accounts, index) }
      if let account = watchers[index].account { accounts.append(account) }
    }
    return (accounts, nil)
  }

  /// Sets the device's filter; nil: everything matches.
  mutating func setRule(_ rule: SubscriptionFilter?, of device: DeviceID, _ account: AccountID) {
    guard let place = places[account], rule != nil || watchers[place].rules != nil else { return }
    if watchers[place].rules == nil { watchers[place].rules = FilterTable() }
    watchers[place].rules?.setRule(rule, of: device)
    if watchers[place].rules?.isEmpty == true { watchers[place].rules = nil }
  }

  /// Returns nil if everything matches.
  func rule(of device: DeviceID, _ account: AccountID) -> SubscriptionFilter? {
    places[account].flatMap { watchers[$0].rules?.rule(of: device) }
  }

  private mutating func newPlace(_ account: AccountID) -> Int {
    let place = free.popLast() ?? watchers.count
    if place == watchers.count { watchers.append(Watchers()) }
    watchers[place].account = account
    places[account] = place
    return place
  }
}

extension [Hub.Slot] {
  /// Returns true if the slot was in the list.
  fileprivate mutating func removeFirst(_ slot: Hub.Slot) -> Bool {
    guard let index = firstIndex(of: slot) else { return false }
    remove(at: index)
    return true
  }
}

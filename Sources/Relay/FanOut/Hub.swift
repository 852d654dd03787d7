import LockstepModel

/// Who watches which account on this node, in the order in which they came, which is the order in
/// which they are told.
struct Hub: Sendable {
  /// A connection's place in the node's table.
  typealias Slot = Int

  struct Watchers: Sendable {
    /// nil where the place is free.
    var account: AccountID?
    /// All connections that are signed in to the account.
    var members: [Slot] = []
    /// Those of them that are sockets with a welcome under way or behind them.
    var sockets: [Slot] = []
    /// Those that hold a long-poll, being read or parked.
    var polls: [Slot] = []
    /// Those with a stream of events under way.
    var streams: [Slot] = []
    /// Of the devices among them that not everything wakes; nil where there is none.
    var rules: FilterTable?
    /// Where the account stands, as far as has been heard; nil until the store has told it once.
    var newest: ChangeToken?
    /// `AccountVersion.affairs`, as the store told them last; nil until it has.
    var affairs: Int64?
  }

  private var places: [AccountID: Int] = [:]
  private var watchers: [Watchers] = []
  private var free: [Int] = []
  /// Long-polls and streams under way, over all accounts.
  private(set) var pollCount = 0
  private(set) var streamCount = 0

  /// How many accounts have somebody here.
  var accountCount: Int { places.count }

  /// nil where nobody watches the account.
  func watchers(of account: AccountID) -> Watchers? { places[account].map { watchers[$0] } }

  /// Sockets, streams and long-polls of the account.
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

  /// The connection is no longer signed in; it stops watching too.
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

  /// The same for a poll that asks for what comes after `since`. False, with nothing done, where
  /// the account does not stand there, or `limit` watch it already.
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

  /// Where the account stands, as far as this node has heard; nil where it does not know. A commit
  /// beyond it is still to be heard of, so who stands here need not ask the store.
  func newest(of account: AccountID) -> ChangeToken? {
    places[account].flatMap { watchers[$0].newest }
  }

  /// A commit of the account was heard of.
  mutating func moved(_ account: AccountID, to token: ChangeToken) {
    guard let place = places[account] else { return }
    watchers[place].newest = token
  }

  /// The store was read, and says that the account stands at `token`. `token` counts where nothing
  /// was heard of the account since before it was asked: what was heard is as new.
  mutating func learned(_ account: AccountID, standsAt token: ChangeToken) {
    guard let place = places[account], watchers[place].newest == nil else { return }
    watchers[place].newest = token
  }

  /// What the store says of the account's affairs. True where they were others before: what is
  /// known of its devices is to be asked for again.
  mutating func learned(_ account: AccountID, affairs: Int64) -> Bool {
    guard let place = places[account] else { return false }
    let known = watchers[place].affairs
    if let known, known >= affairs { return false }
    watchers[place].affairs = affairs
    return known != nil
  }

  /// What is known of the account's affairs may be old.
  mutating func doubtAffairs(of account: AccountID) {
    guard let place = places[account] else { return }
    watchers[place].affairs = -1
  }

  /// At most so many accounts that have somebody here, in the order of their places from `place`
  /// on, and the place that follows; nil where that was the last.
  func accounts(from place: Int, limit: Int) -> (accounts: [AccountID], next: Int?) {
    var accounts: [AccountID] = []
    for index in watchers.indices.dropFirst(place) {
      if accounts.count == limit { return (accounts, index) }
      if let account = watchers[index].account { accounts.append(account) }
    }
    return (accounts, nil)
  }

  /// What wakes the device from here on; nil: everything.
  mutating func setRule(_ rule: SubscriptionFilter?, of device: DeviceID, _ account: AccountID) {
    guard let place = places[account], rule != nil || watchers[place].rules != nil else { return }
    if watchers[place].rules == nil { watchers[place].rules = FilterTable() }
    watchers[place].rules?.setRule(rule, of: device)
    if watchers[place].rules?.isEmpty == true { watchers[place].rules = nil }
  }

  /// nil where everything wakes the device.
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
  /// Whether it was there.
  fileprivate mutating func removeFirst(_ slot: Hub.Slot) -> Bool {
    guard let index = firstIndex(of: slot) else { return false }
    remove(at: index)
    return true
  }
}

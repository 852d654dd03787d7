import LockstepModel
import LockstepRuntime

/// The connections that watch each account on this node, in the order in which they came, which is
/// the order of delivery.
struct Hub: Sendable {
  /// Index of a connection in the node's table.
  typealias Slot = UInt32

  struct Watchers: Sendable {
    /// All connections that are signed in to the account.
    var members: [Slot] = []
    /// Sockets among them, from the start of their welcome on.
    var sockets: [Slot] = []
    /// Connections among them with a long-poll, being read or parked.
    var polls: [Slot] = []
    /// Connections among them with an event stream under way.
    var streams: [Slot] = []
    /// Filters of the devices among them; nil if there are none, as for most accounts.
    fileprivate var filterTable: CopyOnWriteBox<FilterTable>?
    /// nil if the entry is free.
    fileprivate var account: AccountID?
    /// Number of saves by sockets that are under way.
    var saves: UInt32 = 0
    /// The account's newest known token; nil until the store has reported it once.
    var newest: ChangeToken?
    /// `AccountVersion.membershipVersion`, as the store last reported it; nil until then.
    var membershipVersion: Int64?

    var filters: FilterTable? { filterTable?.value }
  }

  private var indexes = PositionIndex()
  private var watchers: [Watchers] = []
  private var free: [Int] = []
  /// Number of long-polls and streams under way, over all accounts.
  private(set) var pollCount = 0
  private(set) var streamCount = 0

  /// Number of accounts with a connection on this node.
  var accountCount: Int { indexes.count }

  /// Returns nil if the account has no connection on this node.
  func watchers(of account: AccountID) -> Watchers? { index(of: account).map { watchers[$0] } }

  /// Returns the number of sockets, streams and long-polls of the account.
  func watcherCount(of account: AccountID) -> Int {
    index(of: account).map { watcherCount(at: $0) } ?? 0
  }

  private func watcherCount(at index: Int) -> Int {
    watchers[index].sockets.count + watchers[index].streams.count + watchers[index].polls.count
  }

  mutating func addMember(_ slot: Slot, _ account: AccountID) {
    let index = index(of: account) ?? newIndex(account)
    watchers[index].members.append(slot)
  }

  /// Removes a connection that is no longer signed in; it stops watching too.
  mutating func removeMember(_ slot: Slot, _ account: AccountID) {
    guard let index = index(of: account) else { return }
    _ = watchers[index].members.removeFirst(slot)
    _ = watchers[index].sockets.removeFirst(slot)
    pollCount -= watchers[index].polls.removeFirst(slot) ? 1 : 0
    streamCount -= watchers[index].streams.removeFirst(slot) ? 1 : 0
    if watchers[index].members.isEmpty {
      removeFromIndex(index)
      watchers[index] = Watchers()
      free.append(index)
    }
  }

  mutating func addSocket(_ slot: Slot, _ account: AccountID) {
    guard let index = index(of: account) else { return }
    watchers[index].sockets.append(slot)
  }

  mutating func addPoll(_ slot: Slot, _ account: AccountID) {
    guard let index = index(of: account) else { return }
    watchers[index].polls.append(slot)
    pollCount += 1
  }

  /// Does the same for a poll that asks for changes after `since`. Returns false, and does nothing,
  /// if that is not the account's newest token, or if `limit` connections watch it already.
  mutating func addPoll(
    _ slot: Slot, _ account: AccountID, at since: ChangeToken, limit: Int
  ) -> Bool {
    guard let index = index(of: account), watchers[index].newest == since,
      watcherCount(at: index) < limit
    else { return false }
    watchers[index].polls.append(slot)
    pollCount += 1
    return true
  }

  mutating func removePoll(_ slot: Slot, _ account: AccountID) {
    guard let index = index(of: account) else { return }
    pollCount -= watchers[index].polls.removeFirst(slot) ? 1 : 0
  }

  mutating func addStream(_ slot: Slot, _ account: AccountID) {
    guard let index = index(of: account) else { return }
    watchers[index].streams.append(slot)
    streamCount += 1
  }

  mutating func removeStream(_ slot: Slot, _ account: AccountID) {
    guard let index = index(of: account) else { return }
    streamCount -= watchers[index].streams.removeFirst(slot) ? 1 : 0
  }

  mutating func beginSave(_ account: AccountID) {
    if let index = index(of: account) { watchers[index].saves += 1 }
  }

  /// Ends a save, whose socket may be gone.
  mutating func endSave(_ account: AccountID) {
    if let index = index(of: account), watchers[index].saves > 0 { watchers[index].saves -= 1 }
  }

  /// True if saves by sockets of the account are under way.
  func hasSaves(_ account: AccountID) -> Bool {
    index(of: account).map { watchers[$0].saves > 0 } ?? false
  }

  /// Returns the account's newest token, as far as this node knows; nil if it is unknown. Any
  /// later commit is still to be announced, so a device with this token need not read the store.
  func newest(of account: AccountID) -> ChangeToken? {
    index(of: account).flatMap { watchers[$0].newest }
  }

  /// Records the token of a commit.
  mutating func recordCommit(_ account: AccountID, to token: ChangeToken) {
    guard let index = index(of: account) else { return }
    watchers[index].newest = token
  }

  /// Records the account's token as read from the store. It is used only if no commit was announced
  /// before: a token from news is as new.
  mutating func recordStoredToken(_ account: AccountID, _ token: ChangeToken) {
    guard let index = index(of: account), watchers[index].newest == nil else { return }
    watchers[index].newest = token
  }

  /// Records `membershipVersion` as the store reports it. Returns true if it was older before: the
  /// account's devices must be read again.
  mutating func recordMembership(_ account: AccountID, version membershipVersion: Int64) -> Bool {
    guard let index = index(of: account) else { return false }
    let known = watchers[index].membershipVersion
    if let known, known >= membershipVersion { return false }
    watchers[index].membershipVersion = membershipVersion
    return known != nil
  }

  /// Marks the known `membershipVersion` as possibly outdated.
  mutating func invalidateMembership(of account: AccountID) {
    guard let index = index(of: account) else { return }
    watchers[index].membershipVersion = -1
  }

  /// Returns at most `limit` accounts with a connection here, in index order from `start` on, and
  /// the next index; nil if that was the last.
  func accounts(from start: Int, limit: Int) -> (accounts: [AccountID], next: Int?) {
    var accounts: [AccountID] = []
    for index in watchers.indices.dropFirst(start) {
      if accounts.count == limit { return (accounts, index) }
      if let account = watchers[index].account { accounts.append(account) }
    }
    return (accounts, nil)
  }

  /// Sets the device's filter; nil: everything matches.
  mutating func setFilter(
    _ filter: SubscriptionFilter?, of device: DeviceID, _ account: AccountID
  ) {
    guard let index = index(of: account), filter != nil || watchers[index].filterTable != nil
    else { return }
    if watchers[index].filterTable == nil {
      watchers[index].filterTable = CopyOnWriteBox(FilterTable())
    }
    watchers[index].filterTable?.value.setFilter(filter, of: device)
    if watchers[index].filterTable?.value.isEmpty == true { watchers[index].filterTable = nil }
  }

  /// Returns nil if everything matches.
  func filter(of device: DeviceID, _ account: AccountID) -> SubscriptionFilter? {
    index(of: account).flatMap { watchers[$0].filterTable?.value.filter(of: device) }
  }

  private mutating func newIndex(_ account: AccountID) -> Int {
    let index = free.popLast() ?? watchers.count
    if index == watchers.count { watchers.append(Watchers()) }
    watchers[index].account = account
    let watchers = watchers
    indexes.insert(index) { watchers[$0].account }
    return index
  }

  private func index(of account: AccountID) -> Int? {
    indexes.position(of: account) { watchers[$0].account }
  }

  private mutating func removeFromIndex(_ index: Int) {
    let watchers = watchers
    indexes.remove(index) { watchers[$0].account }
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

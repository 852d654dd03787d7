import LockstepModel
import LockstepStorage
import LockstepWire

/// Follows the changes of other relays on a shared store.
///
/// Other relays announce which account moved, and to which token, but not the changes. A node with
/// devices of the account reads the changes once for all of them, and sends them like a commit of
/// its own. An announcement may be lost; so a node also asks the store, every few seconds, for the
/// tokens of its devices' accounts.
extension RelayNode {
  /// Handles a commit of this relay. If earlier commits were not heard of here, all changes are
  /// read: a device whose filter matches one of them, but not this commit, must not be skipped. All
  /// changes are also read if polls wait: their answer must be as new as what other relays had
  /// announced when they came, and that may follow this commit.
  mutating func follow(_ change: AccountChange) {
    guard let watchers = hub.watchers(of: change.account) else { return tell(change) }
    let isNext = watchers.newest == change.since && !peerRelays.isReading(change.account)
    if isNext && watchers.polls.isEmpty {
      tell(change)
    } else {
      remoteCommit(change.account, to: change.token)
    }
  }

  /// Handles the announcement that another relay moved the account to `token`.
  mutating func remoteCommit(_ account: AccountID, to token: ChangeToken) {
    commits.changed(account)
    guard let watchers = hub.watchers(of: account) else { return }
    if let newest = watchers.newest, newest.covers(token) { return }
    guard let since = watchers.newest, hub.watcherCount(of: account) > 0 else {
      // No connection needs the changes.
      tellUnread(account, token)
      return
    }
    if peerRelays.isReading(account, upTo: token) { return }
    let request = ReadRequest.changes(account, since: since, zone: nil, limit: Limits.batchRecords)
    // If there is no room, the next check finds it again.
    if admission.hasRoom(for: .anybody),
      ask(.read(request), for: .remoteCommit(account, since: since))
    {
      peerRelays.begin(account, upTo: token)
    }
  }

  /// Handles the changes that were read from the store.
  mutating func readElsewhere(
    _ account: AccountID, since: ChangeToken, _ result: Result<ReadResult, Refusal>
  ) {
    guard let (heard, lastPoll) = peerRelays.end(account) else { return }
    switch result {
    case .success(.page(let page)):
      // Otherwise all connections left meanwhile, and another one came.
      guard hub.newest(of: account) == since else { return }
      // If the store has nothing new, it has not come so far; the next check finds it.
      guard page.token != since else { return }
      tell(AccountChange(account, page), lastPoll: lastPoll)
      remoteCommit(account, to: heard)
    case .failure(let refusal) where refusal.code.advice == .fetchFirst:
      // An older store was restored, or tombstones are forgotten: each device fetches.
      tellUnread(account, heard)
    // The next check asks again.
    case .success, .failure: break
    }
  }

  /// Announces that the account moved, without the changes.
  private mutating func tellUnread(_ account: AccountID, _ token: ChangeToken) {
    if let newest = hub.newest(of: account), newest.covers(token) { return }
    tell(AccountChange(account: account, zone: nil, origin: nil, since: token, token: token))
  }

  // MARK: pages that match no filter

  /// True if pages may be withheld from the connection's device. If a device came before a commit
  /// of another relay was heard of here, that commit is sent to it together with changes that it
  /// has already read; only the page that is read for the device itself shows if its filter
  /// matches.
  func mayPassPages(_ slot: Hub.Slot) -> Bool {
    guard configuration.sharesStore, let session = connections[slot].session else { return false }
    return hub.rule(of: session.device, session.account) != nil
  }

  /// True if the page, the next one of that chain, is withheld.
  func passes(_ slot: Hub.Slot, _ page: ReadPage, _ chain: CursorChain?) -> Bool {
    mayPassPages(slot) && chain?.mayPassPage == true && !page.more && !page.records.isEmpty
      && !isWoken(slot, by: page.records)
  }

  // MARK: devices, plans, subscriptions

  /// Asks the store for the state of the account's devices here, because another relay changed
  /// something of the account.
  mutating func askAfterMembers(of account: AccountID) {
    standings.changed(account)
    var asked: [DeviceID] = []
    for slot in members(of: account) {
      guard let session = connections[slot].session, !asked.contains(session.device) else {
        continue
      }
      asked.append(session.device)
      let question = ReadRequest.authenticate(tokenHash: session.tokenHash)
      if !ask(.read(question), for: .standing(account, session.device)) {
        hub.invalidateMembership(of: account)
      }
    }
  }

  mutating func standingRead(
    _ account: AccountID, _ device: DeviceID, _ result: Result<ReadResult, Refusal>
  ) {
    switch result {
    case .success(.principal(let principal)):
      let isOther = members(of: account).contains {
        connections[$0].session?.plan != principal.plan
      }
      if isOther { planChanged(account, principal.plan) }
      if hub.rule(of: device, account) != SubscriptionFilter(principal.subscriptions) {
        subscribed(account, device, principal.subscriptions)
      }
    case .failure(let refusal) where refusal.code == .badToken:
      revoked(account, device, by: nil)
    // The next check of the account's `membershipVersion` asks again.
    case .success, .failure: hub.invalidateMembership(of: account)
    }
  }

  // MARK: lost announcements

  /// Starts the checks of an account whose device signed in. `membershipVersion`: from the store.
  mutating func beginLooking(at account: AccountID, membershipVersion: Int64) {
    guard configuration.sharesStore else { return }
    if hub.learned(account, membershipVersion: membershipVersion) { askAfterMembers(of: account) }
    if peerRelays.look == .none { scheduleLook() }
  }

  /// Asks the store for the accounts' tokens, a part of them at a time.
  mutating func lookForMovements() {
    guard configuration.sharesStore, stage == .running, peerRelays.look != .underWay else { return }
    lookOn(from: 0)
  }

  private mutating func lookOn(from place: Int) {
    let (accounts, next) = hub.accounts(from: place, limit: Limits.movementAccounts)
    peerRelays.nextPlace = next
    if !accounts.isEmpty, ask(.read(.movements(accounts)), for: .movements(accounts)) {
      peerRelays.look = .underWay
    } else {
      scheduleLook()
    }
  }

  mutating func movementsRead(_ accounts: [AccountID], _ result: Result<ReadResult, Refusal>) {
    guard case .success(.movements(let movements)) = result else {
      scheduleLook()
      return
    }
    var gone = Set(accounts)
    for movement in movements {
      gone.remove(movement.account)
      let newest = hub.newest(of: movement.account)
      if peerRelays.isBehind(movement.account, newest, storeAt: movement.token) {
        wentBack(movement.account, to: movement.token)
      }
      remoteCommit(movement.account, to: movement.token)
      if hub.learned(movement.account, membershipVersion: movement.membershipVersion) {
        askAfterMembers(of: movement.account)
      }
    }
    for account in accounts where gone.contains(account) { accountRemoved(account) }
    if let place = peerRelays.nextPlace { lookOn(from: place) } else { scheduleLook() }
  }

  /// Handles a store that was set back behind this relay. Connected devices reconnect, and learn by
  /// their own tokens what is lost.
  private mutating func wentBack(_ account: AccountID, to token: ChangeToken) {
    commits.changed(account)
    hub.moved(account, to: token)
    for slot in members(of: account) { windDown(slot) }
  }

  /// Schedules the next check. Without accounts there is none: the next sign-in starts it.
  private mutating func scheduleLook() {
    guard hub.accountCount > 0, stage == .running else {
      peerRelays.look = .none
      return
    }
    peerRelays.look = .planned
    timers.schedule(
      .movements, at: moment.instant.advanced(milliseconds: Limits.movementMilliseconds))
  }
}

extension AccountChange {
  /// Creates a change from the page of another relay's changes. The store does not tell if a record
  /// was created or updated, so a filter for either matches.
  fileprivate init(_ account: AccountID, _ page: ChangePage) {
    self.init(
      account: account, zone: page.changes.onlyZone, origin: nil, since: page.since ?? page.token,
      token: page.token, records: page.changes,
      events: page.changes.map { $0.isDeleted ? .delete : [.create, .update] })
  }
}

extension [Record] {
  /// The zone of all records; nil if they are of several zones, or if there are none.
  fileprivate var onlyZone: Name? {
    guard let zone = first?.zone, allSatisfy({ $0.zone == zone }) else { return nil }
    return zone
  }
}

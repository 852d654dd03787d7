import Changes
import Link
import Storage

/// How a node hears of what other relays do on the store that they share.
///
/// They tell which account moved, and how far, but not what was saved: whoever has devices of the
/// account reads that, once for all of them, and tells it as a commit of its own. What is told may
/// be lost; so a node also asks the store, every few seconds, where its devices' accounts stand.
extension RelayNode {
  /// Another relay has moved the account on to `token`.
  mutating func movedElsewhere(_ account: AccountID, to token: ChangeToken) {
    guard let watchers = hub.watchers(of: account) else { return }
    if let newest = watchers.newest, newest.covers(token) { return }
    guard let since = watchers.newest, hub.watcherCount(of: account) > 0 else {
      // Nobody to be told, or nobody knows since when: each reads for himself.
      tellUnread(account, token)
      return
    }
    if neighbours.isReading(account, upTo: token) { return }
    let request = ReadRequest.changes(account, since: since, zone: nil, limit: Limits.batchRecords)
    if admission.hasRoom, ask(.read(request), for: .movedElsewhere(account, since: since)) {
      neighbours.begin(account, upTo: token)
    } else {
      tellUnread(account, token)
    }
  }

  /// The store was read for what another relay saved.
  mutating func readElsewhere(
    _ account: AccountID, since: ChangeToken, _ result: Result<ReadResult, Refusal>
  ) {
    guard let heard = neighbours.end(account) else { return }
    var reached: ChangeToken?
    if case .success(.page(let page)) = result, !page.more {
      reached = page.token
      // What was committed here meanwhile has been told; who lacks what was before it reads it.
      if page.token != since, hub.newest(of: account) == since {
        tell(AccountChange(account, page))
      }
    }
    guard let reached else {
      tellUnread(account, heard)
      return
    }
    // Where the store has nothing new it has not come that far; the next look finds it.
    if reached != since { movedElsewhere(account, to: heard) }
  }

  /// Tells that the account has moved, and not by what.
  private mutating func tellUnread(_ account: AccountID, _ token: ChangeToken) {
    if let newest = hub.newest(of: account), newest.covers(token) { return }
    tell(AccountChange(account: account, zone: nil, origin: nil, since: token, token: token))
  }

  // MARK: devices, plans, subscriptions

  /// Another relay has changed something of the account: the store is asked what its devices here
  /// are now.
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
        hub.doubtAffairs(of: account)
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
      if hub.rule(of: device, account) != WakeRule(principal.subscriptions) {
        subscribed(account, device, principal.subscriptions)
      }
    case .failure(let refusal) where refusal.code == .badToken:
      revoked(account, device, by: nil)
    // The next look at the account's affairs asks again.
    case .success, .failure: hub.doubtAffairs(of: account)
    }
  }

  // MARK: what was lost

  /// A device signed in, of which the store tells its account's affairs.
  mutating func beginLooking(at account: AccountID, affairs: Int64) {
    guard configuration.sharesStore else { return }
    if hub.learned(account, affairs: affairs) { askAfterMembers(of: account) }
    if neighbours.look == .none { scheduleLook() }
  }

  /// Asks where the accounts stand, a part of them at a time.
  mutating func lookForMovements() {
    guard configuration.sharesStore, stage == .running, neighbours.look != .underWay else { return }
    lookOn(from: 0)
  }

  private mutating func lookOn(from place: Int) {
    let (accounts, next) = hub.accounts(from: place, limit: Limits.movementAccounts)
    neighbours.nextPlace = next
    if !accounts.isEmpty, ask(.read(.movements(accounts)), for: .movements(accounts)) {
      neighbours.look = .underWay
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
      movedElsewhere(movement.account, to: movement.token)
      if hub.learned(movement.account, affairs: movement.affairs) {
        askAfterMembers(of: movement.account)
      }
    }
    for account in accounts where gone.contains(account) { accountRemoved(account) }
    if let place = neighbours.nextPlace { lookOn(from: place) } else { scheduleLook() }
  }

  /// None while nobody is there: the next who comes begins it.
  private mutating func scheduleLook() {
    guard hub.accountCount > 0, stage == .running else {
      neighbours.look = .none
      return
    }
    neighbours.look = .planned
    timers.schedule(
      .movements, at: moment.instant.advanced(milliseconds: Limits.movementMilliseconds))
  }
}

extension AccountChange {
  /// What another relay saved, as the store tells it: whether a record was made or changed nobody
  /// knows then, so either may wake a device.
  fileprivate init(_ account: AccountID, _ page: ChangePage) {
    self.init(
      account: account, zone: page.changes.onlyZone, origin: nil, since: page.since ?? page.token,
      token: page.token, records: page.changes,
      events: page.changes.map { $0.isDeleted ? .delete : [.create, .update] })
  }
}

extension [Record] {
  /// nil where they are of several zones, or none.
  fileprivate var onlyZone: Name? {
    guard let zone = first?.zone, allSatisfy({ $0.zone == zone }) else { return nil }
    return zone
  }
}

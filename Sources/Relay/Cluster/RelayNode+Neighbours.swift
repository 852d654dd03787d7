import LockstepModel
import LockstepStorage
import LockstepWire

/// How a node hears of what other relays do on the store that they share.
///
/// They tell which account moved, and how far, but not what was saved: whoever has devices of the
/// account reads that, once for all of them, and tells it as a commit of its own. What is told may
/// be lost; so a node also asks the store, every few seconds, where its devices' accounts stand.
extension RelayNode {
  /// A commit of this relay. Where others came before it of which nobody has heard here, all is
  /// read: who is woken by one of them and not by this must not be passed over. So it is where
  /// polls wait: what answers them must be as new as what other relays had told when they came, and
  /// they may have told what followed this commit.
  mutating func follow(_ change: AccountChange) {
    guard let watchers = hub.watchers(of: change.account) else { return tell(change) }
    let isNext = watchers.newest == change.since && !neighbours.isReading(change.account)
    if isNext && watchers.polls.isEmpty {
      tell(change)
    } else {
      movedElsewhere(change.account, to: change.token)
    }
  }

  /// Another relay has moved the account on to `token`.
  mutating func movedElsewhere(_ account: AccountID, to token: ChangeToken) {
    commits.changed(account)
    guard let watchers = hub.watchers(of: account) else { return }
    if let newest = watchers.newest, newest.covers(token) { return }
    guard let since = watchers.newest, hub.watcherCount(of: account) > 0 else {
      // Nobody to be told.
      tellUnread(account, token)
      return
    }
    if neighbours.isReading(account, upTo: token) { return }
    let request = ReadRequest.changes(account, since: since, zone: nil, limit: Limits.batchRecords)
    // Where there is no room, the next look finds it again.
    if admission.hasRoom(for: .anybody),
      ask(.read(request), for: .movedElsewhere(account, since: since))
    {
      neighbours.begin(account, upTo: token)
    }
  }

  /// The store was read for what was saved unheard.
  mutating func readElsewhere(
    _ account: AccountID, since: ChangeToken, _ result: Result<ReadResult, Refusal>
  ) {
    guard let (heard, lastPoll) = neighbours.end(account) else { return }
    switch result {
    case .success(.page(let page)):
      // Otherwise all have gone meanwhile, and somebody else came.
      guard hub.newest(of: account) == since else { return }
      // Where the store has nothing new it has not come that far; the next look finds it.
      guard page.token != since else { return }
      tell(AccountChange(account, page), lastPoll: lastPoll)
      movedElsewhere(account, to: heard)
    case .failure(let refusal) where refusal.code.advice == .fetchFirst:
      // An older copy of the store was put back, or deletions are forgotten: each asks for himself.
      tellUnread(account, heard)
    // The next look asks again.
    case .success, .failure: break
    }
  }

  /// Tells that the account has moved, and not by what.
  private mutating func tellUnread(_ account: AccountID, _ token: ChangeToken) {
    if let newest = hub.newest(of: account), newest.covers(token) { return }
    tell(AccountChange(account: account, zone: nil, origin: nil, since: token, token: token))
  }

  // MARK: what wakes nobody

  /// Whether pages may be kept back from the connection's device. One who came when a commit of
  /// another relay had not been heard of here is told of it together with what he has already read,
  /// so that whether it wakes him is known only by what he reads himself.
  func mayPassPages(_ slot: Hub.Slot) -> Bool {
    guard configuration.sharesStore, let session = connections[slot].session else { return false }
    return hub.rule(of: session.device, session.account) != nil
  }

  /// Whether the page, the next one of that chain, is kept back.
  func passes(_ slot: Hub.Slot, _ page: ReadPage, _ chain: CursorChain?) -> Bool {
    mayPassPages(slot) && chain?.mayPassPage == true && !page.more && !page.records.isEmpty
      && !isWoken(slot, by: page.records)
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
      if hub.rule(of: device, account) != SubscriptionFilter(principal.subscriptions) {
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
      let newest = hub.newest(of: movement.account)
      if neighbours.isBehind(movement.account, newest, storeAt: movement.token) {
        wentBack(movement.account, to: movement.token)
      }
      movedElsewhere(movement.account, to: movement.token)
      if hub.learned(movement.account, affairs: movement.affairs) {
        askAfterMembers(of: movement.account)
      }
    }
    for account in accounts where gone.contains(account) { accountRemoved(account) }
    if let place = neighbours.nextPlace { lookOn(from: place) } else { scheduleLook() }
  }

  /// All that the store is kept in went back below this relay. Who is connected comes back, and
  /// learns by his own token what is lost.
  private mutating func wentBack(_ account: AccountID, to token: ChangeToken) {
    commits.changed(account)
    hub.moved(account, to: token)
    for slot in members(of: account) { windDown(slot) }
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

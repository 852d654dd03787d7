import LockstepModel
import LockstepStorage

/// Follows the changes of other relays on a shared store.
///
/// Other relays announce which account moved, and to which token, but not the changes. A node with
/// devices of the account reads the changes once for all of them, and sends them like a commit of
/// its own.
///
/// Only accounts that the node follows are announced. It begins to follow an account when the first
/// of its devices signs in, and reads its token at the same time, because a commit may have come
/// before. When the last device has left it follows on until the next announcement, because many
/// devices come back.
///
/// An announcement may be lost; so a node also asks the store for the tokens of its devices'
/// accounts: every few seconds, or, while it is told of lost announcements, after each of these.
/// Then it also asks once a minute, for a part of the accounts. Each time, it makes sure that it
/// follows them.
///
/// It asks the store; the node (`RelayNode+Store`) handles its connections.
struct PeerRelays: Sendable {
  private struct Reading: Sendable {
    /// The newest token announced since the read began.
    var newest: ChangeToken
    /// Number of polls parked before the read began.
    var polls: UInt64
  }

  /// State of the check of the accounts' tokens in the store.
  private enum Check: Sendable {
    /// → planned, underWay
    case none
    /// → underWay, none
    case planned
    /// → underWay, planned, none
    case underWay
  }

  /// Changes that were read, to be sent to the account's connections.
  struct Found {
    var change: AccountChange
    /// The last poll that was parked before the read.
    var lastPoll = UInt64.max
    /// The newest token announced meanwhile; nil: the read is not continued.
    var newest: ChangeToken?
  }

  /// Accounts whose changes by other relays are being read.
  private var reading: [AccountID: Reading] = [:]
  /// Accounts that the node follows in the store, or has asked to.
  private var followed: Set<AccountID> = []
  /// Accounts to follow with the next request.
  private var joining: [AccountID] = []
  /// Accounts to follow no longer.
  private var leaving: Set<AccountID> = []
  /// True while a request to follow is under way. There is one at a time, so that they take effect
  /// in their order.
  private var isFollowing = false
  /// Accounts that were behind in the store at the last check, with the token known here then.
  private var behind: [AccountID: ChangeToken] = [:]
  private var check = Check.none
  /// Hub index to check next; nil at the end of the round.
  private var nextIndex: Int?
  /// Number of accounts that the round still includes.
  private var remaining = Int.max
  /// Hub index at which the next round begins that is a part of the accounts.
  private var partIndex = 0
  /// True while a lost announcement is reported.
  private var isReliable = false
  /// Relays that are heard: their announcements arrive, or are noticed if they do not.
  private var heard: Set<UInt64> = []
  private struct Unheard: Sendable {
    /// Time at which the store had seen it when it was first not heard, and the time of that.
    var seenAt: Int64
    var since: Instant
  }

  /// Relays that use the store and are not heard.
  private var unheard: [UInt64: Unheard] = [:]
  /// True once the owner was told of a relay that is not heard.
  private var isUnheardReported = false
  /// Rounds to make at the shorter interval. Two, because a store that was put back is recognised
  /// only by the second (`isBehind`).
  private var hastyRounds = 0
  /// Time of the last report of lost announcements that was followed at once.
  private var lostAt: Instant?

  // MARK: commits

  /// True if a commit of this relay may be sent as it is. If earlier commits were not announced
  /// here, all changes are read: a device whose filter matches one of them, but not this commit,
  /// must not be skipped. All changes are also read if polls wait: their answer must be as new as
  /// what other relays had announced when they came, and that may follow this commit.
  func isComplete(_ change: AccountChange, _ hub: borrowing Hub) -> Bool {
    guard let watchers = hub.watchers(of: change.account) else { return true }
    return watchers.newest == change.since && reading[change.account] == nil
      && watchers.polls.isEmpty
  }

  /// Handles the announcement that another relay moved the account to `token`. Returns a change
  /// without records if no connection needs them.
  mutating func handleAnnouncement(
    _ account: AccountID, _ token: ChangeToken, _ services: inout RelayServices
  ) -> AccountChange? {
    services.commits.recordChange(account)
    guard let watchers = services.hub.watchers(of: account) else { return nil }
    if let newest = watchers.newest, newest.covers(token) { return nil }
    guard let since = watchers.newest, services.hub.watcherCount(of: account) > 0 else {
      return announcement(account, token, services.hub)
    }
    if isReading(account, upTo: token) { return nil }
    let request = ReadRequest.changes(
      account, since: since, zones: .all, limit: Limits.batchRecords)
    if services.admission.hasRoom(for: .anybody),
      services.submitRead(request, for: .remoteCommit(account, since: since))
    {
      reading[account] = Reading(newest: token, polls: services.parkedPolls)
    } else {
      hasten(&services)
    }
    return nil
  }

  /// True if the account is being read; the read is then continued up to `token`.
  private mutating func isReading(_ account: AccountID, upTo token: ChangeToken) -> Bool {
    guard let newest = reading[account]?.newest else { return false }
    if !newest.covers(token) { reading[account]?.newest = token }
    return true
  }

  /// Handles the result of a read of changes. Returns nil if there is nothing to send.
  mutating func handleRead(
    _ account: AccountID, since: ChangeToken, _ result: Result<ReadResult, Refusal>,
    _ hub: borrowing Hub
  ) -> Found? {
    guard let read = reading.removeValue(forKey: account) else { return nil }
    switch result {
    case .success(.page(let page)):
      // Otherwise all connections left meanwhile, and another one came.
      guard hub.newest(of: account) == since else { return nil }
      // If the store has nothing new, it has not come so far; the next check finds it.
      guard page.token != since else { return nil }
      return Found(
        change: AccountChange(account, page), lastPoll: read.polls, newest: read.newest)
    case .failure(let refusal) where refusal.code.advice == .fetchFirst:
      // An older store was restored, or tombstones are forgotten: each device fetches.
      return announcement(account, read.newest, hub).map { Found(change: $0) }
    // The next check asks again.
    case .success, .failure: return nil
    }
  }

  /// Returns the change that announces that the account moved, without the changes; nil if that is
  /// known.
  private func announcement(
    _ account: AccountID, _ token: ChangeToken, _ hub: borrowing Hub
  ) -> AccountChange? {
    if let newest = hub.newest(of: account), newest.covers(token) { return nil }
    return AccountChange(account: account, zone: nil, origin: nil, since: token, token: token)
  }

  // MARK: devices

  /// Asks the store for the state of the devices of these sessions.
  mutating func readMembership(
    of account: AccountID, _ sessions: [Session], _ services: inout RelayServices
  ) {
    services.membershipChanges.recordChange(account)
    var requested: [DeviceID] = []
    for session in sessions where !requested.contains(session.device) {
      requested.append(session.device)
      let request = ReadRequest.authenticate(tokenHash: session.tokenHash.bytes)
      if !services.submitRead(request, for: .membership(account, session.device)) {
        services.hub.invalidateMembership(of: account)
        hasten(&services)
      }
    }
  }

  // MARK: accounts

  /// Follows an account of which a device has signed in.
  mutating func follow(_ account: AccountID, _ services: inout RelayServices) {
    guard followed.insert(account).inserted else { return }
    leaving.remove(account)
    joining.append(account)
    submitFollowing(&services)
  }

  /// Handles the answer to a request to follow these accounts, or its failure.
  mutating func endFollowing(
    _ accounts: [AccountID], leaving left: [AccountID], isDone: Bool,
    _ services: inout RelayServices
  ) {
    isFollowing = false
    if !isDone {
      followed.subtract(accounts)
      leaveAgain(left)
      hasten(&services)
    }
    submitFollowing(&services)
  }

  private mutating func submitFollowing(_ services: inout RelayServices) {
    guard !isFollowing, !joining.isEmpty else { return }
    let accounts = Array(joining.prefix(Limits.versionCheckAccounts))
    let left = takeLeaving()
    joining.removeFirst(accounts.count)
    let request = ReadRequest.followAccounts(
      accounts, leaving: left, node: services.configuration.node)
    isFollowing = services.submitRead(request, for: .followAccounts(accounts, leaving: left))
    if !isFollowing {
      followed.subtract(accounts)
      leaveAgain(left)
      hasten(&services)
    }
  }

  /// Keeps accounts for the next request to follow no longer, because one has failed.
  private mutating func leaveAgain(_ accounts: [AccountID]) {
    leaving.formUnion(accounts)
    leaving.subtract(followed)
  }

  /// Follows an account no longer that was announced while it has no connection here.
  mutating func leaveFormerAccount(_ account: AccountID, _ hub: borrowing Hub) {
    if hub.watchers(of: account) == nil { leave(account) }
  }

  private mutating func leave(_ account: AccountID) {
    if followed.remove(account) != nil { leaving.insert(account) }
  }

  private mutating func takeLeaving() -> [AccountID] {
    let left = Array(leaving.sorted().prefix(Limits.versionCheckAccounts))
    leaving.subtract(left)
    return left
  }

  /// Leaves the accounts without a connection here.
  private mutating func leaveFormerAccounts(_ hub: borrowing Hub) {
    let former = followed.filter { hub.watchers(of: $0) == nil }
    followed.subtract(former)
    leaving.formUnion(former)
  }

  // MARK: lost announcements

  /// Starts the checks, unless they have begun.
  mutating func beginChecks(_ services: inout RelayServices) {
    if check == .none { scheduleCheck(&services) }
  }

  /// Asks the store for the accounts' tokens, a part of them at a time.
  mutating func checkVersions(_ services: inout RelayServices) {
    guard services.configuration.sharesStore, services.stage == .running, check != .underWay else {
      return
    }
    if isHasty {
      remaining = .max
      return continueCheck(from: 0, &services)
    }
    let parts = Limits.reliableVersionCheckParts
    remaining = max(
      Limits.reliableVersionCheckAccounts, (services.hub.accountCount + parts - 1) / parts)
    continueCheck(from: partIndex, &services)
  }

  /// Asks for the next part of the tokens, or schedules the next check.
  mutating func continueCheck(_ services: inout RelayServices) {
    if let nextIndex {
      continueCheck(from: nextIndex, &services)
    } else {
      if remaining == .max { hastyRounds = max(0, hastyRounds - 1) }
      scheduleCheck(&services)
    }
  }

  private mutating func continueCheck(from index: Int, _ services: inout RelayServices) {
    let limit = min(Limits.versionCheckAccounts, remaining)
    var (accounts, next) = services.hub.accounts(from: index, limit: limit)
    if accounts.isEmpty, remaining < .max {
      (accounts, next) = services.hub.accounts(from: 0, limit: limit)
    }
    followed.formUnion(accounts)
    leaving.subtract(accounts)
    if followed.count > services.hub.accountCount + Limits.formerAccounts {
      leaveFormerAccounts(services.hub)
    }
    let left = isFollowing ? [] : takeLeaving()
    let request = ReadRequest.followAccounts(
      accounts, leaving: left, node: services.configuration.node)
    if !accounts.isEmpty,
      services.submitRead(request, for: .accountVersions(accounts, leaving: left))
    {
      check = .underWay
      if remaining < .max {
        remaining -= accounts.count
        partIndex = next ?? 0
      }
      nextIndex = remaining > 0 ? next : nil
    } else {
      handleFailedCheck(leaving: left, &services)
    }
  }

  /// Handles the report that announcements were lost. Where they are lost all the time, the checks
  /// follow each other at their shorter interval.
  mutating func handleLostAnnouncements(_ services: inout RelayServices) {
    // The store may have forgotten these, and the checks do not include them.
    leaveFormerAccounts(services.hub)
    let isEarly = lostAt.map {
      services.moment.instant.milliseconds(since: $0) < Limits.versionCheckMilliseconds
    }
    guard isEarly != true else { return hasten(&services) }
    lostAt = services.moment.instant
    hastyRounds = 2
    checkVersions(&services)
  }

  /// Handles that the store had forgotten what this relay follows, or has something that was not
  /// announced. Another node of the relay will not be told.
  mutating func handleForgottenRegistration(_ services: inout RelayServices) {
    services.actions.append(.broadcast(.remoteNewsLost))
    handleLostAnnouncements(&services)
  }

  /// Handles whether lost announcements are reported from now on.
  mutating func setReliability(_ isReliable: Bool, _ services: inout RelayServices) {
    guard isReliable != self.isReliable else { return }
    self.isReliable = isReliable
    // Others may be heard only in a moment.
    if isReliable { unheard = [:] }
    // What was lost before is not reported.
    handleLostAnnouncements(&services)
  }

  /// Handles which relays are heard from now on.
  mutating func setHeard(_ relays: [UInt64]) { heard = Set(relays) }

  /// Compares the relays that use the store with those that are heard. One that is not heard may
  /// have ended, or cannot reach the bus: while it is seen, the checks are made at their shorter
  /// interval. If it is seen again later, it has not ended, and the owner is told.
  mutating func compare(_ relays: [RelaySighting], _ services: inout RelayServices) {
    let isPlannedForLater = check == .planned && !isHasty
    let before = unheard
    unheard = [:]
    var isThere = false
    let now = services.moment.instant
    for sighting in relays where !heard.contains(sighting.relay) {
      let first = before[sighting.relay] ?? Unheard(seenAt: sighting.seenAt, since: now)
      unheard[sighting.relay] = first
      isThere =
        isThere
        || (sighting.seenAt - first.seenAt >= Limits.versionCheckMilliseconds
          && now.milliseconds(since: first.since) >= Limits.versionCheckMilliseconds)
    }
    // While this relay cannot reach the bus, that is told already.
    if isThere != isUnheardReported, isThere ? isReliable : unheard.isEmpty {
      isUnheardReported = isThere
      services.actions.append(.report(.unheardRelays(areThere: isThere)))
    }
    if isPlannedForLater, isHasty { scheduleCheck(&services) }
  }

  /// Makes the next two checks at their shorter interval, because something could not be read.
  mutating func hasten(_ services: inout RelayServices) {
    let isPlannedForLater = check == .planned && !isHasty
    hastyRounds = 2
    if isPlannedForLater { scheduleCheck(&services) }
  }

  /// Handles a check that the store has not answered.
  mutating func handleFailedCheck(
    leaving left: [AccountID], _ services: inout RelayServices
  ) {
    leaveAgain(left)
    hastyRounds = 2
    scheduleCheck(&services)
  }

  private var pauseMilliseconds: Int64 {
    isHasty ? Limits.versionCheckMilliseconds : Limits.reliableVersionCheckMilliseconds
  }

  private var isHasty: Bool { !isReliable || !unheard.isEmpty || hastyRounds > 0 }

  /// Schedules the next check. Without accounts there is none: the next sign-in starts it.
  mutating func scheduleCheck(_ services: inout RelayServices) {
    guard services.hub.accountCount > 0, services.stage == .running else {
      check = .none
      // A relay that does not check is forgotten.
      leaveFormerAccounts(services.hub)
      return
    }
    check = .planned
    services.timers.schedule(
      .versionCheck,
      at: services.moment.instant.advanced(milliseconds: pauseMilliseconds))
  }

  /// True if the store was behind the token that is known here at two checks in a row, without a
  /// save between them: a single check may only be late.
  mutating func isBehind(_ version: AccountVersion, _ hub: borrowing Hub) -> Bool {
    let (account, token) = (version.account, version.token)
    guard let newest = hub.newest(of: account), newest.covers(token),
      newest.sequence > token.sequence
    else {
      behind[account] = nil
      return false
    }
    if behind.removeValue(forKey: account) == newest { return true }
    if behind.count >= Limits.versionCheckAccounts { behind = [:] }
    behind[account] = newest
    return false
  }
}

extension AccountChange {
  /// Creates a change from the page of another relay's changes. The store does not report if a
  /// record was created or updated, so a filter for either matches.
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

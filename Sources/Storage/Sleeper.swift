import LockstepJSON
import LockstepModel

/// Id of a device that has registered for wakes.
@usableFromInline
package struct SleeperID: Hashable, Comparable, Sendable {
  package var account: AccountID
  package var device: DeviceID

  package init(account: AccountID, device: DeviceID) {
    self.account = account
    self.device = device
  }

  @usableFromInline
  package static func < (left: SleeperID, right: SleeperID) -> Bool {
    (left.account, left.device) < (right.account, right.device)
  }
}

extension SleeperID {
  /// First id in the order of a database, where numbers are signed.
  package static let first = SleeperID(
    account: AccountID(rawValue: 1 << 63), device: DeviceID(rawValue: 1 << 63))

  /// Next id in that order; nil after the last.
  package var next: SleeperID? {
    let last: UInt64 = .max >> 1
    guard device.rawValue == last else {
      return SleeperID(account: account, device: DeviceID(rawValue: device.rawValue &+ 1))
    }
    guard account.rawValue != last else { return nil }
    return SleeperID(
      account: AccountID(rawValue: account.rawValue &+ 1), device: SleeperID.first.device)
  }

  /// Value by which ids are sorted in that order.
  package var sortKey: (account: Int64, device: Int64) {
    (Int64(bitPattern: account.rawValue), Int64(bitPattern: device.rawValue))
  }
}

/// Selection of devices with registrations for wakes.
@usableFromInline
package enum SleeperQuery: Hashable, Sendable {
  /// All devices of these accounts, at most `Limits.wakesPerRequest` of them.
  case accounts([AccountID])
  /// The devices after that id, in the order of `SleeperID.sortKey`: at most `limit` and
  /// `Limits.wakesPerRequest` of them, but at least one.
  case after(SleeperID?, limit: Int)
}

extension SleeperQuery {
  /// Maximum number of devices in the result.
  package var limit: Int {
    switch self {
    case .accounts: Limits.wakesPerRequest
    case .after(_, let limit): max(1, min(limit, Limits.wakesPerRequest))
    }
  }
}

extension [AccountID] {
  /// The different accounts, in the order of a database, where numbers are signed.
  package var uniqueInSortOrder: [AccountID] {
    Set(self).sorted { Int64(bitPattern: $0.rawValue) < Int64(bitPattern: $1.rawValue) }
  }

  /// The accounts that do not come before that one in this order.
  package func inSortOrder(from first: AccountID) -> [AccountID] {
    filter { Int64(bitPattern: $0.rawValue) >= Int64(bitPattern: first.rawValue) }
  }
}

/// A device with registrations for wakes, and what decides if it is woken.
@usableFromInline
package struct Sleeper: Hashable, Sendable {
  package var id: SleeperID
  package var wakes: DeviceWakes
  /// The account's newest position.
  package var newest: WakeMark
  package var scope: DeviceScope
  /// Subscriptions of the device, by id.
  package var subscriptions: [Subscription]
  /// True if another relay on the same store reports it as connected.
  package var isConnectedElsewhere: Bool

  package init(
    id: SleeperID, wakes: DeviceWakes, newest: WakeMark, scope: DeviceScope = .everything,
    subscriptions: [Subscription], isConnectedElsewhere: Bool = false
  ) {
    self.id = id
    self.wakes = wakes
    self.newest = newest
    self.scope = scope
    self.subscriptions = subscriptions
    self.isConnectedElsewhere = isConnectedElsewhere
  }
}

/// A wake that a relay has begun.
@usableFromInline
package struct ClaimedWake: Hashable, Sendable {
  package var id: SleeperID
  package var purpose: WakePurpose
  /// Position that it announces.
  package var newest: WakeMark
  /// The registrations to which it goes; never empty.
  package var entries: [DeviceWakes.Entry]

  package init(
    id: SleeperID, _ purpose: WakePurpose, newest: WakeMark, entries: [DeviceWakes.Entry]
  ) {
    self.id = id
    self.purpose = purpose
    self.newest = newest
    self.entries = entries
  }
}

/// Reason for which a device is woken.
package enum WakePurpose: Hashable, Sendable {
  /// Something changed.
  case change
  /// The relay has a new key for push services, for which the device must subscribe; nothing that
  /// is due changed.
  case newKey
}

/// Report on a wake.
@usableFromInline
package struct WakeReport: Hashable, Sendable {
  package enum Event: Hashable, Sendable {
    case finished(WakePurpose, [WakeResult])
    /// Of the push that carries a code.
    case verification(WakeResult)
    /// None of the changes after `since`, up to this position, concerns the device.
    case passed(WakeMark, since: WakeMark)
    /// The relay sends under these keys alone.
    case keysEnded(WakeKeyTimes)
  }

  package var id: SleeperID
  package var event: Event

  package init(id: SleeperID, event: Event) {
    self.id = id
    self.event = event
  }
}

/// Key by which push services recognise the relay (VAPID, RFC 8292).
@usableFromInline
package struct WakeKey: Hashable, Sendable {
  /// Milliseconds since the Unix epoch; unique among the relay's keys.
  package var madeAt: Int64
  /// 32 bytes: a secret.
  package var privateKey: [UInt8]

  package init(madeAt: Int64, privateKey: [UInt8]) {
    self.madeAt = madeAt
    self.privateKey = privateKey
  }
}

/// Times of the keys under which a relay sends (`WakeKey.madeAt`).
@usableFromInline
package struct WakeKeyTimes: Hashable, Sendable {
  package let oldest: Int64
  package let newest: Int64

  /// A relay without keys sends under none.
  package static let none = WakeKeyTimes(oldest: 1, newest: 0)

  package init(oldest: Int64, newest: Int64) {
    self.oldest = oldest
    self.newest = newest
  }

  /// `keys`: oldest first, one after the other.
  package init(_ keys: [WakeKey]) {
    guard let oldest = keys.first, let newest = keys.last else {
      self = .none
      return
    }
    self.init(oldest: oldest.madeAt, newest: newest.madeAt)
  }

  /// `madeAt`: time of one of all keys that the relay has, or has had.
  package func contains(_ madeAt: Int64) -> Bool { oldest <= madeAt && madeAt <= newest }
}

extension WakeKey {
  /// Returns the key as one that was made later than all of these, which are sorted by their times.
  package func after(_ keys: [WakeKey]) -> WakeKey {
    guard let last = keys.last, last.madeAt >= madeAt else { return self }
    return WakeKey(madeAt: last.madeAt + 1, privateKey: privateKey)
  }
}

extension [WakeKey] {
  /// The keys under which the relay sends at this time: the newest, and those that were replaced
  /// less than `Limits.wakeKeyOverlapMilliseconds` ago. `self`: oldest first.
  package func inForce(at wall: Int64) -> [WakeKey] {
    enumerated().filter { index, _ in
      index == count - 1
        || wall - self[index + 1].madeAt < Limits.wakeKeyOverlapMilliseconds
    }.map(\.element)
  }
}

/// Devices that are to be woken now, of a part of all.
@usableFromInline
package struct DueWakes: Hashable, Sendable {
  package var due: [SleeperID] = []
  /// Reports on devices that no change up to a position concerns, if many were read, and on those
  /// with a registration for a key that has ended.
  package var reports: [WakeReport] = []
  /// Accounts of the devices that were looked at.
  package var accounts: Set<AccountID> = []
  /// Earliest time at which another of them is due; nil if none will be.
  package var nextAt: Int64?
  /// The relay's keys, oldest first, if the look is the first of a pass over all devices; another
  /// process may have added one.
  package var relayKeys: [WakeKey]?
  /// The last device that was looked at, if there may be more.
  package var next: SleeperID?

  package init() {}
}

extension ZoneReader {
  /// Looks for devices that are to be woken. Changes that a device made itself, and those that its
  /// subscriptions leave out, do not wake it; a key of the relay that is newer than its own does.
  /// `keys`: those that the relay knows.
  package func dueWakes(
    _ query: SleeperQuery, keys: WakeKeyTimes, wall: Int64
  ) throws(StorageError) -> DueWakes {
    var found = DueWakes()
    if case .after(nil, _) = query, case .wakeKeys(let keys) = try read(.wakeKeys) {
      found.relayKeys = keys
    }
    guard case .sleepers(let sleepers, let next) = try read(.sleepers(query)) else { return found }
    found.next = next
    for sleeper in sleepers {
      try look(at: sleeper, keys: keys, wall: wall, &found)
    }
    return found
  }

  private func look(
    at sleeper: Sleeper, keys: WakeKeyTimes, wall: Int64, _ found: inout DueWakes
  ) throws(StorageError) {
    found.accounts.insert(sleeper.id.account)
    if sleeper.wakes.hasEndedKey(keys: keys) {
      found.reports.append(WakeReport(id: sleeper.id, event: .keysEnded(keys)))
    }
    if sleeper.isConnectedElsewhere { return }
    if let noticeAt = sleeper.wakes.noticeDueAt(keys: keys, at: wall) {
      if noticeAt <= wall {
        found.due.append(sleeper.id)
        return
      }
      found.add(nextAt: noticeAt)
    }
    guard let dueAt = sleeper.wakes.dueAt(newest: sleeper.newest, keys: keys, at: wall) else {
      return
    }
    guard dueAt <= wall else { return found.add(nextAt: dueAt) }
    switch try search(for: sleeper) {
    case .concerned: found.due.append(sleeper.id)
    case .passed(let count, let known):
      let progress = sleeper.wakes.progress
      guard count >= Limits.wakePassedRecords || progress.isTold else { return }
      let event = WakeReport.Event.passed(sleeper.newest, since: known)
      found.reports.append(WakeReport(id: sleeper.id, event: event))
      // Something that was sent before may be announced again later.
      var passed = sleeper.wakes
      passed.apply(event, at: wall)
      if let dueAt = passed.dueAt(newest: sleeper.newest, keys: keys, at: wall) {
        found.add(nextAt: dueAt)
      }
    }
  }

  /// Looks for a change that concerns the device. A history that cannot be followed does.
  private func search(for sleeper: Sleeper) throws(StorageError) -> WakeSearch {
    guard let known = sleeper.wakes.progress.known(newest: sleeper.newest),
      known.generation == sleeper.newest.generation
    else { return .concerned }
    var since = ChangeToken(generation: known.generation, sequence: known.sequence)
    var count = 0
    while count < Limits.wakeScannedRecords {
      let request = ReadRequest.changes(
        sleeper.id.account, since: since, zones: .all, limit: Limits.wakePassedRecords)
      guard case .page(let page) = try read(request) else { return .concerned }
      for record in page.changes where record.device != sleeper.id.device {
        if sleeper.scope.includes(record.zone), sleeper.subscriptions.mayMatch(record) {
          return .concerned
        }
      }
      count += page.changes.count
      guard page.more else { return .passed(count, since: known) }
      since = page.token
    }
    return .concerned
  }
}

extension DueWakes {
  fileprivate mutating func add(nextAt time: Int64) { nextAt = min(nextAt ?? time, time) }
}

private enum WakeSearch {
  case concerned
  /// That many changes after the position do not concern the device.
  case passed(Int, since: WakeMark)
}

extension [Subscription] {
  /// True if a device with these subscriptions is told of a change that led to this version.
  /// Without any, it is told of all.
  fileprivate func mayMatch(_ record: Record) -> Bool {
    isEmpty || contains { $0.kind.mayMatch(record) }
  }
}

extension Subscription.Query {
  /// True if the record has all members of the conditions.
  fileprivate func meets(_ fields: [UInt8]?) -> Bool {
    if conditions.isEmpty { return true }
    guard let members = fields.flatMap({ JSONValue(ifJSON: $0)?.members }) else { return false }
    return conditions.allSatisfy { members.contains($0) }
  }
}

extension Subscription.Kind {
  /// The kind of a change before the last one is not known, so a new record counts as both created
  /// and updated.
  fileprivate func mayMatch(_ record: Record) -> Bool {
    switch self {
    case .database: return true
    case .zone(let zone): return record.zone == zone
    case .query(let query):
      guard query.recordType == record.type, query.zone.map({ $0 == record.zone }) ?? true else {
        return false
      }
      guard !record.isDeleted else { return query.events.contains(.delete) }
      return !query.events.isDisjoint(with: [.create, .update]) && query.meets(record.fields)
    }
  }
}

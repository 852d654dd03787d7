import LockstepModel
import LockstepSealing
import LockstepStorage

/// Records that are not sealed, of zones that a home's keys seal from now on.
package enum PlainRecords: Hashable, Sendable {
  /// There must be none: otherwise the home does not take the keys.
  case refused
  /// In an account that has always sealed the zone, they are foreign: the home drops them, and
  /// seals its own changes that wait as new ones. In one that had plain zones before
  /// (`ZoneSet.only`), they are the zone's records, and the home seals them.
  case replaced
  /// As `replaced`. Moreover, the home takes those of this zone that the relay has or gets, until
  /// another order says otherwise or the process ends.
  case taken(in: Name)
}

/// Zones that were plain before. A device that gets keys of such a zone keeps its records, reads
/// the account anew, and saves sealed what the relay does not have sealed yet. Other devices may do
/// the same at the same time, and may have saved plain records meanwhile. So a plain record is a
/// version like any other: the relay's tags, which ordered the versions until then, are its numbers
/// (`RecordVersion.plain`).
extension ReplicaState {
  /// Gives the records and changes of a plain zone versions. None of them is on its way to the
  /// relay.
  mutating func makeSealed(plain zone: Name) throws(StorageError) {
    let entries = transaction.outbox.entries.filter { $0.key.zone == zone }
    for record in try transaction.allRecords(zone: zone)
    where transaction.outbox.open(record.key) == nil {
      if record.isDeleted {
        try transaction.removeRecord(record.key)
      } else {
        try transaction.put(record, version: .plain(record.tag))
      }
    }
    for entry in entries { try makeSealed(plain: entry) }
  }

  private mutating func makeSealed(plain old: OutboxEntry) throws(StorageError) {
    var entry = old
    entry.lineage = OutboxEntry.Lineage(on: old.base.flatMap { .plain($0.tag) })
    if case .asking(let asked) = old.state {
      entry.lineage?.asked = .plain(asked.tag)
      entry.state = entry.lineage?.asked == nil ? .waiting : .asking(asked.missing)
    }
    entry.base = old.base?.missing
    entry.firstSent = nil
    entry.includes = []
    guard entry.fields != nil || entry.base?.isDeleted == false else {
      // Nobody has the record.
      transaction.remove(old)
      return try transaction.removeRecord(old.key)
    }
    transaction.put(entry)
    try transaction.put(try record(of: entry, tag: 0))
  }

  // MARK: keys that seal more zones

  /// Seals the zones that another device of the account has sealed. Those of which a change is on
  /// its way to the relay wait for its answer; nothing more of them is sent until then. Returns
  /// true if the device reads the account from its beginning.
  mutating func sealFurtherZones() throws(StorageError) -> Bool {
    guard let held = sealing.held, let further = try sealingOfRing() else { return false }
    let (result, _) = try adoptSeals(held.sealing(further), plain: .replaced)
    if case .failure = result {
      sealing.awaited = further
      return false
    }
    sealing.awaited = .empty
    return true
  }

  /// Seals the zones that wait for answers. Returns true as `sealFurtherZones`.
  mutating func sealAwaitedZones() throws(StorageError) -> Bool {
    sealing.awaited == .empty ? false : try sealFurtherZones()
  }

  /// Returns the zones that the record of the keys seals, if the home's keys do not seal all of
  /// them.
  private mutating func sealingOfRing() throws(StorageError) -> ZoneSet? {
    guard let held = sealing.held?.sealed, let ring = try transaction.record(KeyRing.key),
      let further = keys(inRing: ring)?.sealed, !further.isSubset(of: held)
    else { return nil }
    return further
  }

  /// Returns nil if the record was made with newer keys, which are still to come, or is not one of
  /// keys.
  func keys(inRing record: Record) -> SealingKeys? {
    guard let generation = sealing.held?.current else { return nil }
    do throws(KeyRing.Fault) {
      return try KeyRing.keys(in: record.value, openedBy: generation)
    } catch {
      return nil
    }
  }

  // MARK: plain records that arrive

  /// Handles a plain record of a sealed zone: it is taken if that is wanted, and otherwise listed
  /// as unreadable, unless it is from before the zone was sealed and hides nothing.
  mutating func handle(
    unsealed record: Record, _ applied: inout Applied
  ) throws(StorageError) {
    var isKnown = try includes(plain: record)
    if !isKnown, sealing.takenZone == record.zone { isKnown = try take(plain: record, &applied) }
    if sealing.note(record.key, isKnown ? nil : .notSealed) { storeUnreadable() }
  }

  /// True if what the home holds includes this plain record.
  private func includes(plain record: Record) throws(StorageError) -> Bool {
    guard let id = RecordVersion.plain(record.tag)?.id else { return true }
    let key = record.key
    if let open = transaction.outbox.open(key) {
      return (open.lineage?.version?.vector ?? open.lineage?.made)?.names(id) ?? false
    }
    if let sent = transaction.outbox.sent(key)?.lineage {
      return (sent.version?.vector ?? sent.made).names(id)
    }
    return try transaction.version(key)?.vector.names(id) ?? false
  }

  /// Takes a plain record of a sealed zone, as a version that this home has: it is saved sealed.
  /// Returns false if that is not possible now.
  private mutating func take(
    plain record: Record, _ applied: inout Applied
  ) throws(StorageError) -> Bool {
    let key = record.key
    guard !transaction.outbox.holds(key), hasRoomToBringBack, !isOff(key.zone),
      scope.includesWrites(to: key.zone), let version = RecordVersion.plain(record.tag)
    else { return false }
    guard let held = try transaction.record(key), let known = try transaction.version(key) else {
      try bringBackSealed(record, version)
      try transaction.put(record.missing)
      return true
    }
    let change = entry(bringingBack: record, version)
    transaction.put(change)
    try transaction.put(try self.record(of: change, tag: held.tag))
    try reconcile(change, OpenedRecord(record: held, version: known), &applied)
    return true
  }
}

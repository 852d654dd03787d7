import LockstepModel
import LockstepSealing
import LockstepStorage

/// News of a relay about one record.
enum ArrivedRecord {
  case plain(Record)
  /// A record of a sealed zone.
  case opened(OpenedRecord)
  /// The relay has deleted a record of a sealed zone that this device holds, at this tag. No device
  /// has: a deletion is a sealed record.
  case missing(RecordKey, ChangeTag)

  var key: RecordKey {
    switch self {
    case .plain(let record): record.key
    case .opened(let opened): opened.record.key
    case .missing(let key, _): key
    }
  }

  var tag: ChangeTag {
    switch self {
    case .plain(let record): record.tag
    case .opened(let opened): opened.record.tag
    case .missing(_, let tag): tag
    }
  }

  var record: Record? {
    switch self {
    case .plain(let record): record
    case .opened(let opened): opened.record
    case .missing: nil
    }
  }
}

/// Versions of records in sealed zones. Their order comes from what is sealed in them alone, their
/// version vectors; tags and what a relay says of a restore are used only to send a change to it.
extension ReplicaState {
  /// Applies the relay's version of a record that has no change in flight.
  mutating func applyOpened(
    _ server: OpenedRecord, isSnapshot: Bool, _ applied: inout Applied
  ) throws(StorageError) {
    let key = server.record.key
    // Its zone is read again once it is on.
    guard !isOff(key.zone) else { return }
    if let entry = transaction.outbox.open(key) {
      // A page may have been made before the version that the device knows.
      let isOld = !isSnapshot && server.record.tag <= entry.base?.tag ?? 0
      if isOld, entry.lineage?.made.covers(server.vector) == true { return }
      return try reconcile(entry, server, &applied)
    }
    let snapshot = isSnapshot ? self.snapshot : nil
    guard let held = try transaction.record(key) else {
      return try transaction.put(server.record, snapshot: snapshot, vector: server.vector)
    }
    let known = try heldVector(key)
    if server.vector == known, merging.completed(server.record, over: held).isSame(as: held) {
      var same = held
      same.tag = server.record.tag
      return try transaction.put(same, snapshot: snapshot, vector: known)
    }
    if server.vector.covers(known), server.vector != known {
      return try transaction.put(
        merging.completed(server.record, over: held), snapshot: snapshot, vector: server.vector)
    }
    let isFormer = known.covers(server.vector) && known != server.vector
    if isFormer, !isSnapshot, server.record.tag <= held.tag { return }
    guard scope.includesWrites(to: key.zone) else {
      // It cannot save a merge: of two versions that do not include each other, it shows the later.
      let isLater =
        (server.record.modifiedAt, server.record.device) > (held.modifiedAt, held.device)
      guard !isFormer, isLater else { return }
      return try transaction.put(server.record, snapshot: snapshot, vector: server.vector)
    }
    guard hasRoomToBringBack else {
      hasLostRecords = true
      return transaction.markLost(key)
    }
    try reconcile(entry(bringingBack: held, known), server, &applied)
  }

  /// Resolves a local change against the relay's version.
  mutating func reconcile(
    _ entry: OutboxEntry, _ server: OpenedRecord, _ applied: inout Applied
  ) throws(StorageError) {
    let lineage = entry.lineage ?? OutboxEntry.Lineage()
    if let asked = lineage.asked, case .asking(let known) = entry.state,
      asked.covers(server.vector)
    {
      var asking = entry
      asking.state = .asking(asked == server.vector ? server.record.plain : known.missing)
      return transaction.put(asking)
    }
    let own = entry.record(by: device, tag: 0)
    let isSame = own.isSame(as: server.record)
    let isRepeated = entry.isRepeated(by: device)
    let isEqual = server.vector == lineage.base && !isSame && isRepeated
    let includesOwn =
      lineage.includesChange(server.vector, by: device, isSame: isSame)
      || (isRepeated && !isEqual && server.vector.covers(lineage.base))
    if includesOwn || (isSame && server.vector.covers(lineage.made)) {
      transaction.remove(entry)
      return try acceptServerVersion(server.record, server.vector, for: entry.key)
    }
    // Two versions of one vector and different contents come from a device that was set back.
    if !isEqual, lineage.made.covers(server.vector) {
      return try rebase(entry, lineage, on: server)
    }
    if isSame {
      var joint = lineage.changed(by: device)
      joint.made = joint.made.joined(with: server.vector)
      return try rebase(entry, joint, on: server)
    }
    try merge(entry, lineage, server, &applied)
  }

  /// Rebases the change onto the relay's version, which it includes.
  private mutating func rebase(
    _ entry: OutboxEntry, _ lineage: OutboxEntry.Lineage, on server: OpenedRecord
  ) throws(StorageError) {
    var entry = entry
    entry.lineage = lineage
    if server.vector.covers(lineage.base) {
      entry.base = server.record.plain
      entry.lineage?.base = server.vector
    }
    try rebase(entry, onTag: server.record.tag)
  }

  /// Makes `tag` the tag that the change replaces at the relay; 0: the relay has no record. What it
  /// was made on stays.
  mutating func rebase(_ entry: OutboxEntry, onTag tag: ChangeTag) throws(StorageError) {
    var entry = entry
    entry.base?.tag = tag
    if case .asking(let asked) = entry.state { entry.state = .asking(asked.missing) }
    transaction.put(entry)
    guard var held = try transaction.record(entry.key) else { return }
    held.tag = tag
    try transaction.put(held)
  }

  private mutating func merge(
    _ entry: OutboxEntry, _ lineage: OutboxEntry.Lineage, _ server: OpenedRecord,
    _ applied: inout Applied
  ) throws(StorageError) {
    var entry = entry
    var record = server.record
    let resolution: Resolution
    if server.vector.covers(lineage.base), server.vector != lineage.base {
      if let base = entry.base, !base.isDeleted { record = merging.completed(record, over: base) }
      resolution = merging.resolve(entry, record)
    } else if let base = entry.base, !(base.isDeleted && base.tag == 0) {
      // The author of the relay's version did not know the base.
      resolution = merging.resolve(entry, madeOn: base, record)
      if !entry.isRepeated(by: device) {
        entry.base = .nothing(at: entry.key, type: entry.type)
      }
    } else {
      entry.base = nil
      resolution = merging.resolve(entry, record)
    }
    var merged = lineage.changed(by: device)
    merged.asked = server.vector
    entry.lineage = merged
    try resolve(
      entry, record, by: resolution, replaces: !server.vector.covers(lineage.made), &applied)
  }

  /// Handles the relay's report that it has another version than the change was made on.
  mutating func handleConflict(
    _ entry: OutboxEntry, _ server: OpenedRecord, _ applied: inout Applied
  ) throws(StorageError) {
    let isOwn =
      entry.lineage?.version(by: device) == server.vector
      && Merging.equal(entry.fields, server.record.fields)
    if isOwn { return try acknowledge(entry, server.record.tag) }
    let open = returnToWaiting(entry)
    guard !isOff(entry.key.zone) else { return }
    try reconcile(open, server, &applied)
    pauseIfUnchanged(entry, &applied)
  }

  /// Handles the relay's report that it has no record, which no device has deleted.
  mutating func handleAbsence(_ entry: OutboxEntry, _ applied: inout Applied) throws(StorageError) {
    try rebase(returnToWaiting(entry), onTag: 0)
    pauseIfUnchanged(entry, &applied)
  }

  /// Sends the change later if the relay has refused it for the very version that it was made on.
  private func pauseIfUnchanged(_ entry: OutboxEntry, _ applied: inout Applied) {
    guard let open = transaction.outbox.open(entry.key), open.state == .waiting,
      (open.base?.tag ?? 0) == (entry.base?.tag ?? 0), open.modifiedAt == entry.modifiedAt
    else { return }
    applied.retryLater = Refusal(
      .internalError, "The relay reports a conflict with the version that it was told of.")
  }

  /// Saves again a held record that the relay has deleted at `tag`.
  mutating func restoreAtRelay(_ key: RecordKey, deletedAt tag: ChangeTag) throws(StorageError) {
    guard scope.includesWrites(to: key.zone), !isOff(key.zone) else { return }
    if let entry = transaction.outbox.open(key) {
      guard entry.base?.tag ?? 0 <= tag else { return }
      return try rebase(entry, onTag: 0)
    }
    guard let held = try transaction.record(key), held.tag <= tag else { return }
    transaction.markLost(key)
    hasLostRecords = true
  }

  /// Puts a held record, which the relay lacks, into the outbox.
  mutating func bringBackSealed(_ held: Record) throws(StorageError) {
    try rebase(entry(bringingBack: held, try heldVector(held.key)), onTag: 0)
  }

  private mutating func entry(
    bringingBack held: Record, _ vector: VersionVector
  ) -> OutboxEntry {
    OutboxEntry(
      number: transaction.allocateNumber(), key: held.key, type: held.type, fields: held.fields,
      modifiedAt: held.modifiedAt, isStampTrusted: true, base: held.missing, state: .waiting,
      lineage: OutboxEntry.Lineage(on: vector))
  }

  /// Returns the vector of the held version; one that includes nothing if there is none.
  private func heldVector(_ key: RecordKey) throws(StorageError) -> VersionVector {
    try transaction.vector(key) ?? VersionVector()
  }

  /// Returns the lineage of a new change to the record as it is held; nil in a zone that is not
  /// sealed.
  func newLineage(_ key: RecordKey) throws(StorageError) -> OutboxEntry.Lineage? {
    guard sealing.isSealed(key.zone) else { return nil }
    if let open = transaction.outbox.open(key)?.lineage { return open.changed(by: device) }
    let held = try heldVector(key)
    let made = transaction.outbox.sent(key)?.lineage?.version(by: device) ?? held
    return OutboxEntry.Lineage(on: made)
  }

  /// Numbers the change as a version. Returns false if its record has no numbers left.
  func number(_ entry: inout OutboxEntry) -> Bool {
    guard sealing.isSealed(entry.key.zone) else { return true }
    var lineage = entry.lineage ?? OutboxEntry.Lineage()
    guard let number = lineage.number ?? lineage.made.nextNumber(at: entry.modifiedAt) else {
      return false
    }
    lineage.number = number
    entry.lineage = lineage
    return true
  }
}

extension OutboxEntry {
  /// True if the change only saves the version that it was made on again.
  fileprivate func isRepeated(by device: DeviceID) -> Bool {
    base?.isSame(as: record(by: device, tag: 0)) ?? false
  }
}

extension Record {
  /// The version without a tag: the relay has another one or none in its place.
  fileprivate var missing: Record {
    var missing = self
    missing.tag = 0
    return missing
  }
}

extension OutboxEntry.Lineage {
  /// Vector of the change itself; nil before it has a number.
  func version(by device: DeviceID) -> VersionVector? { number.map { made.adding(device, $0) } }

  /// True if a version of this vector includes the change itself. `isSame`: it has its content.
  func includesChange(_ other: VersionVector, by device: DeviceID, isSame: Bool) -> Bool {
    guard let number, let own = version(by: device) else { return false }
    // The number of a device without an entry is a guess.
    let isNamed = other[device] > other.floor && other[device] >= number
    return isNamed && other.covers(own) && (other != own || isSame)
  }

  /// Returns the lineage of a change that was made on this one, and replaces it.
  func changed(by device: DeviceID) -> OutboxEntry.Lineage {
    var lineage = self
    lineage.made = version(by: device) ?? made
    lineage.number = nil
    return lineage
  }

  /// The lineage of the change that resolves the conflict with the version `asked`: it is made on
  /// both.
  var resolved: OutboxEntry.Lineage {
    guard let asked else { return self }
    return OutboxEntry.Lineage(base: asked, made: made.joined(with: asked), number: number)
  }
}

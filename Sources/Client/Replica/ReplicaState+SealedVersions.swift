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
  /// A plain record of a sealed zone.
  case unsealed(Record)

  var key: RecordKey {
    switch self {
    case .plain(let record), .unsealed(let record): record.key
    case .opened(let opened): opened.record.key
    case .missing(let key, _): key
    }
  }

  var tag: ChangeTag {
    switch self {
    case .plain(let record), .unsealed(let record): record.tag
    case .opened(let opened): opened.record.tag
    case .missing(_, let tag): tag
    }
  }

  var record: Record? {
    switch self {
    case .plain(let record): record
    case .opened(let opened): opened.record
    case .missing, .unsealed: nil
    }
  }
}

/// Versions of records in sealed zones. Their order comes from what is sealed in them alone
/// (`RecordVersion`); tags and what a relay says of a restore are used only to send a change to it.
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
      if isOld, entry.lineage?.made.covers(server.version.vector) == true { return }
      return try reconcile(entry, server, &applied)
    }
    let snapshot = isSnapshot ? self.snapshot : nil
    guard let held = try transaction.record(key) else {
      return try transaction.put(server.record, snapshot: snapshot, version: server.version)
    }
    let completed = merging.completed(server.record, over: held)
    guard let known = try transaction.version(key) else {
      return try transaction.put(completed, snapshot: snapshot, version: server.version)
    }
    if server.version == known, completed.isSame(as: held) {
      var same = held
      same.tag = server.record.tag
      return try transaction.put(same, snapshot: snapshot, version: known)
    }
    if server.version != known, server.version.includes(known) {
      return try transaction.put(completed, snapshot: snapshot, version: server.version)
    }
    let isFormer = server.version != known && known.includes(server.version)
    if isFormer, !isSnapshot, server.record.tag <= held.tag { return }
    guard scope.includesWrites(to: key.zone) else {
      // It cannot save a merge: of two versions that do not include each other, it shows the later.
      let isLater =
        (server.record.modifiedAt, server.record.device) > (held.modifiedAt, held.device)
      guard !isFormer, isLater else { return }
      return try transaction.put(server.record, snapshot: snapshot, version: server.version)
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
    let lineage = lineageWithoutForks(entry, server.version)
    if let asked = lineage.asked, case .asking(let known) = entry.state,
      asked.includes(server.version)
    {
      var asking = entry
      asking.state = .asking(asked == server.version ? server.record.plain : known.missing)
      return transaction.put(asking)
    }
    let isSame = entry.record(by: device, tag: 0).isSame(as: server.record)
    // Two contents of one version come from a home that was set back, and gave a number twice.
    let isTwin = lineage.version == server.version && !isSame
    if (!isTwin && includesChange(server.version, lineage))
      || (isSame && server.version.vector.covers(lineage.made))
    {
      transaction.remove(entry)
      return try acceptServerVersion(server.record, server.version, for: entry.key)
    }
    if !isTwin, lineage.made.covers(server.version.vector) {
      return try rebase(entry, lineage, on: server)
    }
    // A merge that has kept what the change was made on brings nothing new.
    let repeatsBase =
      entry.base.map { $0.isSame(as: server.record) } == true
      && lineage.base.map { server.version.includes($0) } == true
    let repeatsAncestor = try isMade(entry, onAncestor: server.record)
    if isSame || repeatsBase || (repeatsAncestor && !isTwin) {
      var joint = lineage.changed
      joint.made = joint.made.joined(with: server.version.vector)
      joint.isMerge = isSame || lineage.isOfVersions
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
    if lineage.base.map({ server.version.includes($0) }) ?? true {
      entry.base = server.record.plain
      entry.lineage?.base = server.version
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
    let knowsBase = lineage.base.map { server.version != $0 && server.version.includes($0) } ?? true
    if knowsBase {
      if let base = entry.base, !base.isDeleted { record = merging.completed(record, over: base) }
      resolution =
        keepsBase(entry, lineage) ? Merging.kept(record.fields) : merging.resolve(entry, record)
    } else if lineage.isRepeated {
      // Two versions of which neither includes the other: both stay if the rule keeps copies.
      var change = entry
      change.base = nil
      resolution = merging.resolve(change, record)
    } else if let base = entry.base, !(base.isDeleted && base.tag == 0) {
      // The author of the relay's version did not know the base.
      resolution = merging.resolve(entry, madeOn: base, record)
      entry.base = .nothing(at: entry.key, type: entry.type)
    } else {
      entry.base = nil
      resolution = merging.resolve(entry, record)
    }
    var merged = lineage.changed
    merged.asked = server.version
    merged.isMerge = lineage.isOfVersions
    entry.lineage = merged
    // Other devices know a version that is saved again, and may know nothing of the change else.
    let known = lineage.isRepeated ? merged.made : lineage.made
    try resolve(
      entry, record, by: resolution, replaces: !server.version.vector.covers(known), &applied)
  }

  /// True if the change is a merge that has kept its base. It was made to include another version,
  /// and changes nothing: nothing that others have made of the base is in conflict with it, not
  /// even a deletion.
  private func keepsBase(_ entry: OutboxEntry, _ lineage: OutboxEntry.Lineage) -> Bool {
    lineage.base != nil
      && entry.base.map { entry.record(by: device, tag: 0).isSame(as: $0) } == true
  }

  /// Handles the relay's report that it has another version than the change was made on.
  mutating func handleConflict(
    _ entry: OutboxEntry, _ server: OpenedRecord, _ applied: inout Applied
  ) throws(StorageError) {
    let isOwn =
      entry.lineage?.version == server.version
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
  mutating func bringBackSealed(
    _ held: Record, _ version: RecordVersion?
  ) throws(StorageError) {
    try rebase(entry(bringingBack: held, version), onTag: 0)
  }

  /// Puts a held record, which the relay has, into the outbox.
  mutating func saveAgain(_ held: Record) throws(StorageError) {
    let change = entry(bringingBack: held, try transaction.version(held.key))
    try rebase(change, onTag: held.tag)
  }

  /// Returns a change that saves the held version again: the same one, so that no device takes it
  /// for another.
  mutating func entry(
    bringingBack held: Record, _ version: RecordVersion?
  ) -> OutboxEntry {
    let lineage = OutboxEntry.Lineage(
      base: version, made: version?.made ?? VersionVector(), id: version?.id)
    return OutboxEntry(
      number: transaction.allocateNumber(), key: held.key, type: held.type, fields: held.fields,
      modifiedAt: held.modifiedAt, isStampTrusted: true, base: held.missing, state: .waiting,
      lineage: lineage)
  }

  /// Returns the lineage of a new change to the record as it is held; nil in a zone that is not
  /// sealed.
  func newLineage(_ key: RecordKey) throws(StorageError) -> OutboxEntry.Lineage? {
    guard sealing.isSealed(key.zone) else { return nil }
    if let open = transaction.outbox.open(key)?.lineage { return open.changed }
    if let sent = transaction.outbox.sent(key)?.lineage?.version {
      return OutboxEntry.Lineage(on: sent)
    }
    return OutboxEntry.Lineage(on: try transaction.version(key))
  }
}

/// This home as the author of versions.
extension ReplicaState {
  /// Gives the change its id as a version. Returns false if its record has no numbers left.
  mutating func identify(_ entry: inout OutboxEntry, _ random: inout SeededRandom) -> Bool {
    guard sealing.isSealed(entry.key.zone) else { return true }
    var lineage = entry.lineage ?? OutboxEntry.Lineage()
    if let id = lineage.id, !lineage.isRepeated, !isOwn(id.writer) {
      let isMerge = lineage.isMerge
      lineage = lineage.changed
      lineage.isMerge = isMerge
    }
    if lineage.id == nil {
      guard let id = nextID(on: lineage.made, &random) else { return false }
      lineage.id = id
      lineage.given = (lineage.given + [id]).suffix(Limits.givenIDs)
    }
    entry.lineage = lineage
    return true
  }

  private mutating func nextID(on made: VersionVector, _ random: inout SeededRandom) -> VersionID? {
    let incarnation = transaction.store.incarnation
    let held = sealing.writer.flatMap { $0.incarnation == incarnation ? $0 : nil }
    var writer =
      held
      ?? SealingWriter(
        id: WriterID(rawValue: random.next()), incarnation: incarnation, after: sealing.writer)
    var id = writer.nextID(on: made, &random)
    if id == nil, held != nil {
      writer = SealingWriter(id: WriterID(rawValue: random.next()), incarnation: incarnation)
      id = writer.nextID(on: made, &random)
    }
    guard let id else { return nil }
    setWriter(writer)
    return id
  }

  private mutating func setWriter(_ writer: SealingWriter?) {
    sealing.writer = writer
    transaction.setValue(Self.sealWriterKey, writer?.storedText)
  }

  /// True if the versions of this writer are this home's, which has forgotten none of them.
  private func isOwn(_ writer: WriterID) -> Bool { sealing.writer?.includes(writer) ?? false }

  /// Gives up this home's writer id if the version includes one of its versions that it does not
  /// know.
  mutating func noteOwnVersions(in version: RecordVersion) {
    guard let writer = sealing.writer else { return }
    let own = VersionID(writer: writer.id, number: writer.greatest + 1)
    if version.vector.names(own) { setWriter(nil) }
  }

  /// Returns the lineage of a change, which does not include what the home has forgotten. If the
  /// relay's version includes one of the home's that is neither in the base nor the change as it
  /// was frozen, the home was set back; the numbers that it has given since say nothing then of
  /// the forgotten ones, although they may be greater.
  private mutating func lineageWithoutForks(
    _ entry: OutboxEntry, _ server: RecordVersion
  ) -> OutboxEntry.Lineage {
    var lineage = entry.lineage ?? OutboxEntry.Lineage()
    for writer in Set(lineage.given.map(\.writer)).sorted() {
      let found = VersionID(writer: writer, number: server.vector[writer])
      let known = lineage.base?.vector[writer] ?? 0
      guard server.vector.names(found), found.number > known, !lineage.given.contains(found) else {
        continue
      }
      if isOwn(writer) { setWriter(nil) }
      lineage.made = lineage.made.setting(writer, to: known)
      if lineage.id?.writer == writer, !lineage.isRepeated { lineage.id = nil }
      lineage.given.removeAll { $0.writer == writer }
      lineage.isMerge = false
    }
    return lineage
  }

  /// True if the version includes the change of this lineage.
  private func includesChange(_ version: RecordVersion, _ lineage: OutboxEntry.Lineage) -> Bool {
    if lineage.isMerge, version.vector.covers(lineage.made) { return true }
    guard let own = lineage.version else { return false }
    if own == version { return true }
    guard version.includes(own) else { return false }
    // What the numbers of a home say that was set back, and a number of a writer without an entry,
    // is a guess.
    return lineage.isRepeated || (isOwn(own.id.writer) && version.made.names(own.id))
  }
}

extension Record {
  /// The version without a tag: the relay has another one or none in its place.
  var missing: Record {
    var missing = self
    missing.tag = 0
    return missing
  }
}

extension OutboxEntry.Lineage {
  /// The change itself; nil before it has an id.
  var version: RecordVersion? { id.flatMap { RecordVersion($0, madeOn: made) } }

  /// True if the change only saves its base again.
  var isRepeated: Bool { id != nil && id == base?.id }

  /// True if the change has only what versions in `made` have, or its base.
  var isOfVersions: Bool { isMerge || isRepeated }

  /// True if the change is more than its base with other fields: it was frozen, or replaces changes
  /// that were.
  var isOwnVersion: Bool { id != nil || made != base?.vector ?? VersionVector() }

  /// The lineage of a change that was made on this one, and replaces it.
  var changed: OutboxEntry.Lineage {
    var lineage = self
    lineage.made = version?.vector ?? made
    lineage.id = nil
    lineage.isMerge = false
    return lineage
  }

  /// The lineage of the change that resolves the conflict with the version `asked`: it is made on
  /// both.
  var resolved: OutboxEntry.Lineage {
    guard let asked else { return self }
    return OutboxEntry.Lineage(
      base: asked, made: made.joined(with: asked.vector), id: id, given: given,
      isMerge: isMerge)
  }
}

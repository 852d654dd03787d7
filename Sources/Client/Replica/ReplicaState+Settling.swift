import LockstepModel
import LockstepStorage

/// Resolution of a local change once the relay's version of its record is known.
extension ReplicaState {
  /// Resolves a local change against the relay's version.
  mutating func settle(_ entry: OutboxEntry, _ server: Record, _ applied: inout Applied)
    throws(StorageError)
  {
    if isAcknowledged(entry, by: server) {
      ledger.remove(entry)
      return try ledger.put(server)
    }
    if isMade(entry, onTopOf: server) { return try stand(entry, on: server) }
    if try isMade(entry, onAncestor: server) { return try stand(entry, on: server) }
    if isIncluded(entry, in: server) {
      ledger.remove(entry)
      return try accept(server, for: entry.key)
    }
    var entry = entry
    let resolution: Resolution
    if let base = entry.base, restore?.hasLost(base.tag) == true,
      !server.includes.contains(VersionFingerprint(of: base))
    {
      resolution = merging.resolve(entry, madeOn: base, server)
      // The author of the relay's present version may not have known the base.
      entry.base = .nothing(at: entry.key, type: entry.type)
    } else {
      resolution = merging.resolve(entry, server)
    }
    applied.conflicts += 1
    switch resolution {
    case .ask:
      var asking = entry
      asking.state = .asking(server.plain)
      asking.group = nil
      if server.tag == 0 { asking.base = server.plain }
      ledger.put(asking)
    case .merged(let fields, let copies):
      ledger.remove(entry)
      let bytes = fields?.serialized()
      let isServers =
        Merging.equal(bytes, server.fields) && !merging.isLaterSame(entry, server)
      var wanted: [NewCopy] = []
      for copy in copies { try collect(copy, of: entry, server, into: &wanted) }
      let group = isServers || wanted.isEmpty ? nil : ledger.outbox.nextNumber
      // Copies first: they have the smaller numbers (see `ungroup`).
      for copy in wanted { try put(copy, group: group) }
      guard !isServers else { return try accept(server, for: entry.key) }
      try putMerged(bytes, of: entry, server, group: group)
    }
  }

  /// True if the relay's version is this change: it was acknowledged, or another device has saved
  /// the same lost version again.
  private func isAcknowledged(_ entry: OutboxEntry, by server: Record) -> Bool {
    // A merge has the stamp of the newer side, so the stamp alone does not identify a version.
    guard server.tag > 0, server.modifiedAt == entry.modifiedAt,
      Merging.equal(entry.fields, server.fields)
    else { return false }
    return server.device == device || server.type == entry.type
  }

  /// True if the relay's version precedes the change, or repeats its base: there is no conflict.
  private func isMade(_ entry: OutboxEntry, onTopOf server: Record) -> Bool {
    if asksAboutOther(entry) { return false }
    let tag = entry.base?.tag ?? 0
    let isLost = restore?.hasLost(entry.knownTag) == true
    // Only a relay that has lost the base reports no record in its place.
    guard server.tag > 0 else { return isLost }
    // Tags grow. A version older than the base comes from a restored relay.
    if server.tag < tag { return true }
    // This device saved it, but the answer was lost: the waiting change was made after that.
    if isEarlierVersion(server, of: entry) { return true }
    if let restore, restore.precedesLoss(server.tag) {
      // Once the snapshot is complete, nothing refers to a lost version by its tag.
      if isLost || (restore.isSnapshotDone && entry.base?.isLost == true) { return true }
    }
    return entry.base.map { $0.tag > 0 && $0.isSame(as: server) } ?? false
  }

  /// True if the relay's version is the change as it was sent before. The relay may also have
  /// versions of this device that are unknown here, if the home was restored from a backup.
  private func isEarlierVersion(_ server: Record, of entry: OutboxEntry) -> Bool {
    guard server.device == device, let first = entry.firstSent else { return false }
    return first <= server.modifiedAt && server.modifiedAt < entry.modifiedAt
  }

  /// Makes `server` the base of the change.
  mutating func stand(_ entry: OutboxEntry, on server: Record) throws(StorageError) {
    var entry = entry
    entry.base = server.plain
    if case .asking(var asked) = entry.state, restore?.hasLost(asked.tag) == true {
      // The user may still choose the version that the relay has lost; see `decide`.
      asked.tag = 0
      entry.state = .asking(asked)
    }
    ledger.put(entry)
    guard var held = try ledger.record(entry.key) else { return }
    held.tag = server.tag
    let isKnown = try ledger.ancestors(entry.key).contains(VersionFingerprint(of: server))
    try ledger.put(held, replacing: isKnown ? [] : [server])
  }

  /// Accepts the relay's version.
  private mutating func accept(_ server: Record, for key: RecordKey) throws(StorageError) {
    guard server.tag > 0 else { return try ledger.removeRecord(key) }
    try ledger.put(server, replacing: [try ledger.record(key)])
  }

  private mutating func putMerged(
    _ fields: [UInt8]?, of entry: OutboxEntry, _ server: Record, group: Int64?
  ) throws(StorageError) {
    // The stamp is the newer of the two, so that a third version, made before the merge, is
    // compared with the time of the edits and not with the time of the merge.
    let merged = OutboxEntry(
      number: ledger.takeNumber(), key: entry.key,
      type: entry.fields == nil ? server.type : entry.type, fields: fields,
      modifiedAt: max(entry.modifiedAt, server.modifiedAt), isStampTrusted: true,
      base: server.plain, state: .waiting, group: group)
    ledger.put(merged)
    try ledger.put(
      try record(of: merged, tag: server.tag), replacing: [try ledger.record(entry.key), server])
  }

  /// A further record that keeps content that a merge could not keep.
  private struct NewCopy {
    var change: OutboxEntry
    /// Record that is held under its name.
    var held: Record?
  }

  /// Collects nothing if the copy exists already. If another record has its name, such as that of a
  /// version of the same instant, neither is overwritten: the two are merged as any two versions.
  /// `depth`: number of copies that led to this one. A copy of a copy may have the same name.
  private mutating func collect(
    _ copy: Resolution.Copy, of entry: OutboxEntry, _ server: Record,
    into wanted: inout [NewCopy], depth: Int = 0
  ) throws(StorageError) {
    let key = RecordKey(zone: entry.key.zone, name: ReplicaState.name(copy.name))
    let fields = copy.fields.serialized()
    let held = try ledger.record(key)
    guard !Merging.equal(fields, held?.fields) else { return }
    var change = OutboxEntry(
      number: ledger.takeNumber(), key: key,
      type: entry.fields == nil ? server.type : entry.type, fields: fields,
      modifiedAt: max(entry.modifiedAt, server.modifiedAt), isStampTrusted: true, base: nil,
      state: .waiting)
    var further: [Resolution.Copy] = []
    if let held, !held.isDeleted, max(depth, wanted.count) < Limits.copiesOfOneMerge,
      case .merged(let fields, let copies) = merging.resolve(change, held)
    {
      change.fields = fields?.serialized()
      further = copies
    }
    change.base = held
    if let newest = held?.modifiedAt { change.modifiedAt = max(change.modifiedAt, newest + 1) }
    if !Merging.equal(change.fields, held?.fields) {
      wanted.append(NewCopy(change: change, held: held))
    }
    for copy in further {
      try collect(copy, of: entry, server, into: &wanted, depth: depth + 1)
    }
  }

  private mutating func put(_ copy: NewCopy, group: Int64?) throws(StorageError) {
    var change = copy.change
    change.group = group
    if let open = ledger.outbox.open(change.key) {
      change.base = open.base
      ledger.remove(open)
    }
    ledger.put(change)
    try ledger.put(try record(of: change, tag: copy.held?.tag ?? 0), replacing: [copy.held])
  }

  /// Shortens the name of a copy if it is too long. Keeps the end, which is unique.
  private static func name(_ text: String) -> Name {
    var room = Limits.nameBytes
    let kept = text.unicodeScalars.reversed().prefix { scalar in
      room -= UTF8.width(scalar)
      return room >= 0
    }
    let end = String(String.UnicodeScalarView(kept.reversed()))
    return Name(end) ?? Name(trusted: "copy")
  }
}

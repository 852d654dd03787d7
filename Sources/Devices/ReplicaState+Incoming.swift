import Changes
import Storage

/// What the relay says, applied in the order in which it came: pages of changes, and answers to
/// batches. One transaction with the cursor that covers them. Applying a thing twice changes
/// nothing.
extension ReplicaState {
  mutating func apply(_ arrivals: [Arrival], _ clock: ClockReading) throws(StorageError) -> Applied
  {
    var applied = Applied(position: position)
    for arrival in arrivals {
      switch arrival {
      case .page(let page):
        try apply(page, &applied)
        applied.isAtEnd = !page.more && position == .cursor(page.token)
      case .answer(let id, let answer, let isLink):
        try apply(id, answer, &applied)
        if isLink { follow(answer, &applied) }
        try takeOvertaken(&applied)
      }
    }
    try noteSync(applied, clock)
    applied.position = position
    return applied
  }

  /// The cursor leads nowhere any more. Until a whole snapshot is here the store has none, so that
  /// a crash on the way begins it anew.
  mutating func forgetCursor() {
    position = .nothing
    snapshotKeys = []
    overtaken = []
    ledger.setCursor(nil)
  }

  private mutating func apply(_ page: ChangePage, _ applied: inout Applied) throws(StorageError) {
    guard page.since == position.token else {
      // A page that ends where the device stands brings nothing new.
      if position != .cursor(page.token) { applied.foundGap = true }
      return
    }
    let isSnapshot = position.cursor == nil
    if position == .nothing { snapshotKeys = [] }
    for record in page.changes {
      if isSnapshot { snapshotKeys.insert(record.key) }
      try take(record, isSnapshot: isSnapshot, &applied)
    }
    guard isSnapshot else { return move(to: page.token) }
    guard !page.more else {
      position = .snapshot(page.token)
      return
    }
    try dropWhatIsGone()
    snapshotKeys = []
    position = .nothing
    move(to: page.token)
  }

  /// An answer that begins beyond the cursor shows that others have saved in between.
  private mutating func follow(_ answer: SaveAnswer, _ applied: inout Applied) {
    guard let cursor = position.cursor else { return }
    if cursor == answer.since { return move(to: answer.token) }
    let isOld =
      answer.token.generation == cursor.generation && answer.token.sequence <= cursor.sequence
    if !isOld { applied.foundGap = true }
  }

  /// While a record is held back (`overtaken`), the store keeps the cursor that does not cover it
  /// yet: a crash then costs a fetch.
  private mutating func move(to token: ChangeToken) {
    guard position != .cursor(token) else { return }
    position = .cursor(token)
    if overtaken.isEmpty { ledger.setCursor(token) }
  }

  /// What was held back for the sake of what was in flight, once that is answered.
  mutating func takeOvertaken(_ applied: inout Applied) throws(StorageError) {
    guard !overtaken.isEmpty, ledger.outbox.frozenBatch == nil else { return }
    let records = overtaken
    overtaken = []
    for record in records { try take(record, isSnapshot: false, &applied) }
    if let token = position.cursor { ledger.setCursor(token) }
  }

  /// At a snapshot's end: what it did not name is not there any more. What was edited here stays,
  /// and goes to the relay.
  private mutating func dropWhatIsGone() throws(StorageError) {
    for record in try ledger.store.allRecords() {
      guard !snapshotKeys.contains(record.key), !ledger.outbox.holds(record.key) else { continue }
      try ledger.removeRecord(record.key)
    }
  }

  private mutating func take(_ server: Record, isSnapshot: Bool, _ applied: inout Applied)
    throws(StorageError)
  {
    let key = server.key
    // What is in flight is frozen, and its answer comes first: whether this version was made on top
    // of ours or in spite of it, only that can tell.
    guard ledger.outbox.sent(key) == nil else {
      overtaken.removeAll { $0.key == key && $0.tag < server.tag }
      if !overtaken.contains(where: { $0.key == key }) { overtaken.append(server) }
      return
    }
    if let entry = ledger.outbox.open(key) {
      let known =
        if case .asking(let asked) = entry.state { asked.tag } else { entry.base?.tag ?? 0 }
      guard isSnapshot ? server.tag != known : server.tag > known else { return }
      return try settle(entry, server, &applied)
    }
    // Tags grow. Only a snapshot may bring a smaller one: of a relay restored from a backup.
    let held = try ledger.record(key)?.tag ?? 0
    guard isSnapshot ? server.tag != held : server.tag > held else { return }
    try ledger.put(server)
  }

  /// A local change meets the relay's version.
  mutating func settle(_ entry: OutboxEntry, _ server: Record, _ applied: inout Applied)
    throws(StorageError)
  {
    if server.device == device, server.modifiedAt == entry.modifiedAt, server.tag > 0 {
      ledger.remove(entry)
      return try ledger.put(server)
    }
    applied.conflicts += 1
    switch merging.resolve(entry, server) {
    case .ask:
      var asking = entry
      asking.state = .asking(server)
      asking.group = nil
      ledger.put(asking)
    case .merged(let fields, let copies):
      ledger.remove(entry)
      let bytes = fields?.serialized()
      let isServers = Merging.equal(bytes, server.fields)
      var wanted: [NewCopy] = []
      for copy in copies {
        if let new = try newCopy(copy, of: entry) { wanted.append(new) }
      }
      let group = isServers || wanted.isEmpty ? nil : ledger.outbox.nextNumber
      // Copies first: they have the smaller numbers (see `ungroup`).
      for copy in wanted { try put(copy, of: entry, server, group: group) }
      guard !isServers else { return try ledger.put(server) }
      try putMerged(bytes, of: entry, server, group: group)
    }
  }

  private mutating func putMerged(
    _ fields: [UInt8]?, of entry: OutboxEntry, _ server: Record, group: Int64?
  ) throws(StorageError) {
    // Its stamp is the newer of the two, so that a third version, made between them and now, is
    // compared with what was made, not with when it was merged.
    let merged = OutboxEntry(
      number: ledger.takeNumber(), key: entry.key,
      type: entry.fields == nil ? server.type : entry.type, fields: fields,
      modifiedAt: max(entry.modifiedAt, server.modifiedAt), isStampTrusted: true, base: server,
      state: .waiting, group: group)
    ledger.put(merged)
    try ledger.put(merged.record(by: device, tag: server.tag))
  }

  /// A further record that keeps what a merge could not.
  private struct NewCopy {
    var key: RecordKey
    var fields: [UInt8]
    var held: Record?
  }

  /// nil where the copy is here already.
  private func newCopy(_ copy: Resolution.Copy, of entry: OutboxEntry) throws(StorageError)
    -> NewCopy?
  {
    let key = RecordKey(zone: entry.key.zone, name: ReplicaState.name(copy.name))
    let fields = copy.fields.serialized()
    let held = try ledger.record(key)
    guard !Merging.equal(fields, held?.fields) else { return nil }
    return NewCopy(key: key, fields: fields, held: held)
  }

  private mutating func put(
    _ copy: NewCopy, of entry: OutboxEntry, _ server: Record, group: Int64?
  ) throws(StorageError) {
    var added = OutboxEntry(
      number: ledger.takeNumber(), key: copy.key,
      type: entry.fields == nil ? server.type : entry.type, fields: copy.fields,
      modifiedAt: max(entry.modifiedAt, server.modifiedAt), isStampTrusted: true, base: copy.held,
      state: .waiting, group: group)
    if let open = ledger.outbox.open(copy.key) {
      added.base = open.base
      ledger.remove(open)
    }
    if let newest = copy.held?.modifiedAt { added.modifiedAt = max(added.modifiedAt, newest + 1) }
    ledger.put(added)
    try ledger.put(added.record(by: device, tag: copy.held?.tag ?? 0))
  }

  /// A copy's name may be too long, made from a long name and more. Its end tells it apart.
  private static func name(_ text: String) -> Name {
    var rest = Substring(text)
    while rest.utf8.count > Limits.nameBytes { rest = rest.dropFirst() }
    return Name(String(rest)) ?? Name(trusted: "copy")
  }

  /// Kept for the status of a later process; not worth a write of its own each time.
  private mutating func noteSync(_ applied: Applied, _ clock: ClockReading) throws(StorageError) {
    let isOld = clock.relayTime - (lastSync ?? 0) > Limits.syncNoteMilliseconds
    guard ledger.hasChanges || isOld, position.cursor != nil, !applied.foundGap, clock.isTrusted,
      ledger.outbox.summary.unsent == 0
    else { return }
    lastSync = clock.relayTime
    ledger.setValue(ReplicaState.lastSyncKey, clock.relayTime)
  }
}

import LockstepModel
import LockstepStorage

/// Local first: an edit is written to the records and to the outbox in one transaction, without the
/// network.
extension ReplicaState {
  mutating func edit(_ request: EditRequest, _ clock: ClockReading) throws(StorageError)
    -> Result<Record, EditFailure>
  {
    guard identity != nil else { return .failure(.notJoined) }
    if let app = apps.first(where: { $0.zone == request.key.zone }),
      let question = try unanswered(of: app)
    {
      return .failure(question)
    }
    try restamp(clock)
    try makeDueEdits(of: request.key, clock)
    let held = try ledger.record(request.key)
    let current = held.flatMap { $0.isDeleted ? nil : $0 }
    let stamp = stamp(after: held, clock)
    let value: JSONValue?
    do {
      value = try request.make(EditContext(current: current, stamp: stamp, device: device))
    } catch {
      return .failure(.refused(error))
    }
    if value == nil && current == nil {
      return .failure(.refused(EditRefusal("there is no record of that name to delete")))
    }
    let fields = value?.serialized()
    if let failure = failure(of: fields, for: request.key) { return .failure(failure) }
    if let fields,
      let chunks = merging.chunks(in: fields, of: request.type, zone: request.key.zone),
      chunks.count > Limits.chunksPerRecord
    {
      return .failure(
        .refused(EditRefusal("a record names at most \(Limits.chunksPerRecord) chunks of files")))
    }
    noteOwn(request.key.zone)
    return .success(
      try change(
        request.key, type: value == nil ? held?.type ?? request.type : request.type,
        fields: fields, stamp: stamp, clock))
  }

  /// Applies a user's decision on a conflict.
  mutating func decide(_ key: RecordKey, keepLocal: Bool, _ clock: ClockReading)
    throws(StorageError) -> Result<Record, EditFailure>
  {
    guard var entry = ledger.outbox.open(key), case .asking(let server) = entry.state else {
      return .failure(.nothingToDecide)
    }
    // A version of tag 0 is one that the relay has lost, or means that the record is gone; the base
    // is then what the relay has.
    let isThere = server.tag > 0
    let hasNothing = server.isDeleted && (entry.base?.tag ?? 0) == 0
    if !keepLocal, isThere || hasNothing {
      ledger.remove(entry)
      if isThere {
        try ledger.put(server, replacing: [try ledger.record(key)])
      } else {
        try ledger.removeRecord(key)
      }
      return .success(server)
    }
    // The decision is a new edit, made with knowledge of both versions.
    noteUntrusted(clock)
    entry.modifiedAt = max(clock.relayTime, max(entry.modifiedAt, server.modifiedAt) + 1)
    entry.isStampTrusted = clock.isTrusted
    if isThere { entry.base = server }
    if !keepLocal { (entry.type, entry.fields) = (server.type, server.fields) }
    entry.state = .waiting
    ledger.put(entry)
    let record = try self.record(of: entry, tag: entry.base?.tag ?? 0)
    try ledger.put(record, replacing: [try ledger.record(key), server])
    return .success(record)
  }

  /// Makes the edits that are due, one after the other if one leads to the next.
  mutating func makeDueEdits(isConnected: Bool, _ clock: ClockReading) throws(StorageError) {
    guard identity != nil else { return }
    try restamp(clock)
    for _ in 0..<Limits.dueEdits {
      guard
        let (mark, time) = due.first(
          on: device.text, isConnected: isConnected, isClockTrusted: clock.isTrusted),
        time <= clock.relayTime
      else { return }
      guard let held = try ledger.record(mark.key), let edit = merging.dueEdit(for: held) else {
        due.set(nil, for: mark.key)
        continue
      }
      guard edit.dueAt == mark.dueAt else {
        // The record was stamped again just now, and its due time has moved with it.
        due.set(edit, for: mark.key)
        continue
      }
      let fields = edit.fields.serialized()
      guard failure(of: fields, for: mark.key) == nil else {
        // There is no room: the edit is made when this record is next examined.
        due.set(nil, for: mark.key)
        continue
      }
      let record = try change(
        mark.key, type: held.type, fields: fields, stamp: stamp(after: held, clock),
        isMadeByTime: true,
        clock)
      let next = merging.dueEdit(for: record)
      // An edit that leads to itself would be repeated for ever.
      due.set(next == edit ? nil : next, for: mark.key)
    }
  }

  /// Makes the due edits of a record before the user's edit.
  private mutating func makeDueEdits(of key: RecordKey, _ clock: ClockReading) throws(StorageError)
  {
    for _ in 0..<Limits.dueEdits {
      guard let held = try ledger.record(key), let edit = merging.dueEdit(for: held),
        clock.isTrusted || edit.owner == device.text, edit.dueAt <= stamp(after: held, clock)
      else { return }
      let fields = edit.fields.serialized()
      guard failure(of: fields, for: key) == nil else { return }
      _ = try change(
        key, type: held.type, fields: fields, stamp: stamp(after: held, clock), isMadeByTime: true,
        clock)
    }
  }

  /// Writes a local change: into the open entry, or into a new one.
  private mutating func change(
    _ key: RecordKey, type: Name, fields: [UInt8]?, stamp: Int64, isMadeByTime: Bool = false,
    _ clock: ClockReading
  ) throws(StorageError) -> Record {
    noteUntrusted(clock)
    let held = try ledger.record(key)
    let isLost = try isMarkedAsLost(key)
    let sent = ledger.outbox.sent(key)
    var entry: OutboxEntry
    var replaced: Record?
    if let open = ledger.outbox.open(key) {
      entry = open
      // Other devices may hold the version in the entry: the relay had it, or has it unanswered.
      if restore != nil || open.base?.isLost == true || open.firstSent != nil { replaced = held }
      if case .parked = open.state { entry.state = .waiting }
    } else {
      replaced = held
      entry = OutboxEntry(
        number: ledger.takeNumber(), key: key, type: type, fields: nil, modifiedAt: stamp,
        isStampTrusted: clock.isTrusted,
        base: isLost ? held.map { .lost($0) } : sent?.record(by: device, tag: 0) ?? held,
        state: .waiting)
    }
    entry.type = type
    entry.fields = fields
    entry.modifiedAt = stamp
    entry.isStampTrusted = clock.isTrusted
    if isMadeByTime { entry.timeMade = entry.record(by: device, tag: 0) }
    let record = try self.record(of: entry, tag: isLost ? 0 : held?.tag ?? 0)
    if fields == nil, entry.base == nil, sent == nil, entry.state == .waiting {
      // Created and deleted before it was sent.
      ledger.remove(entry)
      try ledger.removeRecord(key)
      return record
    }
    ledger.put(entry)
    try ledger.put(record, replacing: [replaced])
    return record
  }

  private mutating func noteUntrusted(_ clock: ClockReading) {
    if !clock.isTrusted { noteOffset(clock) }
  }

  /// Returns the reason that a change to these fields cannot be kept; nil if it can.
  private func failure(of fields: [UInt8]?, for key: RecordKey) -> EditFailure? {
    let count = fields?.count ?? 0
    if count > Limits.recordBytes { return .tooLarge(bytes: count) }
    if let fields, fields.first != UInt8(ascii: "{") {
      return .refused(EditRefusal("a record's fields must be a JSON object"))
    }
    let outbox = ledger.outbox
    if outbox.open(key) == nil, outbox.entries.count >= Limits.outboxRecords { return .outboxFull }
    if outbox.bytes + count > Limits.outboxBytes { return .outboxFull }
    return nil
  }
}

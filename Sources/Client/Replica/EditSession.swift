import LockstepJSON
import LockstepModel
import LockstepStorage

/// Edits of one transaction. Throws to make none of them.
package typealias EditScript = @Sendable (EditSession) throws(EditFailure) -> Void

/// Access to the replica for the edits of one transaction. Each edit sees those before it.
package final class EditSession {
  fileprivate var state: ReplicaState
  private let clock: ClockReading
  fileprivate private(set) var editedKeys: [RecordKey] = []
  /// Failure of the store, which the script cannot see.
  fileprivate private(set) var storageError: StorageError?

  fileprivate init(_ state: consuming ReplicaState, _ clock: ClockReading) {
    self.state = state
    self.clock = clock
  }

  /// Returns the record as it is now, and the stamp of an edit of it.
  package func context(for key: RecordKey) throws(EditFailure) -> EditContext {
    try perform { () throws(StorageError) in try state.context(for: key, clock) }.get()
  }

  /// Writes a record.
  ///
  /// - Parameter fields: The record's new fields; nil deletes it.
  package func write(_ key: RecordKey, type: Name, fields: JSONValue?) throws(EditFailure) {
    let context = try context(for: key)
    let result = try perform { () throws(StorageError) in
      try state.write(key, type: type, fields, context, clock)
    }
    _ = try result.get()
    if !editedKeys.contains(key) { editedKeys.append(key) }
  }

  /// Applies a user's decision on a conflict that no rule decides.
  package func decide(_ key: RecordKey, keepLocal: Bool) throws(EditFailure) {
    let result = try perform { () throws(StorageError) in
      try state.decide(key, keepLocal: keepLocal, clock)
    }
    _ = try result.get()
  }

  /// Keeps a failure of the store.
  private func perform<Value>(_ body: () throws(StorageError) -> Value) throws(EditFailure) -> Value
  {
    do throws(StorageError) {
      return try body()
    } catch {
      storageError = error
      throw .storage(error)
    }
  }
}

/// Reading in a transaction.
extension EditSession {
  /// Returns a live record; nil if there is none, or it is deleted.
  package func record(_ key: RecordKey) throws(EditFailure) -> Record? {
    try perform { () throws(StorageError) in
      try state.transaction.record(key).flatMap { $0.isDeleted ? nil : $0 }
    }
  }

  /// Returns the live records of a type, or of all types (nil), by name, as they were before the
  /// transaction.
  package func records(zone: Name, type: Name?) throws(EditFailure) -> [Record] {
    try perform { () throws(StorageError) in
      try state.transaction.store.records(zone: zone, type: type)
    }
  }

  package func syncState(of key: RecordKey) -> RecordSyncState {
    state.transaction.outbox.state(of: key)
  }

  /// Returns the keys of the zone's records that need a user's decision.
  package func undecided(in zone: Name) -> [RecordKey] {
    state.transaction.outbox.undecidedRecords(in: zone).map(\.key)
  }

  /// Returns the merge rules of a record type, if they are a table.
  package func rules(for type: Name, in zone: Name) -> MergeRules? {
    state.merging.rules(for: type, zone: zone)
  }
}

extension ReplicaState {
  /// Makes the edits of a script, all or none.
  mutating func transact(_ script: EditScript, _ clock: ClockReading) throws(StorageError)
    -> Result<[Record], EditFailure>
  {
    // The session holds the only copy of the state meanwhile, so nothing is copied by a write.
    let session = EditSession(self, clock)
    self = ReplicaState(store: session.state.transaction.store, apps: apps)
    var failure: EditFailure?
    do throws(EditFailure) {
      try script(session)
    } catch {
      failure = error
    }
    self = session.state
    session.state = ReplicaState(store: transaction.store, apps: [])
    if let error = session.storageError { throw error }
    if let failure {
      try discard()
      return .failure(failure)
    }
    bind(session.editedKeys)
    var records: [Record] = []
    for key in session.editedKeys {
      if let record = try transaction.record(key) { records.append(record) }
    }
    return .success(records)
  }

  /// Binds the edits of a zone into one group, which is sent in one batch.
  private mutating func bind(_ keys: [RecordKey]) {
    guard keys.count > 1, keys.allSatisfy({ $0.zone == keys[0].zone }) else { return }
    let group = transaction.outbox.nextNumber
    let edited = keys.compactMap { transaction.outbox.open($0) }
    let former = Set(edited.compactMap(\.group))
    let members =
      former.isEmpty
      ? []
      : transaction.outbox.entries.filter { entry in
        entry.group.map { former.contains($0) } ?? false
      }
    for var entry in edited + members where entry.state == .waiting {
      entry.group = group
      transaction.put(entry)
    }
  }

  /// Makes the home a device of an account. What was edited before becomes this device's. A home
  /// that joins its account again keeps records, outbox and cursor: they belong to the account.
  mutating func join(_ identity: HomeIdentity) throws(StorageError) {
    let isFirst = self.identity == nil
    let before = device
    self.identity = identity
    transaction.setIdentity(identity)
    transaction.setValue(FormerRelays.key, nil)
    try adoptScope()
    // Edits may be due now that were left to other devices.
    guard isFirst else { return try loadDueEdits() }
    for var entry in transaction.outbox.entries {
      entry.fields = merging.renamed(before, to: device, in: entry)
      transaction.put(entry)
      try transaction.put(try record(of: entry, tag: 0))
    }
  }

  /// Stores the address of the relay to which the account has moved, and the one that it has left.
  mutating func follow(_ relay: String) throws(StorageError) -> LoadedHome {
    guard var identity else { return try loadedHome() }
    var former = FormerRelays(try transaction.store.value(FormerRelays.key))
    former.leave(identity.relay, for: relay)
    identity.relay = relay
    self.identity = identity
    transaction.setIdentity(identity)
    transaction.setValue(FormerRelays.key, former.text)
    return try loadedHome()
  }
}

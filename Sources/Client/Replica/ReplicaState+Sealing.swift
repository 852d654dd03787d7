import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage

/// Sealed zones: the replica works on opened records, and only sealed ones leave it. A relay cannot
/// make a valid record, but it can withhold, delete and repeat. So in a sealed zone
///
/// - a record that does not open is neither taken nor overwritten: it is listed as unreadable, and
///   local changes to it wait;
/// - a tombstone of the relay, or a record's absence from a snapshot, deletes nothing: what is held
///   is saved again. A deletion is a sealed record (`ZoneSeal`);
/// - a version with an older time than the held one, or one that the held one has replaced, is a
///   former version: the held one is saved again. The times of a record's versions never decrease,
///   because each change is later than the version that it was made on, and a merge has the later
///   time of its two sides.
struct SealedZones {
  /// Keys of the sealed zones. A zone that was sealed once is never taken for a plain one.
  private(set) var keys: [Name: ZoneKeys] = [:]
  private var seals: [Name: ZoneSeal] = [:]
  /// Records at the relay that this device cannot read, by their names there, with the reason:
  /// those that came with the changes, and those that the relay has reported as conflicts with a
  /// change. The latter are not stored: the change is tried again in the next process.
  private(set) var unreadable: [RecordKey: SealFault] = [:]
  private var unreadableConflicts: [RecordKey: SealFault] = [:]
  /// True if more of them were found than are listed. Until all are read anew, no local change to
  /// an unlisted record can replace one: the relay refuses it as a conflict.
  private(set) var hasMoreUnreadable = false
  /// True if a version has named others that a restored relay has lost.
  var hasIncludes = false

  func seal(_ zone: Name) -> ZoneSeal? { seals[zone] }

  var isEmpty: Bool { seals.isEmpty }

  func isSealed(_ zone: Name) -> Bool { seals[zone] != nil }

  mutating func adopt(_ keys: ZoneKeys) {
    self.keys[keys.zone] = keys
    seals[keys.zone] = ZoneSeal(keys)
  }

  mutating func setUnreadable(_ faults: [RecordKey: SealFault], hasMore: Bool) {
    unreadable = faults
    hasMoreUnreadable = hasMore
  }

  mutating func noteConflict(_ key: RecordKey, _ fault: SealFault) {
    unreadableConflicts[key] = fault
  }

  mutating func retryConflicts() { unreadableConflicts = [:] }

  /// All of both kinds.
  var allUnreadable: [RecordKey: SealFault] {
    if unreadableConflicts.isEmpty { return unreadable }
    return unreadable.merging(unreadableConflicts) { first, _ in first }
  }

  /// Returns true if that changed the list.
  mutating func note(_ key: RecordKey, _ fault: SealFault?) -> Bool {
    unreadableConflicts[key] = nil
    guard unreadable[key] != fault else { return false }
    if fault != nil, unreadable[key] == nil, unreadable.count >= Limits.unreadableRecords {
      defer { hasMoreUnreadable = true }
      return !hasMoreUnreadable
    }
    unreadable[key] = fault
    return true
  }

  /// Their number; one more stands for those that are not listed.
  var unreadableCount: Int { allUnreadable.count + (hasMoreUnreadable ? 1 : 0) }

  func firstUnreadable(_ count: Int) -> [AgentStatus.Unreadable] {
    allUnreadable.sorted { $0.key < $1.key }.prefix(count).map {
      AgentStatus.Unreadable(key: $0.key, fault: $0.value)
    }
  }

  /// True if the relay has a version of this record that the device cannot read.
  func isUnreadable(_ key: RecordKey) -> Bool {
    guard hasUnreadable, let seal = seals[key.zone] else { return false }
    let relayKey = RecordKey(zone: key.zone, name: seal.relayName(of: key.name))
    return unreadable[relayKey] != nil || unreadableConflicts[relayKey] != nil
  }

  var hasUnreadable: Bool {
    !unreadable.isEmpty || hasMoreUnreadable || !unreadableConflicts.isEmpty
  }
}

extension ReplicaState {
  static let sealKeysKey = "seal.keys"
  static let sealUnreadableKey = "seal.unreadable"
  static let sealIncludesKey = "seal.includes"

  /// See `ReplicaTask.seal`. Returns the device's new position if it reads again from the
  /// beginning.
  mutating func adoptSeals(_ list: [ZoneKeys]) throws(StorageError)
    -> (Result<Bool, EditFailure>, movedTo: ChangePosition?)
  {
    guard identity != nil else { return (.failure(.notJoined), nil) }
    for keys in list {
      if let failure = try failure(ofAdopting: keys) { return (.failure(failure), nil) }
    }
    let new = list.filter { sealing.keys[$0.zone] != $0 }
    guard !new.isEmpty else { return (.success(false), nil) }
    for keys in new { sealing.adopt(keys) }
    let stored = sealing.keys.values.sorted { $0.zone < $1.zone }.map(\.storedValue)
    transaction.setValue(Self.sealKeysKey, JSONValue.array(stored).text)
    return (.success(true), movePositionBack(to: nil))
  }

  /// Returns nil if the keys may be adopted.
  private func failure(ofAdopting keys: ZoneKeys) throws(StorageError) -> EditFailure? {
    if let held = sealing.keys[keys.zone] {
      if keys.contains(held) { return nil }
      let reason = "zone \(keys.zone.text) is sealed with a key that is not among the new ones"
      return .refused(EditRefusal(reason))
    }
    let isEmpty = try transaction.records(zone: keys.zone, type: nil).isEmpty
    if isEmpty, !transaction.outbox.entries.contains(where: { $0.key.zone == keys.zone }) {
      return nil
    }
    return .refused(EditRefusal("zone \(keys.zone.text) has records that are not sealed"))
  }

  mutating func loadSealing() throws(StorageError) {
    sealing = SealedZones()
    guard let text = try transaction.store.value(Self.sealKeysKey) else { return }
    let list = JSONValue(ifJSON: Array(text.utf8))?.array
    for value in list ?? [] {
      guard let keys = ZoneKeys(stored: value) else {
        throw .corrupt(path: "home", detail: "the keys of its sealed zones are not readable")
      }
      sealing.adopt(keys)
    }
    sealing.hasIncludes = try transaction.store.value(Self.sealIncludesKey) != nil
    if let text = try transaction.store.value(Self.sealUnreadableKey) {
      let (faults, hasMore) = Self.unreadable(stored: text)
      sealing.setUnreadable(faults, hasMore: hasMore)
    }
  }

  // MARK: from the relay

  /// Returns the page with its sealed records opened, and without those that must not be taken.
  mutating func opened(_ page: ChangePage, isSnapshot: Bool) throws(StorageError) -> ChangePage {
    guard !sealing.isEmpty,
      page.changes.contains(where: { sealing.isSealed($0.zone) })
    else { return page }
    var page = page
    var changes: [Record] = []
    var withheld: [Record] = []
    for record in page.changes {
      guard let seal = sealing.seal(record.zone) else {
        changes.append(record)
        continue
      }
      switch ReplicaState.open(record, seal) {
      case .success(let opened):
        note(record.key, nil)
        noteIncludes(of: opened)
        changes.append(opened)
      case .failure(let fault):
        withheld.append(record)
        // A tombstone hides nothing that could be read.
        note(record.key, record.isDeleted ? nil : fault)
      }
    }
    for (key, record) in try held(withheld) {
      if record.isDeleted {
        try restoreAtRelay(key)
      } else if isSnapshot {
        transaction.markNamed(key, snapshot: snapshot)
      }
    }
    page.changes = changes
    return page
  }

  /// Forgets what could not be read, at the beginning of a snapshot: it brings all of it again.
  mutating func forgetUnreadable() {
    guard !sealing.unreadable.isEmpty || sealing.hasMoreUnreadable else { return }
    sealing.setUnreadable([:], hasMore: false)
    storeUnreadable()
  }

  /// The relay has deleted a held record, which no device did: it is saved again.
  private mutating func restoreAtRelay(_ key: RecordKey) throws(StorageError) {
    guard scope.includesWrites(to: key.zone) else { return }
    // The answer decides about a change in flight.
    if transaction.outbox.sent(key) != nil { return }
    if let entry = transaction.outbox.open(key) {
      return try rebase(entry, on: .nothing(at: key, type: entry.type))
    }
    guard try transaction.record(key) != nil else { return }
    transaction.markLost(key)
    hasLostRecords = true
  }

  private static func open(_ record: Record, _ seal: ZoneSeal) -> Result<Record, SealFault> {
    do throws(SealFault) {
      return .success(try seal.opened(record))
    } catch {
      return .failure(error)
    }
  }

  /// Returns those of the relay's records that this device holds, with their keys here.
  private func held(_ records: [Record]) throws(StorageError) -> [(RecordKey, Record)] {
    var found: [(RecordKey, Record)] = []
    for zone in Set(records.map(\.zone)).sorted() {
      guard let seal = sealing.seal(zone) else { continue }
      var names = Set(try transaction.records(zone: zone, type: nil).map(\.name))
      names.formUnion(transaction.outbox.entries.filter { $0.key.zone == zone }.map(\.key.name))
      var keys: [Name: Name] = [:]
      for name in names { keys[seal.relayName(of: name)] = name }
      for record in records where record.zone == zone {
        if let name = keys[record.name] {
          found.append((RecordKey(zone: zone, name: name), record))
        }
      }
    }
    return found
  }

  /// Result of the relay for one entry of a batch.
  enum EntryResult {
    case saved(ChangeTag)
    case conflict(Record)
    case refused(Refusal)
    /// The relay has another version, and this device cannot read it.
    case unreadable
    /// The answer does not mention the entry.
    case missing
  }

  /// Returns the result for each entry of a batch, with opened records.
  mutating func openedResults(_ results: [MutationResult], of entries: [OutboxEntry])
    -> [(OutboxEntry, EntryResult)]
  {
    var byName: [Name: MutationResult] = [:]
    for result in results where byName[result.name] == nil { byName[result.name] = result }
    return entries.map { entry in
      let seal = sealing.seal(entry.key.zone)
      let relayName = seal?.relayName(of: entry.key.name) ?? entry.key.name
      switch byName[relayName] {
      case nil: return (entry, .missing)
      case .saved(_, let tag): return (entry, .saved(tag))
      case .refused(_, let refusal): return (entry, .refused(refusal))
      case .conflict(_, let server):
        guard let seal else { return (entry, .conflict(server)) }
        return (entry, openedConflict(with: server, over: entry, relayName, seal))
      }
    }
  }

  private mutating func openedConflict(
    with server: Record, over entry: OutboxEntry, _ relayName: Name, _ seal: ZoneSeal
  ) -> EntryResult {
    if server.isDeleted { return .conflict(.nothing(at: entry.key, type: entry.type)) }
    let key = RecordKey(zone: entry.key.zone, name: relayName)
    let opened: Result<Record, SealFault> =
      server.key == key ? ReplicaState.open(server, seal) : .failure(.altered)
    switch opened {
    case .success(let record):
      note(key, nil)
      noteIncludes(of: record)
      return .conflict(record)
    case .failure(let fault):
      sealing.noteConflict(key, fault)
      return .unreadable
    }
  }

  /// Reads anew what could not be read, at a user's request.
  mutating func retryUnreadable() {
    sealing.retryConflicts()
    if sealing.hasUnreadable { _ = movePositionBack(to: nil) }
  }

  /// True if the version precedes the held one: see `SealedZones`.
  func isFormer(_ server: Record, of held: Record) throws(StorageError) -> Bool {
    guard sealing.isSealed(held.zone), server.tag > 0, server.modifiedAt <= held.modifiedAt else {
      return false
    }
    if server.modifiedAt < held.modifiedAt { return true }
    if held.isSame(as: server) { return false }
    return try transaction.ancestors(held.key).contains(VersionFingerprint(of: server))
  }

  // MARK: to the relay

  /// Returns the request as it is sent: in a sealed zone, with sealed records.
  func sealed(_ request: SaveRequest?) -> SaveRequest? {
    guard var request, let seal = sealing.seal(request.zone) else { return request }
    for index in request.mutations.indices {
      let mutation = request.mutations[index]
      let sealed = seal.sealed(record(of: mutation, in: request.zone))
      request.mutations[index].name = sealed.name
      request.mutations[index].type = sealed.type
      request.mutations[index].fields = sealed.fields
      request.mutations[index].chunks = sealed.chunks
      request.mutations[index].includes = []
    }
    return request
  }

  private func record(of mutation: Mutation, in zone: Name) -> Record {
    Record(
      zone: zone, name: mutation.name, type: mutation.type ?? ZoneSeal.hiddenType,
      fields: mutation.fields, modifiedAt: mutation.modifiedAt, device: device, tag: 0,
      chunks: mutation.chunks, includes: mutation.includes)
  }

  /// True if the fields refer to chunks of files.
  func namesFiles(_ fields: [UInt8], type: Name, at key: RecordKey) -> Bool {
    let chunks =
      merging.chunks(in: fields, of: type, zone: key.zone)
      ?? Merging.value(fields).map { FileReference.chunks(in: $0) } ?? []
    return !chunks.isEmpty
  }

  /// Returns the number of bytes of the fields that the relay would store.
  func relayFieldsCount(_ fields: [UInt8]?, type: Name, at key: RecordKey) -> Int {
    guard let seal = sealing.seal(key.zone) else { return fields?.count ?? 0 }
    return seal.sealedFieldsCount(
      Record(
        zone: key.zone, name: key.name, type: type, fields: fields, modifiedAt: 0, device: device,
        tag: 0, includes: Array(repeating: VersionFingerprint(rawValue: 0), count: Limits.includes))
    )
  }

  // MARK: stored values

  private mutating func note(_ key: RecordKey, _ fault: SealFault?) {
    if sealing.note(key, fault) { storeUnreadable() }
  }

  private mutating func noteIncludes(of record: Record) {
    guard !record.includes.isEmpty, !sealing.hasIncludes else { return }
    sealing.hasIncludes = true
    transaction.setValue(Self.sealIncludesKey, "yes")
  }

  private mutating func storeUnreadable() {
    let list = sealing.unreadable.sorted { $0.key < $1.key }.map { key, fault -> JSONValue in
      [
        "zone": .string(key.zone.text), "name": .string(key.name.text),
        "fault": .string(fault.kind), "key": fault.keyID.map { .string($0) } ?? .null,
      ]
    }
    let value: JSONValue = ["more": .bool(sealing.hasMoreUnreadable), "records": .array(list)]
    transaction.setValue(Self.sealUnreadableKey, value.text)
  }

  private static func unreadable(stored text: String) -> ([RecordKey: SealFault], hasMore: Bool) {
    let value = JSONValue(ifJSON: Array(text.utf8))
    var faults: [RecordKey: SealFault] = [:]
    for each in value?["records"]?.array ?? [] {
      guard let zone = each["zone"]?.string.flatMap({ Name($0) }),
        let name = each["name"]?.string.flatMap({ Name($0) }),
        let fault = SealFault(kind: each["fault"]?.string, keyID: each["key"]?.string)
      else { continue }
      faults[RecordKey(zone: zone, name: name)] = fault
    }
    return (faults, value?["more"]?.bool ?? false)
  }
}

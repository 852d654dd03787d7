import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage

/// Keys of a home, for a program that works on its store without an agent.
extension Replica {
  /// True if the home has no keys of zones whose records are sealed.
  package static func isLocked(_ store: Store) throws(StorageError) -> Bool {
    guard let text = try store.value(ReplicaState.sealLockedKey) else { return false }
    return !ZoneLock(stored: text).isEmpty
  }

  /// Returns the keys of the home's sealed zones; nil if it seals none.
  package static func keys(in store: Store) throws(StorageError) -> SealingKeys? {
    try ReplicaState.keys(in: store)
  }

  /// Returns what the home knows of its sealed zones. Another process may hold it.
  package static func sealingState(of store: Store) throws(StorageError) -> SealingState {
    var state = SealingState(try keys(in: store))
    if let text = try store.value(ReplicaState.sealLockedKey) {
      let lock = ZoneLock(stored: text)
      state.lockedZones = lock.namedZones.sorted()
      state.isAccountLocked = lock.isAccountLocked
    }
    if let text = try store.value(ReplicaState.sealUnreadableKey) {
      let (faults, hasMore) = ReplicaState.unreadable(stored: text)
      state.unreadable = faults.sorted { $0.key < $1.key }.map(\.value)
      state.hasMoreUnreadable = hasMore
    }
    return state
  }

  /// True if records of the zone are sealed, and the home does not have the keys.
  package static func isLocked(_ zone: Name, in store: Store) throws(StorageError) -> Bool {
    guard let text = try store.value(ReplicaState.sealLockedKey) else { return false }
    let keys = try keys(in: store)?.keys(of: zone)
    return keys == nil && ZoneLock(stored: text).contains(zone)
  }

  /// Makes the home a device of an account. Both identity and keys are durable then; there is no
  /// state in between, in which the device would send what it must seal.
  ///
  /// - Parameter wall: Wall clock, milliseconds since the Unix epoch.
  /// - Returns: The reason why the home cannot have the keys, with nothing changed; nil if it has
  ///   joined.
  package mutating func join(
    _ identity: HomeIdentity, _ keys: JoinedKeys, wall: Int64
  ) throws(StorageError) -> EditFailure? {
    let result = try perform(.join(OrderID(rawValue: 0), identity, keys), wall: wall)
    if case .joined(_, .failure(let failure)) = result { return failure }
    return nil
  }

  /// Performs a job without an agent, and so without a measured clock.
  mutating func perform(_ task: ReplicaTask, wall: Int64) throws(StorageError) -> ReplicaResult {
    let clock = ClockReading(wall: wall, offset: 0, isTrusted: false, isMeasured: false)
    return try perform(ReplicaJob(task: task, clock: clock)).result.get()
  }
}

/// Knowledge of a home about its sealed zones.
package struct SealingState: Hashable, Sendable {
  /// Keys of the sealed zones; nil: it seals nothing.
  package var held: SealingKeys?
  /// Zones of which the relay has sealed records, and the home no keys.
  package var lockedZones: [Name] = []
  /// True if the whole account is sealed, and the home does not have its keys.
  package var isAccountLocked = false
  /// Fault of each listed record at the relay that the home cannot read.
  package var unreadable: [SealFault] = []
  /// True if there are more of them.
  package var hasMoreUnreadable = false

  package init(_ held: SealingKeys? = nil) { self.held = held }

  /// True if the relay has sealed records for which the home has no keys.
  package var isLocked: Bool { isAccountLocked || !lockedZones.isEmpty }
}

/// Sealed zones: the replica works on opened records, and only sealed ones leave it
/// (`SealedZones`).
extension ReplicaState {
  static let sealKeysKey = "seal.keys"
  static let sealUnreadableKey = "seal.unreadable"
  static let sealWriterKey = "seal.writer"
  static let sealLockedKey = "seal.locked"
  private static let resealingKey = "seal.resealing"

  /// See `ReplicaTask.seal`. Returns the device's new position if it reads again from the
  /// beginning.
  mutating func adoptSeals(
    _ keys: SealingKeys, plain: PlainRecords
  ) throws(StorageError) -> (Result<Bool, EditFailure>, movedTo: ChangePosition?) {
    guard identity != nil else { return (.failure(.notJoined), nil) }
    guard keys.isUnambiguous else {
      return (.failure(.refused(EditRefusal("the keys of a zone are given twice"))), nil)
    }
    let held = sealing.held
    let adopted = held?.replaced(by: keys) ?? keys
    if let held, held.sealed != ZoneSet.empty, !adopted.contains(held) {
      let reason =
        "this home has keys of the account that are not among the new ones: leave the account "
        + "first (lockstep agent leave), or use a new home"
      return (.failure(.refused(EditRefusal(reason))), nil)
    }
    if case .taken(let zone) = plain { sealing.takenZone = zone } else { sealing.takenZone = nil }
    guard adopted != held else {
      return (.success(false), sealing.takenZone == nil ? nil : movePositionBack(to: nil))
    }
    for zone in sealing.lock.zones.sorted() {
      guard let keys = adopted.keys(of: zone) else { continue }
      if let failure = failure(ofOpening: keys) { return (.failure(failure), nil) }
    }
    let zones = try zonesOfHome().filter { held?.keys(of: $0) == nil }
    if plain != .refused {
      let failure = failure(ofSending: zones, adopted) ?? failure(ofFilesIn: zones, adopted)
      if let failure { return (.failure(failure), nil) }
    }
    for zone in zones {
      guard let keys = adopted.keys(of: zone) else { continue }
      if plain == .refused {
        if let failure = try failure(ofSealing: keys) { return (.failure(failure), nil) }
      } else if case .only = adopted.sealed {
        try makeSealed(plain: zone)
        continue
      } else {
        try forgetPlainVersions(of: zone)
      }
      try removeReadRecords(of: zone)
    }
    if held == nil, adopted.sealed != ZoneSet.empty { try removeUnnamedChunks() }
    if let former = held?.current, former != adopted.current { setResealing(Resealing()) }
    sealing.adopt(adopted)
    sealing.retryConflicts()
    transaction.setValue(Self.sealKeysKey, adopted.storedValue.text)
    if try transaction.store.value(Self.sealLockedKey) != nil { storeUnreadable() }
    return (.success(true), movePositionBack(to: nil))
  }

  /// Returns the zones of which the home has records or changes.
  private func zonesOfHome() throws(StorageError) -> [Name] {
    var zones = Set(try transaction.store.allRecords().map(\.zone))
    zones.formUnion(transaction.outbox.entries.map(\.key.zone))
    return zones.sorted()
  }

  /// Returns a failure if the relay has sealed records of a locked zone, and none with these keys.
  private func failure(ofOpening keys: ZoneKeys) -> EditFailure? {
    let found = Set(
      sealing.allUnreadable.filter { $0.key.zone == keys.zone }.compactMap(\.value.keyID))
    let held = keys.generations.map(\.id)
    guard !found.isEmpty, found.isDisjoint(with: held) else { return nil }
    let zone = keys.zone.text
    return .refused(EditRefusal("zone \(zone) is sealed with keys that are not among these"))
  }

  /// Returns nil if nothing of the zone has left the device unsealed.
  private func failure(ofSealing keys: ZoneKeys) throws(StorageError) -> EditFailure? {
    let zone = keys.zone.text
    let entries = transaction.outbox.entries.filter { $0.key.zone == keys.zone }
    let haveLeft = entries.contains { entry in
      if case .parked = entry.state { return true }
      return entry.isSent || entry.firstSent != nil || (entry.base?.tag ?? 0) > 0
        || entry.base?.isLost == true
    }
    let seal = ZoneSeal(keys)
    let areSealed = try transaction.allRecords(zone: keys.zone).allSatisfy { record in
      if transaction.outbox.open(record.key) != nil { return true }
      if case .success = ReplicaState.open(record, seal) { return true }
      return false
    }
    guard !haveLeft, areSealed else {
      return .refused(EditRefusal("zone \(zone) has records that are not sealed"))
    }
    return failure(ofFilesIn: keys.zone)
  }

  /// Returns a failure if a change of one of these zones, which the keys seal, names files that are
  /// not sealed: the relay could read them.
  private func failure(ofFilesIn zones: [Name], _ keys: SealingKeys) -> EditFailure? {
    for zone in zones where keys.keys(of: zone) != nil {
      if let failure = failure(ofFilesIn: zone) { return failure }
    }
    return nil
  }

  private func failure(ofFilesIn zone: Name) -> EditFailure? {
    let nameFiles = transaction.outbox.entries.contains { entry in
      guard entry.key.zone == zone, let fields = entry.fields else { return false }
      return namesUnsealedFiles(fields, type: entry.type, at: entry.key)
    }
    guard nameFiles else { return nil }
    return .refused(
      EditRefusal(
        "zone \(zone.text) has files that are not sealed: they were attached before this device "
          + "had keys; remove them from their records, and attach them again afterwards"))
  }

  /// Returns a failure if a change of one of these zones, which the keys seal, is on its way to the
  /// relay.
  private func failure(ofSending zones: [Name], _ keys: SealingKeys) -> EditFailure? {
    let sent = transaction.outbox.frozenBatch?.entries.first?.key.zone
    guard let sent, zones.contains(sent), keys.keys(of: sent) != nil else { return nil }
    return .refused(
      EditRefusal("a change of zone \(sent.text) is on its way to the relay; try again"))
  }

  /// Makes the changes that wait new ones, whatever they were made on: that was not sealed.
  private mutating func forgetPlainVersions(of zone: Name) throws(StorageError) {
    for var entry in transaction.outbox.entries where entry.key.zone == zone {
      guard entry.fields != nil else {
        transaction.remove(entry)
        try transaction.removeRecord(entry.key)
        continue
      }
      entry.state = .waiting
      entry.base = nil
      entry.lineage = nil
      entry.firstSent = nil
      transaction.put(entry)
      try transaction.put(try record(of: entry, tag: 0))
    }
  }

  /// Removes the records that have arrived before the keys: the snapshot that follows brings them.
  /// Changes that no relay has seen stay, and are sealed when they are sent.
  private mutating func removeReadRecords(of zone: Name) throws(StorageError) {
    for record in try transaction.allRecords(zone: zone) {
      if transaction.outbox.open(record.key) == nil { try transaction.removeRecord(record.key) }
    }
  }

  /// Puts a few records into the outbox, which are then saved with the newest keys. Their versions
  /// stay what they are.
  mutating func reseal() throws(StorageError) -> ReplicaResult {
    guard var resealing = sealing.resealing, position.cursor != nil, hasRoomToBringBack else {
      return .done
    }
    let records = try transaction.store.records(after: resealing.done, limit: Limits.resealRecords)
    for record in records {
      resealing.done = record.key
      guard sealing.isSealed(record.key.zone), scope.includesWrites(to: record.key.zone),
        !isOff(record.key.zone), record.tag > 0, !transaction.outbox.holds(record.key)
      else { continue }
      try saveAgain(record)
    }
    setResealing(records.count < Limits.resealRecords ? nil : resealing)
    return .done
  }

  mutating func setResealing(_ resealing: Resealing?) {
    sealing.resealing = resealing
    transaction.setValue(Self.resealingKey, resealing?.storedText)
  }

  /// Returns nil if the home seals no zone.
  fileprivate static func keys(in store: any ReplicaStore) throws(StorageError) -> SealingKeys? {
    guard let text = try store.value(sealKeysKey) else { return nil }
    // Without its keys, a device would send the records of a sealed zone as they are.
    guard let keys = JSONValue(ifJSON: Array(text.utf8)).flatMap({ SealingKeys(stored: $0) }) else {
      throw .corrupt(path: "home", detail: "the keys of its sealed zones are not readable")
    }
    return keys
  }

  mutating func loadSealing() throws(StorageError) {
    sealing = SealedZones()
    if let text = try transaction.store.value(Self.sealLockedKey) {
      sealing.lock = ZoneLock(stored: text)
    }
    if let text = try transaction.store.value(Self.sealUnreadableKey) {
      let (faults, hasMore) = Self.unreadable(stored: text)
      sealing.setUnreadable(faults, hasMore: hasMore)
    }
    sealing.resealing = try transaction.store.value(Self.resealingKey).map {
      Resealing(stored: $0)
    }
    try loadDeviceKey()
    guard let keys = try Self.keys(in: transaction.store) else { return }
    sealing.adopt(keys)
    sealing.writer = try transaction.store.value(Self.sealWriterKey).flatMap {
      SealingWriter(stored: $0)
    }
  }

  // MARK: from the relay

  /// Returns the records of a page, those of sealed zones opened, and without those that must not
  /// be taken.
  mutating func opened(
    _ page: ChangePage, isSnapshot: Bool
  ) throws(StorageError) -> [ArrivedRecord] {
    guard
      !sealing.isEmpty || sealing.hasUnreadable
        || page.changes.contains(where: { ZoneSeal.keyID(of: $0) != nil })
    else { return page.changes.map { .plain($0) } }
    var arrived: [ArrivedRecord] = []
    var unsealed: [ArrivedRecord] = []
    var withheld: [Record] = []
    var hasNoted = false
    for record in page.changes {
      guard let seal = sealing.seal(record.zone) else {
        if let fault = fault(ofPlain: record) {
          hasNoted = sealing.lock.insert(record.zone) || hasNoted
          hasNoted = sealing.note(record.key, record.isDeleted ? nil : fault) || hasNoted
        } else {
          arrived.append(.plain(record))
        }
        continue
      }
      switch ReplicaState.open(record, seal) {
      case .success(let opened):
        hasNoted = sealing.note(record.key, nil) || hasNoted
        noteOwnVersions(in: opened.version)
        arrived.append(.opened(opened))
      case .failure(let fault):
        withheld.append(record)
        if fault == .notSealed, !record.isDeleted {
          unsealed.append(.unsealed(record))
          continue
        }
        // A tombstone hides nothing that could be read.
        hasNoted = sealing.note(record.key, record.isDeleted ? nil : fault) || hasNoted
      }
    }
    if hasNoted { storeUnreadable() }
    for (key, record) in try held(withheld) {
      if record.isDeleted {
        arrived.append(.missing(key, record.tag))
      } else if isSnapshot {
        transaction.markNamed(key, snapshot: snapshot)
      }
    }
    // A sealed record of the same page may include them.
    return arrived + unsealed
  }

  /// Returns nil if the record may be taken, of a zone of which the device has no keys.
  private func fault(ofPlain record: Record) -> SealFault? {
    if let key = ZoneSeal.keyID(of: record) { return .unknownKey(key) }
    return sealing.isLocked(record.zone) ? .notSealed : nil
  }

  /// Forgets what could not be read, at the beginning of a snapshot: it brings all of it again, and
  /// does not name what the relay has deleted since.
  mutating func forgetUnreadable() {
    sealing.retryConflicts()
    guard !sealing.unreadable.isEmpty || sealing.hasMoreUnreadable else { return }
    sealing.setUnreadable([:], hasMore: false)
    storeUnreadable()
  }

  private static func open(_ record: Record, _ seal: ZoneSeal) -> Result<OpenedRecord, SealFault> {
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
      var names = Set(try transaction.allRecords(zone: zone).map(\.name))
      names.formUnion(transaction.outbox.entries.filter { $0.key.zone == zone }.map(\.key.name))
      var keys: [Name: Name] = [:]
      for name in names {
        keys[sealing.relayName(of: RecordKey(zone: zone, name: name), seal)] = name
      }
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
    /// The relay has another version, in a sealed zone.
    case opened(OpenedRecord)
    /// The relay has no record, in a sealed zone.
    case absent
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
      let relayName = seal.map { sealing.relayName(of: entry.key, $0) } ?? entry.key.name
      switch byName[relayName] {
      case nil: return (entry, .missing)
      case .saved(_, let tag): return (entry, tag > 0 ? .saved(tag) : .missing)
      case .refused(_, let refusal): return (entry, .refused(refusal))
      case .conflict(_, let server):
        guard let seal else {
          guard let fault = fault(ofPlain: server) else { return (entry, .conflict(server)) }
          if sealing.lock.insert(server.zone) { storeUnreadable() }
          sealing.noteConflict(server.key, fault)
          return (entry, .unreadable)
        }
        return (entry, openedConflict(with: server, over: entry, relayName, seal))
      }
    }
  }

  private mutating func openedConflict(
    with server: Record, over entry: OutboxEntry, _ relayName: Name, _ seal: ZoneSeal
  ) -> EntryResult {
    if server.isDeleted { return .absent }
    let key = RecordKey(zone: entry.key.zone, name: relayName)
    let opened: Result<OpenedRecord, SealFault> =
      server.key == key ? ReplicaState.open(server, seal) : .failure(.altered)
    switch opened {
    case .success(let record):
      noteOwnVersions(in: record.version)
      if sealing.note(key, nil) { storeUnreadable() }
      return .opened(record)
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

  // MARK: to the relay

  /// Returns the request as it is sent: in a sealed zone, with sealed records.
  func sealed(_ request: SaveRequest?) throws(StorageError) -> SaveRequest? {
    guard var request, let seal = sealing.seal(request.zone) else { return request }
    for index in request.mutations.indices {
      let mutation = request.mutations[index]
      let key = RecordKey(zone: request.zone, name: mutation.name)
      guard let entry = transaction.outbox.sent(key), let version = entry.lineage?.version else {
        throw .corrupt(path: "home", detail: "a change that was sent has no version")
      }
      var record = entry.record(by: device, tag: 0)
      record.chunks = mutation.chunks
      let sealed = seal.sealed(
        record, version: version, savedBy: device, as: sealing.relayName(of: key, seal))
      request.mutations[index].name = sealed.name
      request.mutations[index].type = sealed.type
      request.mutations[index].fields = sealed.fields
      request.mutations[index].chunks = sealed.chunks
      request.mutations[index].includes = []
    }
    return request
  }

  /// True if the fields refer to chunks of files, and do not say that they are sealed for the zone.
  func namesUnsealedFiles(_ fields: [UInt8], type: Name, at key: RecordKey) -> Bool {
    guard let value = Merging.value(fields) else { return false }
    return !merging.unsealedChunks(in: value, of: type, zone: key.zone).isEmpty
  }

  /// Returns the number of bytes of the fields that the relay would store.
  func relayFieldsCount(_ fields: [UInt8]?, type: Name, at key: RecordKey) -> Int {
    guard let seal = sealing.seal(key.zone) else { return fields?.count ?? 0 }
    return seal.sealedFieldsCount(
      Record(
        zone: key.zone, name: key.name, type: type, fields: fields, modifiedAt: 0, device: device,
        tag: 0), vectorEntries: Limits.vectorEntries)
  }

  // MARK: stored values

  mutating func storeUnreadable() {
    let list = sealing.unreadable.sorted { $0.key < $1.key }.map { key, fault -> JSONValue in
      [
        "zone": .string(key.zone.text), "name": .string(key.name.text),
        "fault": .string(fault.kind), "key": fault.keyID.map { .string($0) } ?? .null,
      ]
    }
    let value: JSONValue = ["more": .bool(sealing.hasMoreUnreadable), "records": .array(list)]
    transaction.setValue(Self.sealUnreadableKey, value.text)
    storeLock()
  }

  private mutating func storeLock() {
    transaction.setValue(Self.sealLockedKey, sealing.lock.isEmpty ? nil : sealing.lock.storedText)
  }

  /// Locks these zones, and no others.
  mutating func lock(_ sealed: ZoneSet) {
    sealing.lock = ZoneLock()
    sealing.lock.lock(sealed)
    storeLock()
  }

  /// Locks all zones if a page shows that the account is sealed, and this device has no keys.
  mutating func lockSealedAccount(_ arrived: [ArrivedRecord]) {
    let sealsNothing = sealing.isEmpty || sealing.held?.sealed == ZoneSet.empty
    guard scope.zones == nil, sealsNothing else { return }
    for record in arrived.compactMap(\.record)
    where record.key == KeyRing.key && !record.isDeleted && keys(inRing: record) == nil {
      sealing.lock.lock(KeyRing.sealedZones(in: record.value))
      storeLock()
    }
  }

  fileprivate static func unreadable(stored text: String) -> ([RecordKey: SealFault], hasMore: Bool)
  {
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

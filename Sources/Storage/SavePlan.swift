import LockstepModel

/// What becomes of a batch, decided in full before anything is written, so that an atomic batch
/// needs no undoing and every store decides alike. A pure value: it knows no store.
///
/// Every mutation that passes gets the next tag, a delete too, and a delete of something that was
/// never there as well. As with CloudKit, such a delete succeeds: what the device asked for holds
/// afterwards. It leaves a tombstone, because a result is a tag, and a tag names a record's save.
/// Names in a batch are distinct; the decoders see to that.
package struct SavePlan {
  package enum Verdict: Hashable {
    /// The record as it is to be written, with its new tag.
    case save(Record, ChangeEvents)
    case conflict
    case refuse(Refusal)
  }

  /// One a mutation, in order.
  package let verdicts: [Verdict]
  /// The account's newest tag once the plan is carried out.
  package let newest: ChangeTag
  /// By how many the zone's live records become more.
  package let liveChange: Int
  /// Room that the records take more, or less; without the batch, see `isRemembered`.
  package let growth: AccountUse
  /// False where the account has no room for the memory of a batch, and nothing was saved by it: a
  /// retry is then decided anew.
  package let isRemembered: Bool
  /// By how many records more or less a chunk is named, by hash; none that stays as it was.
  package let chunkChanges: [ChunkChange]

  /// `standing` tells what the store holds under a mutation's name; it is asked once a mutation
  /// that is not refused already, in order. `hasChunk` tells whether the account has a chunk.
  ///
  /// `room`: what is left of the account's room. A deletion of a live record is always possible: a
  /// tombstone takes its place, and no more room than it did.
  package init(
    _ commit: SaveCommit, after newest: ChangeTag, room: AccountUse = .unlimited,
    standing: (Name) throws(StorageError) -> Standing?,
    hasChunk: (ChunkHash) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var verdicts: [Verdict] = []
    verdicts.reserveCapacity(commit.request.mutations.count)
    var tag = newest
    var liveChange = 0
    var chunkUses = ChunkUses()
    var growth = AccountUse()
    var room = room
    room += -RememberedBatch.leastUse
    let wasFull = room.isOverdrawn
    for mutation in commit.request.mutations {
      if let refusal = mutation.refusal {
        verdicts.append(.refuse(refusal))
        continue
      }
      let current = try standing(mutation.name)
      guard SavePlan.isFollowed(mutation.baseTag, by: current) else {
        verdicts.append(.conflict)
        continue
      }
      guard try SavePlan.isWhole(mutation, hasChunk: hasChunk) else {
        verdicts.append(.refuse(StoreRefusals.chunksMissing))
        continue
      }
      let wasLive = !(current?.isDeleted ?? true)
      let record = SavePlan.record(mutation, over: current, in: commit, tag: tag + 1)
      let more = AccountUse(
        bytes: record.storedBytes - (current?.bytes ?? 0), records: current == nil ? 1 : 0)
      guard mutation.isDelete && wasLive || !room.isOverdrawn && more.fits(into: room)
      else {
        verdicts.append(.refuse(StoreRefusals.recordQuotaExceeded))
        continue
      }
      tag += 1
      growth += more
      room += -more
      chunkUses.replace(current?.chunks ?? [], by: mutation.isDelete ? [] : mutation.chunks)
      liveChange += (mutation.isDelete ? 0 : 1) - (wasLive ? 1 : 0)
      verdicts.append(.save(record, SavePlan.event(mutation, over: current)))
    }
    if commit.request.atomic, tag - newest < verdicts.count {
      self.verdicts = verdicts.map(SavePlan.aborted)
      self.newest = newest
      self.liveChange = 0
      self.growth = AccountUse()
      chunkChanges = []
    } else {
      self.verdicts = verdicts
      self.newest = tag
      self.liveChange = liveChange
      self.growth = growth
      chunkChanges = chunkUses.changes
    }
    isRemembered = !wasFull || self.newest > newest
  }

  /// The records to write, in the order of their tags.
  package var records: [Record] {
    verdicts.compactMap { if case .save(let record, _) = $0 { record } else { nil } }
  }

  /// What happens to each of `records`.
  package var events: [ChangeEvents] {
    verdicts.compactMap { if case .save(_, let event) = $0 { event } else { nil } }
  }

  /// The tags that mutations in conflict were made on. One that the account has never given shows
  /// that the store went back, and that the device has not noticed.
  package func conflictingBases(of request: SaveRequest) -> [ChangeTag] {
    var tags: [ChangeTag] = []
    for index in verdicts.indices {
      guard case .conflict = verdicts[index], let tag = request.mutations[index].baseTag, tag > 0
      else { continue }
      tags.append(tag)
    }
    return tags
  }

  /// The batch's results. `record` tells what stands now under the name of a conflict, tombstones
  /// too.
  package func results(
    of request: SaveRequest, record: (Name) throws(StorageError) -> Record?
  ) throws(StorageError) -> [MutationResult] {
    var results: [MutationResult] = []
    results.reserveCapacity(verdicts.count)
    var room = Limits.pageBytes
    for (mutation, verdict) in zip(request.mutations, verdicts) {
      let name = mutation.name
      switch verdict {
      case .save(let record, _): results.append(.saved(name: name, tag: record.tag))
      case .refuse(let refusal): results.append(.refused(name: name, refusal))
      case .conflict:
        results.append(
          try .conflict(
            at: RecordKey(zone: request.zone, name: name), room: &room, record: record))
      }
    }
    return results
  }

  /// Whether a change made on `baseTag` still follows what stands (docs/protocol.md, "HTTP").
  private static func isFollowed(_ baseTag: ChangeTag?, by current: Standing?) -> Bool {
    switch baseTag {
    case nil: true
    case .some(0): current?.isDeleted ?? true
    case .some(let tag): current?.tag == tag
    }
  }

  private static func record(
    _ mutation: Mutation, over current: Standing?, in commit: SaveCommit, tag: ChangeTag
  ) -> Record {
    // A tombstone keeps the type that the record had, so that those who look for a type hear of
    // its end.
    let type =
      mutation.isDelete ? current?.type ?? mutation.type : mutation.type ?? current?.type
    return Record(
      zone: commit.request.zone, name: mutation.name, type: type ?? Record.typeOfNothing,
      fields: mutation.fields, modifiedAt: mutation.modifiedAt, device: commit.device, tag: tag,
      chunks: mutation.isDelete ? [] : mutation.chunks)
  }

  /// True where the account has all chunks that a record is to name. The first that it lacks
  /// decides: thousands may be named, and others' saves wait meanwhile.
  private static func isWhole(
    _ mutation: Mutation, hasChunk: (ChunkHash) throws(StorageError) -> Bool
  ) throws(StorageError) -> Bool {
    if mutation.isDelete { return true }
    for hash in mutation.chunks where try !hasChunk(hash) { return false }
    return true
  }

  private static func event(_ mutation: Mutation, over current: Standing?) -> ChangeEvents {
    if mutation.isDelete { return .delete }
    return current?.isDeleted ?? true ? .create : .update
  }

  private static func aborted(_ verdict: Verdict) -> Verdict {
    guard case .save = verdict else { return verdict }
    return .refuse(
      Refusal(
        .batchAborted, "Another record of this atomic batch failed; mend that one, then save all."))
  }
}

/// What a decision must know of the record that stands, its fields left aside.
package struct Standing: Hashable {
  package var tag: ChangeTag
  package var type: Name
  package var isDeleted: Bool
  package var chunks: [ChunkHash]
  /// `Record.storedBytes`.
  package var bytes: Int64

  package init(
    tag: ChangeTag, type: Name, isDeleted: Bool, chunks: [ChunkHash] = [], bytes: Int64 = 0
  ) {
    self.bytes = bytes
    self.tag = tag
    self.type = type
    self.isDeleted = isDeleted
    self.chunks = chunks
  }

  package init(_ record: Record) {
    self.init(
      tag: record.tag, type: record.type, isDeleted: record.isDeleted, chunks: record.chunks,
      bytes: record.storedBytes)
  }
}

extension Record {
  /// The type of a tombstone where no record ever told one.
  package static let typeOfNothing = Name(trusted: "unknown")

  /// What a conflict shows where not even a tombstone is kept (docs/protocol.md, "HTTP").
  package static func nothing(at key: RecordKey) -> Record {
    Record(
      zone: key.zone, name: key.name, type: typeOfNothing, fields: nil, modifiedAt: 0,
      device: DeviceID(rawValue: 0), tag: 0)
  }
}

extension MutationResult {
  /// A conflict with what stands there now, or where it does not fit, its error.
  ///
  /// `room`: bytes of records that the answer can still take. Once one does not fit there is none,
  /// so that the others are not read at all.
  static func conflict(
    at key: RecordKey, room: inout Int, record: (Name) throws(StorageError) -> Record?
  ) throws(StorageError) -> MutationResult {
    if room > 0 {
      let current = try record(key.name) ?? .nothing(at: key)
      room -= current.size
      if room >= 0 { return .conflict(name: key.name, record: current) }
    }
    room = 0
    return .refused(name: key.name, StoreRefusals.conflictTooLarge)
  }
}

import LockstepModel

/// Decision on a batch, made in full before any write, so that an atomic batch needs no rollback
/// and every store decides in the same way. A pure value without access to a store.
///
/// Every accepted mutation gets the next tag, also a delete, and also a delete of a record that
/// never existed. As with CloudKit, such a delete succeeds: the requested state holds afterwards.
/// It leaves a tombstone, because a result is a tag, and a tag identifies a record's save. Names in
/// a batch are distinct; the decoders ensure that.
package struct SavePlan {
  package enum Verdict: Hashable {
    /// The record to be written, with its new tag.
    case save(Record, ChangeEvents)
    case conflict
    case refuse(Refusal)
  }

  /// One verdict per mutation, in order.
  package let verdicts: [Verdict]
  /// The account's newest tag after the plan is carried out.
  package let newest: ChangeTag
  /// Change in the number of the zone's live records.
  package let liveChange: Int
  /// Change in the space of the records, without that of the batch (see `isRemembered`).
  package let growth: AccountUse
  /// False if the batch saved nothing, and the account or the store has no space to remember it: a
  /// retry is then decided anew.
  package let isRemembered: Bool
  /// Changes in the number of records that name a chunk, by hash, without unchanged ones.
  package let chunkChanges: [ChunkChange]

  /// `existing` returns the record of a mutation's name; it is called once per mutation that is not
  /// refused already, in order. `hasChunk` returns true if the account has a chunk.
  ///
  /// `available`: space that the account has left. Deleting a live record is always possible: its
  /// tombstone takes no more space than the record did. See also `SaveCommit.unlessDeleting`.
  package init(
    _ commit: SaveCommit, after newest: ChangeTag, available: AccountUse = .unlimited,
    existing: (Name) throws(StorageError) -> ExistingRecord?,
    hasChunk: (ChunkHash) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var verdicts: [Verdict] = []
    verdicts.reserveCapacity(commit.request.mutations.count)
    var tag = newest
    var liveChange = 0
    var chunkUses = ChunkUses()
    var growth = AccountUse()
    var available = available
    available += -RememberedBatch.minimumUse
    let wasFull = available.isOverdrawn
    for mutation in commit.request.mutations {
      if let refusal = mutation.refusal {
        verdicts.append(.refuse(refusal))
        continue
      }
      let current = try existing(mutation.name)
      guard SavePlan.isApplicable(mutation, on: current) else {
        verdicts.append(.conflict)
        continue
      }
      guard try SavePlan.hasAllChunks(mutation, hasChunk: hasChunk) else {
        verdicts.append(.refuse(StoreRefusals.chunksMissing))
        continue
      }
      let wasLive = !(current?.isDeleted ?? true)
      let record = SavePlan.record(mutation, over: current, in: commit, tag: tag + 1)
      let more = AccountUse(
        bytes: record.storedBytes - (current?.bytes ?? 0), records: current == nil ? 1 : 0)
      let freesSpace = mutation.isDelete && wasLive
      if !freesSpace, let refusal = SavePlan.refusal(of: more, available: available, in: commit) {
        verdicts.append(.refuse(refusal))
        continue
      }
      tag += 1
      growth += more
      available += -more
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
    isRemembered = !wasFull && commit.unlessDeleting == nil || self.newest > newest
  }

  /// Records to write, in the order of their tags.
  package var records: [Record] {
    verdicts.compactMap { if case .save(let record, _) = $0 { record } else { nil } }
  }

  /// Event of each of `records`.
  package var events: [ChangeEvents] {
    verdicts.compactMap { if case .save(_, let event) = $0 { event } else { nil } }
  }

  /// Returns the base tags of the mutations in conflict. A tag that the account never gave out
  /// shows that the store was rolled back and the device has not noticed.
  package func conflictingBases(of request: SaveRequest) -> [ChangeTag] {
    var tags: [ChangeTag] = []
    for index in verdicts.indices {
      guard case .conflict = verdicts[index], let tag = request.mutations[index].baseTag, tag > 0
      else { continue }
      tags.append(tag)
    }
    return tags
  }

  /// Returns the batch's results. `record` returns the current record or tombstone of a name in
  /// conflict.
  package func results(
    of request: SaveRequest, record: (Name) throws(StorageError) -> Record?
  ) throws(StorageError) -> [MutationResult] {
    var results: [MutationResult] = []
    results.reserveCapacity(verdicts.count)
    var bytesLeft = Limits.pageBytes
    for (mutation, verdict) in zip(request.mutations, verdicts) {
      let name = mutation.name
      switch verdict {
      case .save(let record, _): results.append(.saved(name: name, tag: record.tag))
      case .refuse(let refusal): results.append(.refused(name: name, refusal))
      case .conflict:
        results.append(
          try .conflict(
            at: RecordKey(zone: request.zone, name: name), bytesLeft: &bytesLeft, record: record))
      }
    }
    return results
  }

  /// True if the change may replace the current record (docs/protocol.md, "HTTP").
  private static func isApplicable(_ mutation: Mutation, on current: ExistingRecord?) -> Bool {
    switch mutation.baseTag {
    case nil: !mutation.onlyExisting || current.map { !$0.isDeleted } ?? false
    case .some(0): current.map { $0.isDeleted && !mutation.unlessDeleted } ?? true
    case .some(let tag): current?.tag == tag
    }
  }

  /// Returns the refusal of a change that needs more space than there is.
  private static func refusal(
    of more: AccountUse, available: AccountUse, in commit: SaveCommit
  ) -> Refusal? {
    if let refusal = commit.unlessDeleting { return refusal }
    return !available.isOverdrawn && more.fits(into: available)
      ? nil : StoreRefusals.recordQuotaExceeded
  }

  private static func record(
    _ mutation: Mutation, over current: ExistingRecord?, in commit: SaveCommit, tag: ChangeTag
  ) -> Record {
    // A tombstone keeps the record's type, so that queries for a type include the deletion.
    let type =
      mutation.isDelete ? current?.type ?? mutation.type : mutation.type ?? current?.type
    return Record(
      zone: commit.request.zone, name: mutation.name, type: type ?? Record.typeOfNothing,
      fields: mutation.fields, modifiedAt: modifiedAt(mutation, over: current),
      device: commit.device, tag: tag, chunks: mutation.isDelete ? [] : mutation.chunks,
      includes: includes(mutation, over: current))
  }

  /// Returns the new version's time. A time that the relay gives is later than that of the version
  /// before, so that the change wins on devices where the newer version wins.
  private static func modifiedAt(_ mutation: Mutation, over current: ExistingRecord?) -> Int64 {
    guard mutation.isStampedByRelay, let current else { return mutation.modifiedAt }
    return max(mutation.modifiedAt, min(current.modifiedAt, Limits.sequenceLimit - 2) + 1)
  }

  /// Returns the lost versions that the new version includes: those of the version on which it was
  /// made, and those that the change names. If these are too many, the newest.
  private static func includes(
    _ mutation: Mutation, over current: ExistingRecord?
  ) -> [VersionFingerprint] {
    guard let current, mutation.baseTag == current.tag else { return mutation.includes }
    let former = current.includes.filter { !mutation.includes.contains($0) }
    return (former + mutation.includes).suffix(Limits.includes)
  }

  /// True if the account has all chunks that the record names. Stops at the first missing one: a
  /// record may name thousands, and other saves wait meanwhile.
  private static func hasAllChunks(
    _ mutation: Mutation, hasChunk: (ChunkHash) throws(StorageError) -> Bool
  ) throws(StorageError) -> Bool {
    if mutation.isDelete { return true }
    for hash in mutation.chunks where try !hasChunk(hash) { return false }
    return true
  }

  private static func event(_ mutation: Mutation, over current: ExistingRecord?) -> ChangeEvents {
    if mutation.isDelete { return .delete }
    return current?.isDeleted ?? true ? .create : .update
  }

  private static func aborted(_ verdict: Verdict) -> Verdict {
    guard case .save = verdict else { return verdict }
    return .refuse(
      Refusal(
        .batchAborted, "Another record of this atomic batch failed; correct it, then save all."))
  }
}

/// Existing record as far as a decision needs it: without its fields.
package struct ExistingRecord: Hashable {
  package var tag: ChangeTag
  package var type: Name
  package var isDeleted: Bool
  package var modifiedAt: Int64
  package var chunks: [ChunkHash]
  /// `Record.storedBytes`.
  package var bytes: Int64
  package var includes: [VersionFingerprint]

  package init(
    tag: ChangeTag, type: Name, isDeleted: Bool, modifiedAt: Int64 = 0, chunks: [ChunkHash] = [],
    bytes: Int64 = 0, includes: [VersionFingerprint] = []
  ) {
    self.modifiedAt = modifiedAt
    self.includes = includes
    self.bytes = bytes
    self.tag = tag
    self.type = type
    self.isDeleted = isDeleted
    self.chunks = chunks
  }

  package init(_ record: Record) {
    self.init(
      tag: record.tag, type: record.type, isDeleted: record.isDeleted,
      modifiedAt: record.modifiedAt, chunks: record.chunks, bytes: record.storedBytes,
      includes: record.includes)
  }
}

extension Record {
  /// Type of a tombstone if the record never had a type.
  package static let typeOfNothing = Name(trusted: "unknown")

  /// Record that a conflict shows if not even a tombstone is kept (docs/protocol.md, "HTTP").
  package static func nothing(at key: RecordKey) -> Record {
    Record(
      zone: key.zone, name: key.name, type: typeOfNothing, fields: nil, modifiedAt: 0,
      device: DeviceID(rawValue: 0), tag: 0)
  }
}

extension MutationResult {
  /// Returns a conflict with the current record, or a refusal if that record does not fit in the
  /// answer.
  ///
  /// `bytesLeft`: bytes of records that still fit in the answer. Becomes 0 once a record does not
  /// fit, so that the remaining ones are not read.
  static func conflict(
    at key: RecordKey, bytesLeft: inout Int, record: (Name) throws(StorageError) -> Record?
  ) throws(StorageError) -> MutationResult {
    if bytesLeft > 0 {
      let current = try record(key.name) ?? .nothing(at: key)
      bytesLeft -= current.size
      if bytesLeft >= 0 { return .conflict(name: key.name, record: current) }
    }
    bytesLeft = 0
    return .refused(name: key.name, StoreRefusals.conflictTooLarge)
  }
}

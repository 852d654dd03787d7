import LockstepModel
import LockstepStorage

/// Choice of the next batch. Entries are frozen under a batch id before they are sent, so that the
/// same batch is sent again after a crash or a lost answer.
extension ReplicaState {
  /// Bytes of a record in a batch besides its fields: names, stamps and punctuation.
  private static let overheadBytes = 340
  /// Bytes of a hash in quotes, and a comma.
  private static let chunkBytes = 67
  /// Bytes for mutations; leaves room for the batch's own members.
  private static let batchBytes = Limits.batchBytes - (4 << 10)

  /// A change as it is sent to the relay.
  private struct OutgoingEntry {
    var entry: OutboxEntry
    var mutation: Mutation
    var bytes: Int
  }

  mutating func takeBatch(_ offer: BatchOffer, _ clock: ClockReading) throws(StorageError)
    -> SaveRequest?
  {
    if let frozen = ledger.outbox.frozenBatch {
      return ReplicaState.request(frozen.id, try outgoingEntries(frozen.entries))
    }
    try restamp(clock)
    guard clock.isTrusted else { return nil }
    var chosen = try choose(offer.bounds, clock)
    guard !chosen.isEmpty else { return nil }
    for index in chosen.indices {
      chosen[index].mutation.includes = try includes(chosen[index].entry)
      chosen[index].entry.includes = chosen[index].mutation.includes
      chosen[index].entry.state = .sent(offer.id)
      ledger.put(chosen[index].entry)
    }
    return ReplicaState.request(offer.id, chosen)
  }

  /// Returns the changes to send. Omits changes that name chunks of files which the relay may lack.
  private mutating func choose(_ bounds: BatchBounds, _ clock: ClockReading) throws(StorageError)
    -> [OutgoingEntry]
  {
    gate.prune(ledger.outbox)
    for first in ledger.outbox.entries {
      guard first.state == .waiting, !bounds.blockedZones.contains(first.key.zone),
        !isOff(first.key.zone), !gate.holdsBack(first)
      else { continue }
      let members =
        first.group.map { group in
          ledger.outbox.entries.filter { $0.group == group && $0.state == .waiting }
        } ?? [first]
      let together = try outgoingEntries(members)
      guard letThrough(together, clock) else { continue }
      if first.group == nil {
        let most = max(1, min(bounds.records, Limits.batchRecords))
        return try gather(
          from: first, at: most, bytes: min(bounds.bytes, ReplicaState.batchBytes), clock)
      }
      let bytes = together.reduce(0) { $0 + $1.bytes }
      let chunks = together.reduce(0) { $0 + $1.mutation.chunks.count }
      if members.count <= Limits.batchRecords, bytes <= ReplicaState.batchBytes,
        chunks <= Limits.chunksPerBatch
      {
        return together
      }
      return try outgoingEntries(Array(ungroup(members).prefix(1)))
    }
    return []
  }

  /// Returns true if the relay has all chunks that these changes name; otherwise blocks them.
  private mutating func letThrough(_ outgoingEntries: [OutgoingEntry], _ clock: ClockReading)
    -> Bool
  {
    var lacking: [ChunkHash] = []
    for outgoingEntry in outgoingEntries {
      lacking += gate.lacking(outgoingEntry.entry, outgoingEntry.mutation.chunks, at: clock.wall)
    }
    if lacking.isEmpty { return true }
    gate.block(outgoingEntries.map(\.entry), lacking: lacking)
    return false
  }

  /// Splits a group that is too large for one batch: its members are sent one after the other. The
  /// copies have the smaller numbers and go first, so that no content is overwritten before it is
  /// saved.
  private mutating func ungroup(_ members: [OutboxEntry]) -> [OutboxEntry] {
    var alone: [OutboxEntry] = []
    for var member in members {
      member.group = nil
      ledger.put(member)
      alone.append(member)
    }
    return alone
  }

  private mutating func gather(
    from first: OutboxEntry, at most: Int, bytes bytesMax: Int, _ clock: ClockReading
  ) throws(StorageError) -> [OutgoingEntry] {
    var gathered: [OutgoingEntry] = []
    var bytes = 0
    var chunks = 0
    for entry in ledger.outbox.entries {
      guard entry.number >= first.number, entry.state == .waiting, entry.group == nil,
        entry.key.zone == first.key.zone, !gate.holdsBack(entry)
      else { continue }
      let outgoingEntry = try self.outgoingEntry(entry)
      guard letThrough([outgoingEntry], clock) else { continue }
      bytes += outgoingEntry.bytes
      chunks += outgoingEntry.mutation.chunks.count
      let isTooMuch = bytes > bytesMax || chunks > Limits.chunksPerBatch
      if !gathered.isEmpty, isTooMuch { break }
      gathered.append(outgoingEntry)
      if gathered.count == most { break }
    }
    return gathered
  }

  private mutating func outgoingEntries(_ entries: [OutboxEntry]) throws(StorageError)
    -> [OutgoingEntry]
  {
    var outgoingEntries: [OutgoingEntry] = []
    for entry in entries { outgoingEntries.append(try outgoingEntry(entry)) }
    return outgoingEntries
  }

  private mutating func outgoingEntry(_ entry: OutboxEntry) throws(StorageError) -> OutgoingEntry {
    let mutation = Mutation(
      name: entry.key.name, type: entry.type, fields: entry.fields,
      modifiedAt: entry.modifiedAt, baseTag: entry.base?.tag ?? 0,
      unlessDeleted: entry.base?.isLost == true, includes: entry.includes,
      chunks: try chunks(of: entry))
    // A name may need an escape for every byte.
    let names = entry.key.name.text.utf8.count + entry.type.text.utf8.count
    return OutgoingEntry(
      entry: entry, mutation: mutation,
      bytes: (entry.fields?.count ?? 0) + 2 * names + ReplicaState.overheadBytes
        + mutation.chunks.count * ReplicaState.chunkBytes)
  }

  private static func request(_ id: BatchID, _ outgoingEntries: [OutgoingEntry]) -> SaveRequest? {
    guard let first = outgoingEntries.first else { return nil }
    return SaveRequest(
      id: id, zone: first.entry.key.zone, atomic: first.entry.group != nil,
      mutations: outgoingEntries.map(\.mutation))
  }
}

import LockstepModel
import LockstepStorage

/// What goes to the relay next. Entries are frozen under a batch's id before it is sent, so that
/// the same batch goes out again after a crash or a lost answer.
extension ReplicaState {
  /// A record's own cost in a batch, beside its fields: names, stamps and punctuation.
  private static let overheadBytes = 160
  /// A hash in quotes, and a comma.
  private static let chunkBytes = 67
  /// Room for the batch's own members is left.
  private static let batchBytes = Limits.batchBytes - (4 << 10)

  /// A change as it goes to the relay.
  private struct OutgoingEntry {
    var entry: OutboxEntry
    var mutation: Mutation
    var bytes: Int
  }

  mutating func takeBatch(_ offer: BatchOffer, _ clock: ClockReading) throws(StorageError)
    -> SaveRequest?
  {
    if let frozen = ledger.outbox.frozenBatch {
      return ReplicaState.request(frozen.id, try parcels(frozen.entries))
    }
    try restamp(clock)
    guard clock.isTrusted else { return nil }
    let chosen = try choose(offer.bounds, clock)
    guard !chosen.isEmpty else { return nil }
    for var entry in chosen.map(\.entry) {
      entry.state = .sent(offer.id)
      ledger.put(entry)
    }
    return ReplicaState.request(offer.id, chosen)
  }

  /// What may be sent. Changes that name chunks of files which the relay may lack are left out.
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
      let together = try parcels(members)
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
      return try parcels(Array(ungroup(members).prefix(1)))
    }
    return []
  }

  /// Whether the relay has all chunks that these name; where it may not, they wait.
  private mutating func letThrough(_ parcels: [OutgoingEntry], _ clock: ClockReading) -> Bool {
    var lacking: [ChunkHash] = []
    for parcel in parcels {
      lacking += gate.lacking(parcel.entry, parcel.mutation.chunks, at: clock.wall)
    }
    if lacking.isEmpty { return true }
    gate.block(parcels.map(\.entry), lacking: lacking)
    return false
  }

  /// A group too large for one batch: its members go one after the other, the copies first, which
  /// have the smaller numbers, so that nothing they hold is overwritten before they are safe.
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
      let parcel = try self.parcel(entry)
      guard letThrough([parcel], clock) else { continue }
      bytes += parcel.bytes
      chunks += parcel.mutation.chunks.count
      let isTooMuch = bytes > bytesMax || chunks > Limits.chunksPerBatch
      if !gathered.isEmpty, isTooMuch { break }
      gathered.append(parcel)
      if gathered.count == most { break }
    }
    return gathered
  }

  private mutating func parcels(_ entries: [OutboxEntry]) throws(StorageError) -> [OutgoingEntry] {
    var parcels: [OutgoingEntry] = []
    for entry in entries { parcels.append(try parcel(entry)) }
    return parcels
  }

  private mutating func parcel(_ entry: OutboxEntry) throws(StorageError) -> OutgoingEntry {
    let mutation = Mutation(
      name: entry.key.name, type: entry.type, fields: entry.fields,
      modifiedAt: entry.modifiedAt, baseTag: entry.base?.tag ?? 0, chunks: try chunks(of: entry))
    // A name may need an escape for every byte.
    let names = entry.key.name.text.utf8.count + entry.type.text.utf8.count
    return OutgoingEntry(
      entry: entry, mutation: mutation,
      bytes: (entry.fields?.count ?? 0) + 2 * names + ReplicaState.overheadBytes
        + mutation.chunks.count * ReplicaState.chunkBytes)
  }

  private static func request(_ id: BatchID, _ parcels: [OutgoingEntry]) -> SaveRequest? {
    guard let first = parcels.first else { return nil }
    return SaveRequest(
      id: id, zone: first.entry.key.zone, atomic: first.entry.group != nil,
      mutations: parcels.map(\.mutation))
  }
}

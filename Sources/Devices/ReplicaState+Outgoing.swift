import Changes
import Storage

/// What goes to the relay next. Entries are frozen under a batch's id before it is sent, so that
/// the same batch goes out again after a crash or a lost answer.
extension ReplicaState {
  /// A record's own cost in a batch, beside its fields: names, stamps and punctuation.
  private static let overheadBytes = 160

  mutating func takeBatch(_ offer: BatchOffer, _ clock: ClockReading) throws(StorageError)
    -> SaveRequest?
  {
    if let frozen = ledger.outbox.frozenBatch {
      return ReplicaState.request(frozen.id, frozen.entries)
    }
    try restamp(clock)
    guard clock.isTrusted else { return nil }
    let chosen = choose(offer.bounds)
    guard !chosen.isEmpty else { return nil }
    var entries: [OutboxEntry] = []
    for var entry in chosen {
      entry.state = .sent(offer.id)
      ledger.put(entry)
      entries.append(entry)
    }
    return ReplicaState.request(offer.id, entries)
  }

  private mutating func choose(_ bounds: BatchBounds) -> [OutboxEntry] {
    let first = ledger.outbox.entries.first {
      $0.state == .waiting && !bounds.blockedZones.contains($0.key.zone)
    }
    guard let first else { return [] }
    if let group = first.group {
      let members = ledger.outbox.entries.filter { $0.group == group && $0.state == .waiting }
      let cost = members.reduce(0) { $0 + ReplicaState.cost($1) }
      if members.count <= Limits.batchRecords, cost <= ReplicaState.batchBytes { return members }
      return ungroup(members)
    }
    return gather(from: first, at: max(1, bounds.records))
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
    return Array(alone.prefix(1))
  }

  private func gather(from first: OutboxEntry, at most: Int) -> [OutboxEntry] {
    var gathered: [OutboxEntry] = []
    var cost = 0
    for entry in ledger.outbox.entries {
      guard entry.number >= first.number, entry.state == .waiting, entry.group == nil,
        entry.key.zone == first.key.zone
      else { continue }
      cost += ReplicaState.cost(entry)
      if !gathered.isEmpty, cost > ReplicaState.batchBytes { break }
      gathered.append(entry)
      if gathered.count == min(most, Limits.batchRecords) { break }
    }
    return gathered
  }

  /// Room for the batch's own members is left.
  private static let batchBytes = Limits.batchBytes - (4 << 10)

  private static func cost(_ entry: OutboxEntry) -> Int {
    // A name may need an escape for every byte.
    (entry.fields?.count ?? 0) + 2 * (entry.key.name.text.utf8.count + entry.type.text.utf8.count)
      + overheadBytes
  }

  private static func request(_ id: BatchID, _ entries: [OutboxEntry]) -> SaveRequest? {
    guard let first = entries.first else { return nil }
    return SaveRequest(
      id: id, zone: first.key.zone, atomic: first.group != nil,
      mutations: entries.map {
        Mutation(
          name: $0.key.name, type: $0.fields == nil ? nil : $0.type, fields: $0.fields,
          modifiedAt: $0.modifiedAt, baseTag: $0.base?.tag ?? 0)
      })
  }
}

import LockstepModel
import LockstepStorage

/// Holds back local changes until the chunks of files that they name are at the relay, and those
/// that are too large for the way there. In memory only: after a crash the relay is asked once
/// more. Knows no network.
///
/// It names at most `Limits.chunkHashes` chunks at a time to those who bring them; changes beyond
/// that wait unlooked at until there is room.
struct ChunkGate {
  private struct Blocked {
    let number: Int64
    /// Of the change when it was looked at: a later edit is looked at anew.
    let stamp: Int64
    let zone: Name
    /// Not known to be at the relay.
    var lacking: [ChunkHash]
    /// There was no room to name its chunks.
    var isUnnamed: Bool
    /// The relay does not take one of them until a person acts.
    var isHeld = false
    /// It waits for no chunk: it is too large for the way to the relay.
    var isSetAside = false
  }

  /// By number.
  private var blocked: [Blocked] = []
  /// When the relay was last known to have a chunk, by the wall clock: it keeps one that no record
  /// names for a while only.
  private var confirmed: [ChunkHash: Int64] = [:]
  /// Named, and not heard of since.
  private var named: Set<ChunkHash> = []
  private var fresh: [ChunkHash] = []
  /// Changes of which the relay said that it lacks their chunks: not even those of the version that
  /// they were made on are taken to be there.
  private var suspected: Set<Int64> = []

  // MARK: what may go

  /// Changes that are not there any more, or are other ones by now, hold no place.
  mutating func prune(_ outbox: Outbox) {
    blocked.removeAll { !ChunkGate.stands($0, in: outbox) }
  }

  /// Whether the change is known to wait.
  func holdsBack(_ entry: OutboxEntry) -> Bool {
    let index = position(of: entry.number)
    return index < blocked.count && blocked[index].number == entry.number
      && blocked[index].stamp == entry.modifiedAt
  }

  /// Those of the chunks that a change names which must be brought to the relay first.
  func lacking(_ entry: OutboxEntry, _ chunks: [ChunkHash], at wall: Int64) -> [ChunkHash] {
    if chunks.isEmpty { return [] }
    var there: Set<ChunkHash> = []
    if let base = entry.base, base.tag > 0, !suspected.contains(entry.number) {
      there = Set(base.chunks)
    }
    return chunks.filter { !there.contains($0) && !isConfirmed($0, at: wall) }
  }

  /// The changes, one alone or a group, wait for these chunks.
  mutating func block(_ entries: [OutboxEntry], lacking: [ChunkHash]) {
    let new = Set(lacking).subtracting(named)
    let hasRoom = named.isEmpty || named.count + new.count <= Limits.chunkHashes
    if hasRoom {
      fresh += lacking.filter { new.contains($0) && named.insert($0).inserted }
    }
    for entry in entries {
      let index = position(of: entry.number)
      if index < blocked.count, blocked[index].number == entry.number { blocked.remove(at: index) }
      blocked.insert(
        Blocked(
          number: entry.number, stamp: entry.modifiedAt, zone: entry.key.zone,
          lacking: hasRoom ? lacking : [], isUnnamed: !hasRoom), at: index)
    }
  }

  /// The changes, one alone or a group, wait until they are tried again.
  mutating func setAside(_ entries: [OutboxEntry]) {
    for entry in entries {
      let index = position(of: entry.number)
      if index < blocked.count, blocked[index].number == entry.number { blocked.remove(at: index) }
      blocked.insert(
        Blocked(
          number: entry.number, stamp: entry.modifiedAt, zone: entry.key.zone, lacking: [],
          isUnnamed: false, isSetAside: true), at: index)
    }
  }

  mutating func retrySetAside() { blocked.removeAll(where: \.isSetAside) }

  func setAsideCount(in outbox: Outbox) -> Int {
    blocked.count { $0.isSetAside && ChunkGate.stands($0, in: outbox) }
  }

  /// How many more chunks may be named.
  var room: Int { max(0, Limits.chunkHashes - named.count) }

  /// Chunks that no change waits for are asked about as well, as many as there is room for: those
  /// of them that were not named before.
  mutating func name(_ hashes: [ChunkHash]) -> [ChunkHash] {
    let new = hashes.filter { !named.contains($0) }.prefix(room)
    let unique = new.filter { named.insert($0).inserted }
    fresh += unique
    return unique
  }

  /// Chunks to bring that were not told before.
  mutating func takeNamed() -> [ChunkHash] {
    defer { fresh = [] }
    return fresh
  }

  /// How many of the waiting changes are held back, by zone.
  func counts(in outbox: Outbox) -> [OutboxSummary.ZoneCount] {
    var counts: [OutboxSummary.ZoneCount] = []
    for change in blocked where ChunkGate.stands(change, in: outbox) {
      if let index = counts.firstIndex(where: { $0.zone == change.zone }) {
        counts[index].count += 1
      } else {
        counts.append(OutboxSummary.ZoneCount(zone: change.zone, count: 1))
      }
    }
    return counts
  }

  private static func stands(_ change: Blocked, in outbox: Outbox) -> Bool {
    guard let entry = outbox.entry(change.number) else { return false }
    return entry.state == .waiting && entry.modifiedAt == change.stamp
  }

  // MARK: what was heard

  mutating func settle(_ tidings: ChunkStatus, at wall: Int64) {
    named.subtract(tidings.hashes)
    if confirmed.count + tidings.there.count > Limits.confirmedChunks { confirmed = [:] }
    for hash in tidings.there { confirmed[hash] = wall }
    let there = Set(tidings.there)
    let held = Set(tidings.held)
    // Those that wait for one that will not come, or lies elsewhere, are looked at anew.
    let gone = Set(tidings.unread.map(\.hash) + tidings.nowhere + tidings.damaged)
    for index in blocked.indices.reversed()
    where !blocked[index].isUnnamed && !blocked[index].isSetAside {
      blocked[index].lacking.removeAll { there.contains($0) }
      if blocked[index].lacking.isEmpty || blocked[index].lacking.contains(where: gone.contains) {
        blocked.remove(at: index)
      } else if blocked[index].lacking.contains(where: held.contains) {
        blocked[index].isHeld = true
      }
    }
    if 2 * named.count <= Limits.chunkHashes { blocked.removeAll(where: \.isUnnamed) }
  }

  /// Changes that wait for one of these, which will not come.
  func waiting(for hashes: [ChunkHash]) -> [Int64] {
    let gone = Set(hashes)
    if gone.isEmpty { return [] }
    return blocked.filter { $0.lacking.contains(where: gone.contains) }.map(\.number)
  }

  /// What the relay did not take is tried again.
  mutating func retry() { blocked.removeAll(where: \.isHeld) }

  /// The relay lacks chunks of this change. False where it said so before, of all of them.
  mutating func suspect(_ number: Int64, _ chunks: [ChunkHash]) -> Bool {
    for hash in chunks { confirmed[hash] = nil }
    return suspected.insert(number).inserted
  }

  /// The change is at the relay, or given up.
  mutating func forget(_ number: Int64) { suspected.remove(number) }

  /// The relay may have lost what it had.
  mutating func distrust() { confirmed = [:] }

  private func isConfirmed(_ hash: ChunkHash, at wall: Int64) -> Bool {
    guard let since = confirmed[hash] else { return false }
    return wall >= since && wall - since < Limits.confirmedMilliseconds
  }

  /// Where the change of this number is, or belongs.
  private func position(of number: Int64) -> Int {
    blocked.lowerBound { $0.number < number }
  }
}

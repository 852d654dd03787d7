import LockstepModel
import LockstepStorage

/// Holds back local changes until the relay has the chunks of files that they name, and changes
/// that are too large for the path to the relay. In memory only: after a crash the relay is asked
/// again. Performs no network I/O.
///
/// At most `Limits.chunkHashes` chunks are named for upload at a time. Further changes wait,
/// without being examined, until there is room.
struct ChunkDependencyTracker {
  private struct Blocked {
    let number: Int64
    /// Stamp of the change when it was examined: a later edit is examined again.
    let stamp: Int64
    let zone: Name
    /// Chunks that are not known to be at the relay.
    var lacking: [ChunkHash]
    /// True if there was no room to name its chunks.
    var isUnnamed: Bool
    /// True if the relay does not accept one of the chunks until a user acts.
    var isHeld = false
    /// True if it waits for no chunk: it is too large for the path to the relay.
    var isSetAside = false
  }

  /// Blocked changes, ordered by number.
  private var blocked: [Blocked] = []
  /// Wall-clock time at which the relay was last known to have a chunk: it keeps a chunk that no
  /// record names only for a limited time.
  private var confirmed: [ChunkHash: Int64] = [:]
  /// Named chunks without a status since.
  private var named: Set<ChunkHash> = []
  private var fresh: [ChunkHash] = []
  /// Changes whose chunks the relay reported as missing: not even the chunks of their base version
  /// are assumed to be there.
  private var suspected: Set<Int64> = []

  // MARK: sending

  /// Removes changes that are no longer in the outbox, or were edited.
  mutating func prune(_ outbox: Outbox) {
    blocked.removeAll { !ChunkDependencyTracker.isCurrent($0, in: outbox) }
  }

  /// True if the change is known to wait.
  func isBlocked(_ entry: OutboxEntry) -> Bool {
    let index = position(of: entry.number)
    return index < blocked.count && blocked[index].number == entry.number
      && blocked[index].stamp == entry.modifiedAt
  }

  /// Returns the chunks named by a change that must be uploaded to the relay first.
  func lacking(_ entry: OutboxEntry, _ chunks: [ChunkHash], at wall: Int64) -> [ChunkHash] {
    if chunks.isEmpty { return [] }
    var atRelay: Set<ChunkHash> = []
    if let base = entry.base, base.tag > 0, !suspected.contains(entry.number) {
      atRelay = Set(base.chunks)
    }
    return chunks.filter { !atRelay.contains($0) && !isConfirmed($0, at: wall) }
  }

  /// Blocks the changes, one or a group, until these chunks are at the relay.
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

  /// Blocks the changes, one or a group, until they are retried.
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
    blocked.count { $0.isSetAside && ChunkDependencyTracker.isCurrent($0, in: outbox) }
  }

  /// Number of chunks that may still be named.
  var room: Int { max(0, Limits.chunkHashes - named.count) }

  /// Names chunks that no change waits for, as many as there is room for. Returns those that were
  /// not named before.
  mutating func nameChunks(_ hashes: [ChunkHash]) -> [ChunkHash] {
    let new = hashes.filter { !named.contains($0) }.prefix(room)
    let unique = new.filter { named.insert($0).inserted }
    fresh += unique
    return unique
  }

  /// Returns the chunks to upload that were not returned before.
  mutating func drainNamedChunks() -> [ChunkHash] {
    defer { fresh = [] }
    return fresh
  }

  /// Returns the number of waiting changes that are held back, by zone.
  func counts(in outbox: Outbox) -> [OutboxSummary.ZoneCount] {
    var counts: [OutboxSummary.ZoneCount] = []
    for change in blocked where ChunkDependencyTracker.isCurrent(change, in: outbox) {
      if let index = counts.firstIndex(where: { $0.zone == change.zone }) {
        counts[index].count += 1
      } else {
        counts.append(OutboxSummary.ZoneCount(zone: change.zone, count: 1))
      }
    }
    return counts
  }

  private static func isCurrent(_ change: Blocked, in outbox: Outbox) -> Bool {
    guard let entry = outbox.entry(change.number) else { return false }
    return entry.state == .waiting && entry.modifiedAt == change.stamp
  }

  // MARK: status of chunks

  mutating func apply(_ chunkStatus: ChunkStatus, at wall: Int64) {
    named.subtract(chunkStatus.hashes)
    if confirmed.count + chunkStatus.atRelay.count > Limits.confirmedChunks { confirmed = [:] }
    for hash in chunkStatus.atRelay { confirmed[hash] = wall }
    let atRelay = Set(chunkStatus.atRelay)
    let held = Set(chunkStatus.held)
    // Examines changes again if a chunk will not come, or its file has changed.
    let unavailable = Set(
      chunkStatus.fileMissing.map(\.hash) + chunkStatus.unavailable + chunkStatus.damaged)
    for index in blocked.indices.reversed()
    where !blocked[index].isUnnamed && !blocked[index].isSetAside {
      blocked[index].lacking.removeAll { atRelay.contains($0) }
      if blocked[index].lacking.isEmpty
        || blocked[index].lacking.contains(where: unavailable.contains)
      {
        blocked.remove(at: index)
      } else if blocked[index].lacking.contains(where: held.contains) {
        blocked[index].isHeld = true
      }
    }
    if 2 * named.count <= Limits.chunkHashes { blocked.removeAll(where: \.isUnnamed) }
  }

  /// Returns the changes that wait for one of these chunks, which will not come.
  func waiting(for hashes: [ChunkHash]) -> [Int64] {
    let unavailable = Set(hashes)
    if unavailable.isEmpty { return [] }
    return blocked.filter { $0.lacking.contains(where: unavailable.contains) }.map(\.number)
  }

  /// Unblocks changes whose chunks the relay did not accept.
  mutating func retry() { blocked.removeAll(where: \.isHeld) }

  /// Records that the relay lacks chunks of this change. Returns false if the relay has reported it
  /// before, after a query about all of them.
  mutating func recordMissingChunks(_ number: Int64, _ chunks: [ChunkHash]) -> Bool {
    for hash in chunks { confirmed[hash] = nil }
    return suspected.insert(number).inserted
  }

  /// Discards the suspicion about a change that is at the relay, or was discarded.
  mutating func forget(_ number: Int64) { suspected.remove(number) }

  /// Discards what is known of the relay's chunks, because it may have lost them.
  mutating func discardConfirmedChunks() { confirmed = [:] }

  private func isConfirmed(_ hash: ChunkHash, at wall: Int64) -> Bool {
    guard let since = confirmed[hash] else { return false }
    return wall >= since && wall - since < Limits.confirmedMilliseconds
  }

  /// Returns the index of the change with this number, or its insertion index.
  private func position(of number: Int64) -> Int {
    blocked.lowerBound { $0.number < number }
  }
}

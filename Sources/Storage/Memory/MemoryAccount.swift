import LockstepModel

/// One account in memory: its devices, its records, and their order.
struct MemoryAccount {
  struct Member {
    var device: Device
    var tokenHash: [UInt8]
    /// Sorted by id.
    var subscriptions: [Subscription] = []
    /// Registrations for wakes; nil if there are none.
    var wakes: DeviceWakes?
  }

  private(set) var head: AccountHead
  /// Earlier generations and the tags at which they ended, oldest first.
  private(set) var lineage: [(generation: UInt32, endedAt: ChangeTag)] = []
  /// Gaps in its tags, in order.
  private(set) var gaps: [TagGap] = []
  let label: String
  let madeAt: Int64
  var plan = Plan.everything
  /// In the order in which they joined.
  var members: [Member] = []
  /// Version of devices, plan and subscriptions: incremented with each change.
  var membershipVersion: Int64 = 0
  /// Nil if it lives here; `.max` if it is arriving; otherwise a mover has frozen it until then.
  var movingUntil: Int64?
  /// Move with which it arrived; 0: none.
  var move: UInt64 = 0
  /// In the order in which they were issued.
  var pairings: [NewPairing] = []
  /// Chunks of files that the account has, and the sum of their bytes.
  var chunks: [ChunkHash: MemoryChunk] = [:]
  var chunkBytes: Int64 = 0
  /// Space that records and remembered batches take.
  var use = AccountUse()
  private var records: [RecordKey: Record] = [:]
  /// All saves in the order of tags. An entry is stale if its record has a newer tag.
  private var log: [(tag: ChangeTag, key: RecordKey)] = []

  init(generation: UInt32, run: UInt64 = 0, label: String, madeAt: Int64) {
    head = AccountHead(generation: generation, newest: 0, run: run)
    self.label = label
    self.madeAt = madeAt
  }

  func summary(of id: AccountID) -> AccountSummary {
    AccountSummary(
      id: id, label: label, plan: plan, madeAt: madeAt, devices: members.count,
      newestTag: head.newest, chunkBytes: chunkBytes, recordBytes: use.bytes,
      records: use.records, lastSeen: members.map(\.device.lastSeen).max(),
      isArriving: movingUntil == .max)
  }

  func record(_ key: RecordKey) -> Record? { records[key] }

  func position(of device: DeviceID) -> Int? {
    members.firstIndex { $0.device.id == device }
  }

  /// Returns names of zones with a live record, in order, after the given one.
  func zones(after name: Name?, within zones: [Name]?, limit: Int) -> ReadResult {
    let live = Set(records.values.filter { !$0.isDeleted }.map(\.zone)).sorted()
    let rest = live.filter { zone in
      (name.map { $0 < zone } ?? true) && zones?.contains(zone) ?? true
    }
    let count = max(1, min(limit, Limits.listedZones))
    return .zones(Array(rest.prefix(count)), more: rest.count > count)
  }

  /// Returns the chunks as far as live records of these zones name them.
  func namedChunks(_ hashes: [ChunkHash], in zones: [Name]) -> ReadResult {
    let named = records.values.filter { !$0.isDeleted && zones.contains($0.zone) }
      .reduce(into: Set<ChunkHash>()) { $0.formUnion($1.chunks) }
    return .namedChunks(
      hashes.map { hash in
        guard named.contains(hash), let chunk = chunks[hash], !chunk.isUnverified else {
          return nil
        }
        return chunk.stored
      })
  }

  /// Returns the live records of a zone between two tags, in the order of their tags.
  func live(in zone: Name, after: ChangeTag, through tag: ChangeTag) -> [Record] {
    records.values
      .filter { $0.zone == zone && !$0.isDeleted && $0.tag > after && $0.tag <= tag }
      .sorted { $0.tag < $1.tag }
  }

  /// Writes records with the next tags, in order. `entered`: the head that they follow, if it is
  /// not the account's own.
  mutating func write(_ saved: [Record], after entered: AccountHead? = nil) {
    if let entered, !saved.isEmpty {
      if let gap = entered.gap(since: head) { gaps = (gaps + [gap]).suffix(Limits.tagGaps) }
      head = entered
    }
    for record in saved {
      records[record.key] = record
      log.append((record.tag, record.key))
      head.newest = record.tag
    }
    // At most half of the log is stale, so that a page costs at most twice its records.
    guard log.count > 2 * records.count + 64 else { return }
    log = log.filter { records[$0.key]?.tag == $0.tag }
  }

  /// Removes the tombstone if it is still the current version. Returns false if it is not.
  mutating func forget(_ key: RecordKey, tag: ChangeTag) -> Bool {
    guard let record = records[key], record.tag == tag else { return false }
    records[key] = nil
    use += -AccountUse(bytes: record.storedBytes, records: 1)
    head.forgotten = max(head.forgotten, tag)
    return true
  }

  /// Removes at most `count` records and tombstones. Returns their number.
  mutating func remove(atMost count: Int) -> Int {
    let gone = records.values.sorted { $0.tag < $1.tag }.prefix(count)
    for record in gone {
      records[record.key] = nil
      use += -AccountUse(bytes: record.storedBytes, records: 1)
    }
    return gone.count
  }

  /// Begins a new generation after a restore from an older copy.
  mutating func restored(_ id: AccountID, opening: UInt64) {
    let next = head.restored(id, opening: opening, earlier: lineage.map(\.generation))
    lineage.append((head.generation, head.newest))
    head = next
    for hash in chunks.keys.sorted() { chunks[hash]?.isUnverified = true }
  }

  /// Returns the tag at which an earlier generation ended, or nil if the account never had it.
  func end(of generation: UInt32) -> ChangeTag? {
    lineage.first { $0.generation == generation }?.endedAt
  }

  /// Returns the gap that contains a tag. `run`: the store's run.
  func gap(at tag: ChangeTag, in run: UInt64) -> TagGap? {
    head.gap(at: tag, in: run, find: firstGap)
  }

  func gap(of token: ChangeToken, in run: UInt64) -> TagGap? {
    head.gap(of: token, in: run, find: firstGap)
  }

  private func firstGap(from tag: ChangeTag) -> TagGap? {
    let index = gaps.lowerBound { $0.through < tag }
    return index < gaps.count ? gaps[index] : nil
  }

  func page(
    since: ChangeToken?, zones: ZoneSelection, limit: Int, of id: AccountID, in run: UInt64 = 0
  ) throws(Refusal) -> ChangePage {
    var plan = try PagePlan(
      since: since, zones: zones, limit: limit, head: head,
      endedAt: since.flatMap { end(of: $0.generation) },
      gap: since.flatMap { gap(of: $0, in: run) })
    if plan.isSparse { plan.endScan(at: scanEnd(after: plan.after, plan.scanned)) }
    for entry in log[firstEntry(after: plan.after)...] {
      guard entry.tag <= plan.last else { break }
      guard let record = records[entry.key], record.tag == entry.tag,
        !(plan.isSnapshot && record.isDeleted), zones.includes(record.zone)
      else { continue }
      guard plan.addRecord(record) else { break }
    }
    return plan.page(gaps: head.gaps(gaps, in: run, id))
  }

  /// Returns the tag of the `count`-th record or tombstone after a tag, or nil if there are fewer.
  func scanEnd(after tag: ChangeTag, _ count: Int) -> ChangeTag? {
    var seen = 0
    for entry in log[firstEntry(after: tag)...] where records[entry.key]?.tag == entry.tag {
      seen += 1
      if seen == count { return entry.tag }
    }
    return nil
  }

  private func firstEntry(after tag: ChangeTag) -> Int {
    log.lowerBound { $0.tag <= tag }
  }
}

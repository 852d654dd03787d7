import LockstepModel
import LockstepSealing
import LockstepStorage

/// The local changes that the relay has not acknowledged, as in the store, kept in memory on the
/// worker's side. Follows the store's writes and makes no decisions.
struct Outbox {
  /// Entries by number, oldest first.
  private(set) var entries: [OutboxEntry] = []
  private var numbers: [RecordKey: [Int64]] = [:]
  /// Bytes of fields, bases included.
  private(set) var bytes = 0
  private var waiting: [OutboxSummary.ZoneCount] = []
  private var frozen: [Int64] = []
  private var parked: [Int64] = []
  private var asking: [Int64] = []
  private(set) var untrustedCount = 0
  private(set) var nextNumber: Int64 = 1

  init() {}

  init(_ entries: [OutboxEntry]) {
    for entry in entries { put(entry) }
  }

  func entry(_ number: Int64) -> OutboxEntry? {
    let index = position(of: number)
    guard index < entries.count, entries[index].number == number else { return nil }
    return entries[index]
  }

  /// Returns the entry of this record that is in flight.
  func sent(_ key: RecordKey) -> OutboxEntry? { first(key) { $0.isSent } }

  /// Returns the entry of this record into which later edits are folded.
  func open(_ key: RecordKey) -> OutboxEntry? { first(key) { !$0.isSent } }

  /// Returns the sync state of a record.
  func state(of key: RecordKey) -> RecordSyncState {
    switch open(key)?.state {
    case nil: sent(key) == nil ? .synced : .waiting
    case .waiting, .sent: .waiting
    case .parked(let refusal): .parked(refusal)
    case .asking(let server): .asking(server)
    }
  }

  func holds(_ key: RecordKey) -> Bool { numbers[key] != nil }

  /// The batch that waits for its answer, and its entries.
  var frozenBatch: (id: BatchID, entries: [OutboxEntry])? {
    let entries = frozen.compactMap { entry($0) }
    guard let first = entries.first, case .sent(let id) = first.state else { return nil }
    return (id, entries)
  }

  var parkedEntries: [OutboxEntry] { parked.compactMap { entry($0) } }

  var summary: OutboxSummary {
    var summary = OutboxSummary()
    summary.unsent = waiting.reduce(frozen.count) { $0 + $1.count }
    let batch = frozenBatch
    summary.frozen = batch?.id
    let isOfKeys = batch?.entries.first?.key.zone == KeyRing.zone
    summary.keyRecords =
      (isOfKeys ? frozen.count : 0)
      + (waiting.first { $0.zone == KeyRing.zone }?.count ?? 0)
    summary.waiting = waiting
    summary.parkedCount = parked.count
    for number in parked.prefix(Limits.statusRecords) {
      guard let entry = entry(number), case .parked(let refusal) = entry.state else { continue }
      summary.parked.append(AgentStatus.Parked(key: entry.key, refusal: refusal))
    }
    summary.askingCount = asking.count
    summary.asking = asking.prefix(Limits.statusRecords).compactMap { entry($0)?.key }
    return summary
  }

  /// Returns the relay's versions of the records that a user must decide.
  func undecidedRecords(in zone: Name) -> [Record] {
    asking.compactMap { number in
      guard let entry = entry(number), entry.key.zone == zone,
        case .asking(let server) = entry.state
      else { return nil }
      return server
    }
  }

  /// Returns a number for a new entry.
  mutating func allocateNumber() -> Int64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  mutating func put(_ entry: OutboxEntry) {
    let place = position(of: entry.number)
    if place < entries.count, entries[place].number == entry.number, entries[place].key == entry.key
    {
      // Replaced in place: otherwise all later entries would have to move.
      bytes -= entries[place].bytes
      countEntry(entries[place], by: -1)
      entries[place] = entry
    } else {
      remove(entry.number)
      entries.insert(entry, at: position(of: entry.number))
      numbers[entry.key, default: []].append(entry.number)
    }
    nextNumber = max(nextNumber, entry.number + 1)
    bytes += entry.bytes
    countEntry(entry, by: 1)
  }

  mutating func remove(_ number: Int64) {
    guard let old = entry(number) else { return }
    entries.remove(at: position(of: number))
    numbers[old.key]?.removeAll { $0 == number }
    if numbers[old.key]?.isEmpty == true { numbers[old.key] = nil }
    bytes -= old.bytes
    countEntry(old, by: -1)
  }

  private func first(_ key: RecordKey, where matches: (OutboxEntry) -> Bool) -> OutboxEntry? {
    let list = numbers[key] ?? []
    return list.lazy.compactMap { entry($0) }.first(where: matches)
  }

  private mutating func countEntry(_ entry: OutboxEntry, by step: Int) {
    if !entry.isStampTrusted { untrustedCount += step }
    switch entry.state {
    case .waiting: countWaiting(entry.key.zone, by: step)
    case .sent: Outbox.updateIndex(entry.number, in: &frozen, by: step)
    case .parked: Outbox.updateIndex(entry.number, in: &parked, by: step)
    case .asking: Outbox.updateIndex(entry.number, in: &asking, by: step)
    }
  }

  private mutating func countWaiting(_ zone: Name, by step: Int) {
    if let index = waiting.firstIndex(where: { $0.zone == zone }) {
      waiting[index].count += step
      if waiting[index].count == 0 { waiting.remove(at: index) }
    } else {
      let index = waiting.firstIndex { zone < $0.zone } ?? waiting.endIndex
      waiting.insert(OutboxSummary.ZoneCount(zone: zone, count: step), at: index)
    }
  }

  private static func updateIndex(
    _ number: Int64, in numbers: inout [Int64], by step: Int
  ) {
    let place = numbers.lowerBound { $0 < number }
    if step > 0 {
      numbers.insert(number, at: place)
    } else if place < numbers.count, numbers[place] == number {
      numbers.remove(at: place)
    }
  }

  /// Returns the index of the entry with this number, or its insertion index.
  private func position(of number: Int64) -> Int {
    entries.lowerBound { $0.number < number }
  }
}

extension OutboxEntry {
  var isSent: Bool {
    if case .sent = state { true } else { false }
  }

  var bytes: Int {
    (fields?.count ?? 0) + (base?.fields?.count ?? 0) + (timeMade?.fields?.count ?? 0)
      + (base?.chunks.count ?? 0) * MemoryLayout<ChunkHash>.size
  }

  /// Tag of the relay's version that the change takes into account; a greater tag is new.
  var knownTag: ChangeTag {
    if case .asking(let asked) = state, asked.tag > 0 { return asked.tag }
    return base?.tag ?? 0
  }

  /// True if that version has this content.
  func knows(_ server: Record) -> Bool {
    if case .asking(let asked) = state, asked.tag > 0 { return asked.isSame(as: server) }
    return base?.isSame(as: server) ?? false
  }

  /// Returns the record that this entry makes, by `device`, at `tag`, without its chunks. A version
  /// of a sealed zone that is saved again keeps its author.
  func record(by device: DeviceID, tag: ChangeTag) -> Record {
    let author = isRepeated ? base?.device ?? device : device
    return Record(
      zone: key.zone, name: key.name, type: type, fields: fields, modifiedAt: modifiedAt,
      device: author, tag: tag)
  }

  /// True if the entry only saves a version of a sealed zone again.
  var isRepeated: Bool { lineage?.isRepeated ?? false }
}

extension Record {
  /// True if content and stamp are the same; device and tag may differ.
  func isSame(as other: Record) -> Bool {
    modifiedAt == other.modifiedAt && type == other.type && Merging.equal(fields, other.fields)
  }
}
